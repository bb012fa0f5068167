"""The transcript test sees noise that is 3 % too small, and lets the right noise be."""

import numpy as np
import pytest

from copriv.audit.subject import build_subject
from copriv.audit.transcript import FIRST_LEVEL, audit_transcript, read
from copriv.errors import BadInput

RUNS = 200
DELTAS = [0.0, 1e-6]


def _ignore(count):
    pass


def _rejected(claim, generator, factor, level=FIRST_LEVEL):
    """How often one transcript of 1000 × 10 is rejected; simulated, so seeded."""
    noise = (factor * claim.draw_noise(1000, generator) for _ in range(RUNS))
    return np.mean([not read(claim, one, level).passed for one in noise])


@pytest.mark.parametrize("delta", DELTAS)
def test_one_transcript_rejects_noise_three_per_cent_too_small_most_of_the_time(claim_of, generator, delta):
    claim = claim_of(1, delta, answers=1000)
    assert _rejected(claim, generator, 0.97) > 0.85
    assert _rejected(claim, generator, 0.5, level=1e-12) == 1
    assert 0.01 < _rejected(claim, generator, 1.0) < 0.1
    assert _rejected(claim, generator, 1.05) == 0


@pytest.mark.parametrize("delta", DELTAS)
def test_the_certificate_is_the_test(claim_of, generator, delta):
    claim = claim_of(1, delta, answers=100)
    for factor in (0.5, 0.9, 0.95, 1.0, 1.2):
        reading = read(claim, factor * claim.draw_noise(100, generator), 0.01)
        assert reading.passed == (reading.certified <= 1)
        assert reading.ratio == pytest.approx(factor, rel=0.15)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", [0.1, 1, 10])
@pytest.mark.parametrize("name", ["half_noise", "no_cap"])
def test_too_little_noise_is_caught(claim_of, twin, generator, name, epsilon, delta):
    """Both twins are off by a factor of two or more: the chance of missing one is below 1e-50."""
    claim = claim_of(epsilon, delta, answers=100)
    verdict = audit_transcript(twin(name, claim), 1e-4, generator, _ignore)
    assert not verdict.passed
    assert verdict.certified > 1.5 * epsilon
    assert verdict.answers == 500


@pytest.mark.parametrize("delta", DELTAS)
def test_a_correct_owner_passes(claim_of, generator, delta):
    """Fails by chance once in a million runs."""
    claim = claim_of(1, delta, answers=100)
    verdict = audit_transcript(build_subject(claim), 1e-6, generator, _ignore)
    assert verdict.passed
    assert 0.8 < verdict.certified <= 1


@pytest.mark.parametrize("level", [0.0, 0.06, float("nan")])
def test_a_level_that_makes_no_sense_is_refused(claim_of, generator, level):
    with pytest.raises(BadInput):
        audit_transcript(build_subject(claim_of()), level, generator, _ignore)


def test_no_noise_at_all_has_no_bound(claim_of):
    for delta in DELTAS:
        assert read(claim_of(1, delta), np.zeros((10, 10)), 0.05).certified == np.inf
