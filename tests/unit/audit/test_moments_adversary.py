"""Owners that tell moments: the furthest records, and what each test makes of them and of broken twins."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from copriv.audit.canary import audit_canary
from copriv.audit.floating_point import audit_low_bits, split
from copriv.audit.furthest import furthest_change, furthest_rows
from copriv.audit.moments_adversary import EDGE, perturb, propose
from copriv.audit.neighbours import audit_neighbours
from copriv.audit.pair import canaries, low_bits_pair
from copriv.audit.reference import reference_moments
from copriv.audit.subject import build_subject, honest_promise
from copriv.audit.transcript import audit_transcript
from copriv.errors import BadInput
from copriv.losses.sample import Sample
from copriv.privacy.sensitivity import of_moments
from copriv.runtime.simulated_responder import SimulatedResponder
from copriv.vectors import Norm

DELTAS = [0.0, 1e-6]
CELLS = [(epsilon, delta) for delta in DELTAS for epsilon in (0.1, 1, 10)]


def _ignore(_count):
    pass


@pytest.fixture
def moments_of(claim_of):
    return lambda epsilon=1, delta=0.0, parameters=10: claim_of(epsilon, delta, parameters=parameters, asks="moments")


@pytest.mark.parametrize("delta", DELTAS)
def test_the_reference_agrees_with_the_owner(moments_of, generator, delta):
    claim = moments_of(delta=delta)
    sample = Sample.of_rows(generator.normal(size=(100, 10)) / 10, generator.uniform(-1, 1, size=100))
    expected = reference_moments(sample, claim.norm)
    assert honest_promise(claim).exact_answer(sample, np.zeros(10)) == pytest.approx(expected, rel=1e-10)
    assert expected.size == claim.numbers == 65


@pytest.mark.parametrize("parameters", [1, 2, 3, 9, 20])
def test_the_furthest_records_are_within_the_terms_and_near_the_bound(parameters):
    for norm, share in ((Norm.L2, 1 - 1e-8), (Norm.L1, 0.96)):
        assert np.linalg.norm(furthest_rows(parameters, norm), axis=1) == pytest.approx([1, 1], rel=1e-12)
        bound = of_moments(records=1, parameters=parameters, norm=norm).value
        assert furthest_change(parameters, norm) <= bound
        assert furthest_change(parameters, norm) >= share * bound or parameters == 1


@pytest.mark.parametrize("delta", DELTAS)
def test_pairs_differ_in_one_record_and_by_the_change_of_the_claim(moments_of, delta):
    claim = moments_of(delta=delta)
    (pair,), hidden, commitment = canaries(claim), low_bits_pair(claim), honest_promise(claim)
    for one in (pair, hidden):
        assert (one.first.columns != one.second.columns).any(axis=0).sum() == 1
        commitment.require_bounded(one.first)
        commitment.require_bounded(one.second)
        exact = [commitment.exact_answer(table, np.zeros(10)) for table in (one.first, one.second)]
        np.testing.assert_allclose(exact, [one.origin, one.origin + one.shift], atol=1e-12)
    assert claim.norm.of(pair.shift) == pytest.approx(claim.change)
    assert not hidden.origin.any()
    assert hidden.shift.all()


@pytest.mark.parametrize(("epsilon", "delta"), CELLS)
def test_owners_use_the_needed_noise_or_a_little_more(moments_of, epsilon, delta):
    """In L1 more by as much as the proof exceeds the furthest records that are known."""
    claim = moments_of(epsilon, delta)
    used = honest_promise(claim).calibration.mechanism.scale
    assert claim.needed_scale() <= used < (1.002 if delta else 1.04) * claim.needed_scale()


@pytest.mark.parametrize(("parameters", "delta", "share"), [(10, 0.0, 0.96), (10, 1e-6, 1 - 1e-9), (3, 1e-6, 1 - 1e-9)])
def test_no_neighbour_exceeds_the_declared_sensitivity_and_some_come_near(
    moments_of, generator, parameters, delta, share
):
    verdict = audit_neighbours(build_subject(moments_of(1, delta, parameters)), generator, tries=300)
    assert verdict.passed
    assert verdict.statistic > share * verdict.threshold


def test_a_sensitivity_that_forgets_what_owners_take_for_rounding_is_caught(moments_of, generator):
    """Records a billionth too long are let in, and move moments by two billionths more than √4.5."""
    claim = moments_of(delta=1e-6)
    commitment = honest_promise(claim)
    smaller = replace(commitment.sensitivity, value=np.sqrt(4.5) * (1 + 1e-10))
    verdict = audit_neighbours(
        build_subject(claim, commitment=replace(commitment, sensitivity=smaller)), generator, tries=300
    )
    assert not verdict.passed


def test_owners_accept_no_record_beyond_the_edge(moments_of):
    commitment = honest_promise(moments_of(parameters=1))
    commitment.require_bounded(Sample.of_rows([[EDGE]], [EDGE]))
    for row, target in ((EDGE * (1 + 1e-12), 1.0), (1.0, EDGE * (1 + 1e-12))):
        with pytest.raises(BadInput):
            commitment.require_bounded(Sample.of_rows([[row]], [target]))


@pytest.mark.parametrize("delta", DELTAS)
def test_neighbours_differ_in_one_record(moments_of, generator, delta):
    claim = moments_of(delta=delta)
    for found in islice(propose(claim, generator), 60):
        for neighbours in (found, perturb(claim, found, generator)):
            first, second = neighbours.tables()
            assert first.records == second.records == claim.records
            assert np.array_equal(first.columns[:, 1:], second.columns[:, 1:])


@pytest.mark.parametrize("delta", DELTAS)
def test_half_the_noise_is_caught_by_what_many_owners_say(moments_of, twin, generator, delta):
    verdict = audit_transcript(twin("half_noise", moments_of(delta=delta)), 1e-4, generator, _ignore, owners=30)
    assert not verdict.passed
    assert 1.5 < verdict.certified < 2.5
    assert verdict.answers == 150


def test_the_canary_catches_half_the_noise_of_gaussian_moments(moments_of, twin, generator):
    """Certifies 17 or more of a true 24."""
    subject = twin("half_noise", moments_of(10, 1e-6))
    verdict = audit_canary(subject, canaries(subject.claim)[0], 1000, 0.95, generator, _ignore)[-1]
    assert not verdict.passed
    assert 12 < verdict.certified < 25


def test_the_canary_catches_an_l2_bound_used_as_l1(moments_of, twin, generator):
    """Seeded, as the margin is small: spread over many numbers a change hardly shows in Laplace noise."""
    subject = replace(
        twin("root_of_four_and_a_half_in_l1", moments_of(parameters=4)),
        make_responder=lambda sample, commitment: SimulatedResponder(sample, commitment, generator),
    )
    verdict = audit_canary(subject, canaries(subject.claim)[0], 6000, 0.95, generator, _ignore)[-1]
    assert not verdict.passed
    assert verdict.certified > 1.2


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.0), (1, 0.0), (0.1, 1e-6), (10, 1e-6)])
def test_numpy_noise_is_caught_in_the_low_bits(moments_of, twin, epsilon, delta):
    """Seeded noise: this test does not flake."""
    (verdict,) = audit_low_bits(twin("numpy_noise", split(moments_of(epsilon, delta))), 2000, 0.95, _ignore)
    assert not verdict.passed
    assert verdict.certified > 1.2 * verdict.claimed
