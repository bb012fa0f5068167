"""Fixed and random effects, held against formulas written out and against what happens in many meta-analyses."""

import numpy as np
import pytest
from scipy.stats import chi2, norm, t

from copriv.forecast.random_effects import between_owners, meta_analysis, quantile

# Log odds ratios and variances of five trials, as a textbook would have them.
ESTIMATES = np.array([0.10, -0.35, 0.52, 0.75, -0.05])
VARIANCES = np.array([0.04, 0.02, 0.09, 0.05, 0.03])


def test_by_hand():
    weights = 1 / VARIANCES
    mean = np.sum(weights * ESTIMATES) / np.sum(weights)
    scatter = np.sum(weights * (ESTIMATES - mean) ** 2)
    tau = (scatter - 4) / (np.sum(weights) - np.sum(weights**2) / np.sum(weights))
    found = meta_analysis(ESTIMATES, VARIANCES, 0.0, 0.95)
    assert between_owners(ESTIMATES, VARIANCES) == pytest.approx((tau, scatter))
    assert found.tau_squared == pytest.approx(tau)
    assert found.i_squared == pytest.approx(1 - 4 / scatter)
    assert found.heterogeneity_p == pytest.approx(chi2.sf(scatter, 4))
    assert found.fixed.interval == pytest.approx(mean + np.array([-1, 1]) * norm.ppf(0.975) / np.sqrt(np.sum(weights)))
    mixed = 1 / (VARIANCES + tau)
    assert found.random.estimate == pytest.approx(np.sum(mixed * ESTIMATES) / np.sum(mixed))
    assert found.random.reach == pytest.approx(t.ppf(0.975, 4))


def test_owners_that_agree_do_not_differ():
    found = meta_analysis(np.full(6, 2.0), np.ones(6), 0.0, 0.95)
    assert (found.tau_squared, found.i_squared, found.fixed.estimate) == (0.0, 0.0, 2.0)
    assert between_owners(np.zeros(3), np.zeros(3)) == (0.0, 0.0)


def test_what_all_share_counts_once():
    alone, shared = (meta_analysis(ESTIMATES, VARIANCES, common, 0.95) for common in (0.0, 0.09))
    assert shared.fixed.standard_error**2 == pytest.approx(alone.fixed.standard_error**2 + 0.09)


def coverage(owners, ratio, *, counted):
    """How often an interval holds the mean of owners that differ by this much; the twin does not count it."""
    stream, held, runs = np.random.default_rng(4), 0, 3000
    estimates = stream.normal(size=(runs, owners)) * np.sqrt(1 + ratio)
    for each in estimates:
        tau = between_owners(each, np.ones(owners))[0] if counted else 0.0
        total = (1 + tau) / owners
        held += abs(each.mean()) < quantile(0.95, owners, tau / owners / total) * np.sqrt(total)
    return held / runs


@pytest.mark.parametrize("ratio", [0.0, 1.0, 10.0])
def test_intervals_of_ten_owners_hold(ratio):
    assert 0.92 < coverage(10, ratio, counted=True) < 0.98
    assert ratio == 0 or coverage(10, ratio, counted=False) < 0.87
