"""The search finds the declared sensitivity, and nothing beyond it unless something is wrong. Seeded."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from copriv.audit.adversary import perturb, propose
from copriv.audit.neighbours import audit_neighbours
from copriv.audit.subject import build_subject, honest_promise

CELLS = [(1, 10, 0.0), (1, 10, 1e-6), (10, 1, 0.0), (0.1, 37, 1e-6)]


@pytest.mark.parametrize(("epsilon", "parameters", "delta"), CELLS)
def test_no_neighbour_exceeds_the_declared_sensitivity_and_some_reach_it(
    claim_of, generator, epsilon, parameters, delta
):
    verdict = audit_neighbours(build_subject(claim_of(epsilon, delta, parameters=parameters)), generator, tries=400)
    assert verdict.passed
    assert verdict.statistic > 0.999999 * verdict.threshold
    assert verdict.certified == pytest.approx(epsilon, rel=1e-5)


def test_a_bound_in_the_wrong_norm_is_caught(claim_of, twin, generator):
    verdict = audit_neighbours(twin("l2_bound_used_as_l1", claim_of()), generator)
    assert not verdict.passed
    assert verdict.certified == pytest.approx(np.sqrt(10), rel=1e-3)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_forgotten_clip_is_caught(claim_of, twin, generator, delta):
    verdict = audit_neighbours(twin("clip_forgotten", claim_of(delta=delta)), generator)
    assert not verdict.passed
    assert verdict.certified > 100


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_declared_sensitivity_that_is_a_millionth_too_small_is_caught(claim_of, generator, delta):
    commitment = honest_promise(claim_of(delta=delta))
    smaller = replace(commitment.sensitivity, value=commitment.sensitivity.value * (1 - 1e-6))
    subject = build_subject(claim_of(delta=delta), commitment=replace(commitment, sensitivity=smaller))
    assert not audit_neighbours(subject, generator, tries=400).passed


def test_neighbours_differ_in_one_record_within_the_terms(claim_of, generator):
    claim = claim_of()
    for found in islice(propose(claim, generator), 200):
        for neighbours in (found, perturb(claim, found, generator)):
            first, second = neighbours.tables()
            assert first.records == second.records == claim.records
            assert np.array_equal(first.columns[:, 1:], second.columns[:, 1:])
            assert np.array_equal(first.targets[1:], second.targets[1:])
            assert max(np.abs(first.targets).max(), np.abs(second.targets).max()) <= 100 * claim.clip
