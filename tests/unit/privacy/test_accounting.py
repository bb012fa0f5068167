"""What Gaussian answers cost: never less than the exact formula says, and in bounded memory, whatever is asked."""

import math

import pytest
from dp_accounting.pld import privacy_loss_distribution
from scipy.stats import norm

from copriv.privacy import accounting
from copriv.privacy.accounting import allowed_rho, pld_epsilon, zcdp_epsilon
from copriv.privacy.guarantee import NANO, Guarantee

# An ε that is tiny beside the spread of the loss: a study may ask for these, and the owner's machine works them out.
TRAPS = [(1e-6, 0.5), (1e-9, 0.1), (1.0, 1 - 1e-9)]


def exact_delta(nano_rho, epsilon):
    """Balle and Wang 2018, Theorem 8."""
    mu = math.sqrt(2 * nano_rho / NANO)
    return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


@pytest.fixture
def points(monkeypatch):
    """How many points the largest distribution would have had; it is not made where that is too many."""
    counted, real = [0.0], privacy_loss_distribution.from_gaussian_mechanism

    def count(noise_std, **how):
        counted.append(22 / noise_std / how["value_discretization_interval"])
        if counted[-1] > 1 << 18:
            raise OverflowError
        return real(noise_std, **how)

    monkeypatch.setattr(privacy_loss_distribution, "from_gaussian_mechanism", count)
    pld_epsilon.cache_clear()
    yield counted
    pld_epsilon.cache_clear()


@pytest.mark.parametrize(("epsilon", "delta"), TRAPS)
def test_no_promise_fills_the_memory_or_allows_too_much(points, epsilon, delta):
    allowed = allowed_rho(Guarantee.of(epsilon, delta), "pld")
    assert max(points) < 1.01 * 2**17
    assert exact_delta(allowed, epsilon) <= delta * (1 + 1e-9)
    assert exact_delta(2 * allowed + 2, epsilon) > delta


def test_a_twin_without_that_limit_is_caught(points, monkeypatch):
    monkeypatch.setattr(accounting, "_MOST_POINTS", 1 << 60)
    allowed_rho(Guarantee.of(1e-9, 0.1), "pld")
    assert max(points) > 1 << 30


@pytest.mark.parametrize(("nano_rho", "delta"), [(10**7, 1e-6), (10**9, 0.1), (10**3, 0.3), (10**12, 1e-9)])
def test_epsilon_is_between_the_exact_one_and_that_of_zcdp(nano_rho, delta):
    epsilon = pld_epsilon(nano_rho, delta)
    assert epsilon <= zcdp_epsilon(nano_rho, delta)
    assert nano_rho > 10**11 or exact_delta(nano_rho, epsilon) <= delta * (1 + 1e-9)
