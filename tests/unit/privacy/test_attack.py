"""What an attacker can reach: never less than blind guessing, never more than certainty, more with ε and δ."""

import math

import pytest

from copriv.errors import BadInput
from copriv.privacy.attack import most_certain, most_power


def test_without_epsilon_an_attacker_guesses_blindly():
    assert most_certain(0.0, 0.0) == 0.5
    assert most_power(0.0, 0.0, 0.05) == pytest.approx(0.05)


def test_laplace_noise_reaches_the_bound_on_guesses():
    """Randomised response at ε: the likelihood ratio is e^ε, and the guess is right with e^ε/(1 + e^ε)."""
    for epsilon in (0.1, 1.0, 5.0):
        truth = math.exp(epsilon) / (1 + math.exp(epsilon))
        assert most_certain(epsilon, 0.0) == pytest.approx(truth)
        assert most_power(epsilon, 0.0, 1 - truth) == pytest.approx(truth)


def test_more_epsilon_or_delta_is_more_risk():
    powers = [most_power(epsilon, 0.0, 0.01) for epsilon in (0.0, 0.5, 1.0, 5.0, 800.0)]
    assert powers == sorted(powers)
    assert powers[-1] == 1.0
    assert most_power(1.0, 0.1, 0.01) > most_power(1.0, 0.0, 0.01)
    assert most_certain(1.0, 0.1) > most_certain(1.0, 0.0)


def test_numbers_that_cannot_be_meant_are_refused():
    with pytest.raises(BadInput, match="false alarms"):
        most_power(-1.0, 0.0, 0.01)
