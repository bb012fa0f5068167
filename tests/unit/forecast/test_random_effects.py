"""Fixed and random effects, held against formulas written out and against what happens in many meta-analyses."""

import numpy as np
import pytest
from scipy.stats import chi2, norm, t

from copriv.forecast.random_effects import Width, between_owners, meta_analysis, width_of_mean

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


def coverage(records, ratio, *, width):
    """How often an interval holds the mean of owners that differ by this much."""
    stream, held, runs = np.random.default_rng(4), 0, 3000
    weights = np.asarray(records) / np.sum(records)
    variances = np.mean(records) / np.asarray(records, dtype=float)
    estimates = stream.normal(size=(runs, weights.size)) * np.sqrt(variances + ratio)
    for each in estimates:
        held += abs(weights @ each) < width(each, variances, weights, 0.0).reach(0.95)
    return held / runs


def by_known_errors(_, variances, weights, common):
    return Width(float(weights**2 @ variances) + common)


def by_a_normal_quantile(*given):
    return Width(width_of_mean(*given).variance)


def never_narrower(estimates, variances, weights, common):
    """As if owners that scatter less than they should were to be trusted as much as their errors say, no more."""
    found, known = width_of_mean(estimates, variances, weights, common), float(weights**2 @ variances)
    return Width(max(found.variance, known), float(weights.size - 1))


@pytest.mark.parametrize("records", [[1.0] * 10, np.geomspace(1, 3, 12)])
@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.0, 10.0])
def test_intervals_hold_as_often_as_they_say(records, ratio):
    """A false alarm is rarer than one in a thousand: the error of a share is 0.004."""
    assert 0.935 < coverage(records, ratio, width=width_of_mean) < 0.97


def test_and_twins_do_not():
    ten = [1.0] * 10
    assert coverage(ten, 1.0, width=by_known_errors) < 0.87
    assert coverage(ten, 10.0, width=by_a_normal_quantile) < 0.93
    assert coverage(ten, 0.0, width=never_narrower) > 0.97


def test_few_owners_or_one_large_one_speak_of_themselves():
    for weights in (np.full(4, 0.25), np.array([0.9] + [0.02] * 5)):
        found = width_of_mean(np.arange(weights.size, dtype=float), np.ones(weights.size), weights, 0.5)
        assert found == by_known_errors(None, np.ones(weights.size), weights, 0.5)


def test_a_p_value_is_where_the_interval_begins_to_hold_0():
    width = Width(0.3, 7.0)
    chance = width.p_value(1.1)
    assert width.reach(1 - chance) == pytest.approx(1.1)


def test_owners_that_agree_wholly_leave_some_doubt():
    assert width_of_mean(np.ones(8), np.ones(8), np.full(8, 1 / 8), 0.0).reach(0.95) == pytest.approx(
        0.6 * 1.96 / 8**0.5, rel=1e-4
    )
