"""Gradients told along axes: what a correct owner adds noise to, and owners that turn, clip or fill in another way.

Searches and records are seeded, and there is no chance in them. `test_turned_noise` has the noise.
"""

from dataclasses import replace
from functools import partial
from itertools import combinations, islice

import numpy as np
import pytest

from copriv.audit import adversary, filled_adversary
from copriv.audit.axes import along, back, skewed_axes
from copriv.audit.claim import Claim
from copriv.audit.menu import honest_menu
from copriv.audit.neighbours import audit_neighbours
from copriv.audit.reference import reference_answer
from copriv.audit.second_derivation import audit_exact, reference_gradient
from copriv.audit.subject import LIMIT, REACH, ROW_NORM, build_subject, honest_promise
from copriv.audit.transcript import draw_records
from copriv.errors import BadInput
from copriv.losses.turned import require_axes
from copriv.privacy.guarantee import Guarantee
from copriv.privacy.sensitivity import Sensitivity
from copriv.vectors import Norm

PARAMETERS, TRIES = 4, 300
BOTH = pytest.mark.parametrize("delta", [0.0, 1e-6])
FILLS = pytest.mark.parametrize("fill", [0.0, 0.4, 1e4])


def axes_of(parameters=PARAMETERS):
    return skewed_axes(parameters, np.random.default_rng(3))


def claim_of(delta=0.0, fill=0.0, parameters=PARAMETERS, share=100):
    axes = axes_of(parameters)
    guarantee = Guarantee.of(1, delta)
    return Claim(guarantee, 1, clip=1.0, records=40, parameters=parameters, share=share, fill=fill, axes=axes)


# --- the axes, the claim and what a record tells ---------------------------------------------------


@pytest.mark.parametrize("parameters", [1, 2, 10, 200])
def test_the_audited_axes_are_within_the_terms_and_gradients_can_be_beyond_the_clip_along_each(parameters):
    axes = axes_of(parameters)
    require_axes(axes, parameters)
    assert 2 * REACH * ROW_NORM * np.linalg.svd(axes)[1].min() > 1
    rows = np.random.default_rng(1).normal(size=(5, parameters))
    assert along(back(rows, axes), axes) == pytest.approx(rows, rel=1e-9)
    if parameters >= 4:
        assert np.abs(axes).sum(axis=0).max() > 1.5


@BOTH
@FILLS
def test_the_reference_agrees_with_the_owner(delta, fill, generator):
    claim = claim_of(delta, fill)
    sample, theta = draw_records(claim, generator), generator.uniform(-1, 1, size=PARAMETERS)
    expected = reference_gradient(claim, sample, theta)
    assert expected.size == claim.numbers
    assert honest_promise(claim).part("gradient", 100).exact(sample, theta) == pytest.approx(expected, abs=1e-8)
    gradient = reference_answer(sample, theta, claim.clip, claim.norm, claim.axes)
    assert expected[:PARAMETERS] == pytest.approx(gradient, rel=1e-14)
    assert np.abs(gradient - reference_answer(sample, theta, claim.clip, claim.norm)).max() > 0.01


@BOTH
def test_a_claim_along_axes_is_one_of_gradients_of_the_same_noise(delta):
    turned = claim_of(delta, share=0)
    along_features = replace(turned, axes=())
    assert (turned.change, turned.needed_scale()) == (along_features.change, along_features.needed_scale())
    for fill in (0.0, 0.4):
        for share in (10, 60):
            part = honest_menu(replace(turned, fill=fill)).part("gradient", share)
            assert 1 <= part.calibration.mechanism.scale / replace(turned, share=share).needed_scale() < 1.01
    for wrong in ({"axes": turned.axes[:2]}, {"parameters": 3}, {"rows": 3}):
        with pytest.raises(BadInput, match="axes"):
            replace(turned, **wrong)


# --- a correct owner --------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("fill", [0.0, 1e4])
@pytest.mark.parametrize("parameters", [1, 4, 10])
def test_no_neighbours_are_further_apart_than_declared_and_some_are_as_far(delta, fill, parameters, generator):
    subject = build_subject(claim_of(delta, fill, parameters))
    verdict = audit_neighbours(subject, generator, TRIES)
    assert verdict.passed, verdict.words
    assert verdict.statistic > 0.999999 * verdict.threshold
    assert verdict.certified == pytest.approx(1, rel=1e-5)
    assert audit_exact(subject, generator).passed


@BOTH
@pytest.mark.parametrize("fill", [0.0, 0.4])
def test_a_declared_sensitivity_that_is_a_millionth_too_small_is_caught(delta, fill, generator):
    promised = honest_promise(claim_of(delta, fill))
    smaller = Sensitivity(promised.sensitivity.value * (1 - 1e-6), promised.sensitivity.norm)
    menu = tuple(replace(part, sensitivity=smaller) for part in promised.menu)
    subject = build_subject(claim_of(delta, fill), replace(promised, menu=menu))
    assert not audit_neighbours(subject, generator, TRIES).passed


@pytest.mark.parametrize("propose", [adversary.propose, filled_adversary.propose])
def test_neighbours_along_axes_stay_within_the_terms_and_some_are_opposite_and_at_the_clip(propose, generator):
    claim = claim_of(fill=0.4 if propose is filled_adversary.propose else 0.0)
    opposite = 0
    for found in islice(propose(claim, generator), 400):
        first, second = found.tables()
        assert np.array_equal(first.columns[:, 1:], second.columns[:, 1:])
        assert max(np.abs(first.targets).max(), np.abs(second.targets).max()) <= REACH * claim.clip
        assert np.abs(found.theta).max() <= LIMIT
        with np.errstate(all="ignore"):
            slopes = found.rows @ found.theta - found.targets
            lengths = 2 * np.abs(slopes) * np.abs(along(found.rows, claim.axes)).sum(axis=1)
        opposite += np.array_equal(*found.rows) and slopes[0] * slopes[1] < 0 and lengths.min() > 1 - 1e-9
    assert opposite > 10


# --- twins: what they tell of a record, and what it is told by --------------------------------------


def _lengths(claim, vectors):
    return np.linalg.norm(vectors, ord=claim.norm.value, axis=0)


def _clipped(claim, vectors):
    return vectors * (claim.clip / np.maximum(claim.clip, _lengths(claim, vectors)))


def _room(claim, gradients):
    kept = np.minimum(claim.clip, _lengths(claim, gradients))
    return claim.clip - kept if claim.norm is Norm.L1 else np.sqrt((claim.clip - kept) * (claim.clip + kept))


def _products(claim, rows):
    weight = np.sqrt(2) if claim.norm is Norm.L2 else 1.0
    return np.array([*rows**2, *(weight * x * z for x, z in combinations(rows, 2))])


def _weights(claim, room, products):
    size = _lengths(claim, products)
    return np.minimum(claim.fill, np.divide(room, size, out=np.zeros_like(room), where=size > 0))


def honest(claim, axes, rows, slopes):
    told, products = axes @ (slopes * rows), _products(claim, axes @ rows)
    return _clipped(claim, told), products * _weights(claim, _room(claim, told), products)


def clips_before_it_turns(claim, axes, rows, slopes):
    return axes @ _clipped(claim, slopes * rows), honest(claim, axes, rows, slopes)[1]


def turns_without_a_clip(claim, axes, rows, slopes):
    return axes @ (slopes * rows), honest(claim, axes, rows, slopes)[1]


def ignores_the_axes(claim, axes, rows, slopes):
    return honest(claim, np.eye(len(rows)), rows, slopes)


def turns_the_other_way(claim, axes, rows, slopes):
    return honest(claim, axes.T, rows, slopes)


def fills_the_room_of_the_unturned(claim, axes, rows, slopes):
    products = _products(claim, axes @ rows)
    return honest(claim, axes, rows, slopes)[0], products * _weights(claim, _room(claim, slopes * rows), products)


def fills_with_rows_as_they_were(claim, axes, rows, slopes):
    """Measured where they lie along the axes, and told as they lie along the features."""
    weights = _weights(claim, _room(claim, axes @ (slopes * rows)), _products(claim, axes @ rows))
    return honest(claim, axes, rows, slopes)[0], _products(claim, rows) * weights


def told_by(tells, claim, sample, theta):
    with np.errstate(all="ignore"):
        slopes = 2 * (theta @ sample.columns - sample.targets)
        gradients, moments = tells(claim, np.asarray(claim.axes), sample.columns, slopes)
        return np.concatenate([gradients.mean(axis=1), *([np.nan_to_num(moments).mean(axis=1)] if claim.fill else [])])


def _owner(tells, claim):
    promised = honest_promise(claim)
    menu = tuple(replace(part, exact=partial(told_by, tells, claim)) for part in promised.menu)
    return build_subject(claim, replace(promised, menu=menu))


@BOTH
@pytest.mark.parametrize(
    ("tells", "fill"),
    [
        (clips_before_it_turns, 0.0),
        (clips_before_it_turns, 0.4),
        (turns_without_a_clip, 0.0),
        (ignores_the_axes, 0.0),
        (ignores_the_axes, 0.4),
        (turns_the_other_way, 0.0),
        (fills_the_room_of_the_unturned, 0.4),
        (fills_with_rows_as_they_were, 0.4),
    ],
)
def test_an_owner_that_tells_something_else_is_caught(delta, tells, fill):
    """The same code with nothing wrong in it passes, so it is the mistake that is caught."""
    claim = claim_of(delta, fill)
    found = audit_exact(_owner(tells, claim), np.random.default_rng(5))
    assert not found.passed
    assert found.statistic > 1e-3
    assert "not what the terms say" in found.words
    assert audit_exact(_owner(honest, claim), np.random.default_rng(5)).passed


@pytest.mark.parametrize(
    ("tells", "fill", "deltas", "certified"),
    [
        (turns_without_a_clip, 0.0, (0.0, 1e-6), 100),
        (clips_before_it_turns, 0.0, (0.0,), 1.5),
        (fills_the_room_of_the_unturned, 1e4, (0.0,), 1.1),
        (fills_with_rows_as_they_were, 1e4, (0.0, 1e-6), 10),
    ],
)
def test_neighbours_of_an_owner_that_breaks_its_promise_are_too_far_apart(tells, fill, deltas, certified):
    """In L2 axes make no row longer: there clipping first, or the room of a longer gradient, breaks nothing."""
    for delta in deltas:
        claim = claim_of(delta, fill)
        verdict = audit_neighbours(_owner(tells, claim), np.random.default_rng(11))
        assert not verdict.passed
        assert verdict.certified > certified
        assert audit_neighbours(_owner(honest, claim), np.random.default_rng(11)).passed


@BOTH
def test_an_owner_that_ignores_the_axes_keeps_its_promise_and_only_its_exact_answers_tell(delta):
    assert audit_neighbours(_owner(ignores_the_axes, claim_of(delta)), np.random.default_rng(11), TRIES).passed


@BOTH
@pytest.mark.parametrize("fill", [0.0, 0.4])
def test_a_sensitivity_that_follows_from_the_axes_is_caught(delta, fill):
    """No row is longer than |T| there; what is told is as long as the clip all the same."""
    claim = claim_of(delta, fill)
    promised, longest = honest_promise(claim), float(np.linalg.norm(claim.axes, ord=2))
    smaller = Sensitivity(promised.sensitivity.value * longest, promised.sensitivity.norm)
    menu = tuple(replace(part, sensitivity=smaller) for part in promised.menu)
    verdict = audit_neighbours(build_subject(claim, replace(promised, menu=menu)), np.random.default_rng(11), TRIES)
    assert longest < 0.96
    assert not verdict.passed
