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


def _check(tmp_path, code):
    file = tmp_path / "snippet.py"
    file.write_text(HEADER + textwrap.dedent(code))
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path), str(file)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_types_keep_seeded_noise_away_from_records(tmp_path):
    allowed = """
        Laplace(1.0).release(PrivateVector(values))
        Laplace(1.0).simulate_noise(SimulatedVector(values), np.random.default_rng(0))
    """
    assert _check(tmp_path, allowed).returncode == 0
    seeded = _check(tmp_path, "Laplace(1.0).simulate_noise(PrivateVector(values), np.random.default_rng(0))")
    assert 'expected "SimulatedVector"' in seeded.stdout
    leaked = _check(tmp_path, "answer: FloatArray = PrivateVector(values)")
    assert "Incompatible types in assignment" in leaked.stdout
