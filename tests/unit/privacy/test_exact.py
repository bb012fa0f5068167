"""Exact vectors stay where they belong: at run time, and under the type checker."""

import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from copriv.errors import BadInput
from copriv.privacy.exact import PrivateVector, SimulatedVector

ROOT = Path(__file__).resolve().parents[3]
HEADER = """
import numpy as np
from copriv.privacy.exact import PrivateVector, SimulatedVector
from copriv.privacy.laplace import Laplace
from copriv.vectors import FloatArray
values: FloatArray = np.zeros(3)
"""


@pytest.mark.parametrize("kind", [PrivateVector, SimulatedVector])
def test_numbers_are_not_shown_and_do_not_travel(kind):
    sealed = kind(np.array([0.123456, 2.0]))
    assert "0.123456" not in repr(sealed)
    assert "0.123456" not in str(sealed)
    with pytest.raises(TypeError, match="does not leave"):
        pickle.dumps(sealed)


@pytest.mark.parametrize("values", [np.array([]), np.array([np.nan]), np.array([np.inf, 1.0]), np.zeros((2, 2))])
def test_what_a_library_would_let_through_is_refused(values):
    with pytest.raises(BadInput):
        PrivateVector(values)


def _check(tmp_path, snippets):
    """What the type checker says about each snippet, in one run. What they import it knows from `make check`."""
    for name, code in snippets.items():
        (tmp_path / f"{name}.py").write_text(HEADER + textwrap.dedent(code))
    files = [str(tmp_path / f"{name}.py") for name in snippets]
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    return {name: [line for line in done.stdout.splitlines() if f"{name}.py" in line] for name in snippets}


def test_types_keep_seeded_noise_away_from_records(tmp_path):
    snippets = {
        "allowed": """
            Laplace(1.0).release(PrivateVector(values))
            Laplace(1.0).simulate_noise(SimulatedVector(values), np.random.default_rng(0))
        """,
        "seeded": "Laplace(1.0).simulate_noise(PrivateVector(values), np.random.default_rng(0))",
        "leaked": "answer: FloatArray = PrivateVector(values)",
    }
    found = _check(tmp_path, snippets)
    assert found["allowed"] == []
    assert 'expected "SimulatedVector"' in "".join(found["seeded"])
    assert "Incompatible types in assignment" in "".join(found["leaked"])
