"""Are the clocks independent Poisson clocks of the given rates? Seeds are fixed, so these tests do not flake."""

import numpy as np
from scipy import stats

from copriv.entropy import seeded
from copriv.schedule.poisson import availability, draw, likely_answers

RATES = [1.0, 2.0, 5.0]
HORIZON = 20_000
LEVEL = 1e-3


def _ticks(owner):
    trace = draw(RATES, HORIZON, seeded(11, "schedule"))
    return np.array([meeting.time for meeting in trace if meeting.owner == owner])


def test_each_owner_waits_exponentially_at_its_own_rate():
    for owner, rate in enumerate(RATES):
        waits = np.diff(_ticks(owner))
        assert stats.kstest(waits, stats.expon(scale=1 / rate).cdf).pvalue > LEVEL
        assert stats.kstest(waits, stats.expon(scale=1.15 / rate).cdf).pvalue < LEVEL


def test_owners_are_met_in_proportion_to_their_rates():
    counts = [_ticks(owner).size for owner in range(3)]
    expected = HORIZON * availability(RATES)
    assert stats.chisquare(counts, expected).pvalue > LEVEL
    assert stats.chisquare(counts, np.full(3, HORIZON / 3)).pvalue < LEVEL


def test_a_cap_is_rarely_reached():
    cap = likely_answers(0.1, 1000)
    generator = np.random.default_rng(3)
    exceeded = np.mean(generator.binomial(1000, 0.1, size=20_000) > cap)
    assert 0.002 < exceeded <= 0.0125
