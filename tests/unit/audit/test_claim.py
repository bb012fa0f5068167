"""The noise that a claim needs, derived a second time; it agrees with the table of measured facts and with the code."""

import math

import numpy as np
import pytest

from copriv.audit.claim import Claim
from copriv.audit.gaussian_curve import largest_mu, log_delta, smallest_epsilon
from copriv.audit.subject import honest_promise
from copriv.errors import BadInput
from copriv.privacy.guarantee import Guarantee


@pytest.mark.parametrize(
    ("epsilon", "deviations"),
    [(0.1, (115, 363, 1148)), (1, (13.4, 42.2, 134)), (10, (1.7, 5.4, 17.1))],
)
def test_gaussian_noise_is_what_the_privacy_loss_distribution_says(epsilon, deviations):
    """For a change of 1 and 10, 100, 1000 answers at δ = 1e-6; the table is rounded."""
    for answers, deviation in zip((10, 100, 1000), deviations, strict=True):
        claim = Claim(Guarantee.of(epsilon, 1e-6), answers, clip=1.0, records=2, parameters=10)
        assert claim.needed_scale() == pytest.approx(deviation, rel=0.02)


@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-9])
@pytest.mark.parametrize("epsilon", [0.1, 1, 10])
@pytest.mark.parametrize("answers", [1, 1000])
def test_owners_use_this_noise_or_a_little_more(claim_of, epsilon, delta, answers):
    claim = claim_of(epsilon, delta, answers)
    used = honest_promise(claim).calibration.mechanism.scale
    assert claim.needed_scale() <= used < 1.002 * claim.needed_scale()


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 10.0, 200.0])
def test_epsilon_and_mu_are_inverse_to_each_other(epsilon, delta):
    mu = largest_mu(epsilon, delta)
    assert smallest_epsilon(mu, delta) == pytest.approx(epsilon, rel=1e-6)
    assert log_delta(epsilon, mu) <= math.log(delta) <= log_delta(epsilon, 1.0001 * mu)


def test_the_classical_formula_is_wrong_at_large_epsilon():
    """Its δ of 1e-5 at ε = 50 is 0.59 in truth."""
    mu = 50 / math.sqrt(2 * math.log(1.25 / 1e-5))
    assert math.exp(log_delta(50.0, mu)) == pytest.approx(0.59, abs=0.01)


def test_curves_end_where_they_should():
    assert smallest_epsilon(0.0, 1e-6) == 0
    assert smallest_epsilon(1e-9, 1e-6) == 0
    assert smallest_epsilon(math.inf, 1e-6) == math.inf
    assert log_delta(500.0, 0.1) == pytest.approx(-0.5 * 5000**2, rel=1e-3)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_claim_and_its_scale_say_the_same(claim_of, delta):
    claim = claim_of(2.5, delta, answers=40)
    scale = claim.needed_scale()
    assert claim.epsilon_of(scale) == pytest.approx(2.5)
    assert claim.epsilon_of(scale / 2) > 4.9
    assert claim.epsilon_of(0.0) == math.inf
    assert claim.one_answer() == pytest.approx(claim.over(1).epsilon_of(scale))


def test_rehearsed_noise_has_the_needed_scale(claim_of, generator):
    laplace, gaussian = claim_of(), claim_of(delta=1e-6)
    assert np.abs(laplace.draw_noise(4000, generator)).mean() == pytest.approx(laplace.needed_scale(), rel=0.02)
    assert gaussian.draw_noise(4000, generator).std() == pytest.approx(gaussian.needed_scale(), rel=0.02)


@pytest.mark.parametrize(
    "wrong", [{"records": 1}, {"answers": 0}, {"parameters": 0}, {"clip": 0.0}, {"clip": math.inf}]
)
def test_what_cannot_be_claimed_is_refused(wrong):
    with pytest.raises(BadInput):
        Claim(**({"guarantee": Guarantee.of(1), "answers": 1, "clip": 1.0, "records": 9, "parameters": 3} | wrong))
