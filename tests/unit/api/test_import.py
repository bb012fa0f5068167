"""`import copriv` is quick, because nothing is imported before it is used; and everything public is found."""

import subprocess
import sys

import pytest

import copriv

HEAVY = ("numpy", "polars", "msgspec", "numba", "scipy", "opendp", "matplotlib", "typer", "sklearn", "pandas")


def _loaded_after(code):
    program = f"import sys\n{code}\nprint(*sorted(name for name in sys.modules if '.' not in name))"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()


def test_the_import_brings_nothing_heavy():
    assert set(HEAVY) & set(_loaded_after("import copriv; copriv.__version__; dir(copriv)")) == set()


def test_what_is_used_is_imported():
    """The test above has teeth."""
    assert {"numpy", "polars"} <= set(_loaded_after("import copriv; copriv.read"))


def test_noise_brings_only_what_draws_it():
    """The prelude of OpenDP brings scikit-learn, which takes ten times as long."""
    loaded = _loaded_after(
        "from copriv.privacy.gaussian import _measurement as gaussian\n"
        "from copriv.privacy.laplace import _measurement as laplace\n"
        "from copriv.privacy.levels import _measurement as levels\n"
        "gaussian(1.0, 2), laplace(1.0, 2), levels(1.0)"
    )
    assert "opendp" in loaded
    assert {"sklearn", "polars", "pandas"}.isdisjoint(loaded)


@pytest.mark.parametrize("name", copriv.__all__)
def test_every_public_name_is_there(name):
    assert name in dir(copriv)
    assert getattr(copriv, name).__name__ == name


def test_other_names_are_not():
    with pytest.raises(AttributeError, match="has no attribute 'trian'"):
        copriv.trian  # noqa: B018
