"""Seeded NumPy noise betrays its input in the low bits; what leaves an owner does not."""

import re

import numpy as np
import pytest

from copriv.audit.floating_point import audit_low_bits, lowest_bits, split
from copriv.audit.subject import build_subject

CELLS = [(epsilon, delta) for delta in (0.0, 1e-6) for epsilon in (0.1, 1, 10)]


def _ignore(_count):
    pass


def _audit(subject, draws, confidence=0.95):
    (verdict,) = audit_low_bits(subject, draws, confidence, _ignore)
    return verdict


@pytest.mark.parametrize(("epsilon", "delta"), CELLS)
def test_numpy_noise_is_caught(claim_of, twin, epsilon, delta):
    """Seeded noise: this test does not flake."""
    verdict = _audit(twin("numpy_noise", split(claim_of(epsilon, delta))), draws=3000)
    assert not verdict.passed
    assert verdict.certified > 1.2 * verdict.claimed


def test_how_often_numpy_noise_gives_itself_away(claim_of, twin):
    verdict = _audit(twin("numpy_noise", claim_of(1)), draws=12_000)
    assert verdict.certified > 5
    assert float(re.search(r"([\d.]+)%", verdict.words)[1]) > 15


@pytest.mark.parametrize(("epsilon", "delta"), CELLS)
def test_secure_noise_passes(claim_of, epsilon, delta):
    """Fails by chance in fewer than one in a thousand runs of each cell."""
    verdict = _audit(build_subject(split(claim_of(epsilon, delta))), draws=1500, confidence=0.999)
    assert verdict.passed
    assert verdict.claimed <= 1.0001


def test_the_lowest_bit():
    assert lowest_bits(np.array([3 * 2.0**-40, 2.0**-1074, 1 + 2.0**-52])).tolist() == [-40, -1074, -52]
