"""An owner tells gradients along the axes of its terms: at the same price, and no record counts beyond the clip."""

import math
from contextlib import closing
from fractions import Fraction

import msgspec
import numpy as np
import pytest
from tests import menu_study as study

from copriv.errors import BadInput
from copriv.losses.filled import filled_count
from copriv.losses.moments import unpack_second_moments
from copriv.losses.passes import record_slopes
from copriv.losses.people import Whose
from copriv.losses.sample import Sample
from copriv.losses.squared import SquaredLoss
from copriv.losses.turned import turn
from copriv.owner.ledger_opening import begin
from copriv.owner.memory_ledger import MemoryLedger
from copriv.owner.owner import Owner
from copriv.owner.payload import unpack
from copriv.owner.responder import PrivateResponder
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.commitment import make_commitment, told_gradient
from copriv.protocol.messages import Answer, Query
from copriv.protocol.wire import encode
from copriv.runtime.simulated_responder import SilentResponder
from copriv.vectors import Norm

SHARES = (10, 20, 50, 100)
PLAIN = msgspec.structs.replace(study.TERMS, shares=SHARES)
# The first feature is told along every axis: the worst there is for a clip that was meant for features.
AXES = ((0.45, 0.2, 0.0, 0.0), (0.45, -0.2, 0.0, 0.0), (0.45, 0.0, 0.2, 0.0), (0.45, 0.0, 0.0, 0.2))
TERMS = msgspec.structs.replace(PLAIN, axes=AXES)
BOTH = msgspec.structs.replace(TERMS, fill=0.1)
PROMISE = study.commitment_of(0, TERMS)
ZERO, ELSEWHERE = (0.0,) * 4, (0.25, 0.0, 0.0, -0.25)
GUARANTEES = [Guarantee.of(1), Guarantee.of(1, 1e-6)]
guarantees = pytest.mark.parametrize("guarantee", GUARANTEES, ids=["pure", "delta"])
kinds = pytest.mark.parametrize("terms", [TERMS, BOTH], ids=["alone", "filled"])


def ask(name, share, before=0, theta=ZERO, terms=TERMS):
    return Query(name, terms.digest(), "east", theta, None, "gradient", share, before)


def price(share):
    return PROMISE.part("gradient", share).calibration.charge.nano


def owner_of(ledger, responder=PrivateResponder, promise=PROMISE, terms=TERMS):
    return Owner("east", terms, promise, responder(study.sample_of(0), promise), ledger)


def book_of(guarantee=study.GUARANTEE):
    return MemoryLedger(begin("east", "records", guarantee))


@pytest.fixture
def ledger():
    return book_of()


@pytest.fixture
def path(tmp_path):
    SqliteLedger.create(tmp_path / "ledger.sqlite", begin("east", "records", study.GUARANTEE)).close()
    return tmp_path / "ledger.sqlite"


@guarantees
@pytest.mark.parametrize("fill", [0.0, 0.1])
def test_an_answer_has_the_numbers_and_the_price_of_one_along_the_features(guarantee, fill):
    releases = []
    for terms in (msgspec.structs.replace(each, fill=fill) for each in (PLAIN, TERMS)):
        book = book_of(guarantee)
        promise = study.commitment_of(0, terms, guarantee)
        told = owner_of(book, promise=promise, terms=terms).answer(ask("a", 20, terms=terms))
        assert len(told.values) == (filled_count(4) if fill else 4)
        releases.append((told.release, book.state().spent_by(terms.digest())))
    assert releases[0] == releases[1]


@kinds
def test_without_noise_it_is_the_gradient_along_the_axes(terms):
    """By numpy: slopes as they are, rows turned, clipped in the norm of the mechanism."""
    told = owner_of(book_of(), SilentResponder, study.commitment_of(0, terms), terms)
    values = np.array(told.answer(ask("a", 20, theta=ELSEWHERE, terms=terms)).values)
    sample = study.sample_of(0)
    gradients = np.asarray(AXES) @ (sample.columns * 2 * (sample.margins(np.array(ELSEWHERE)) - sample.targets))
    lengths = np.abs(gradients).sum(axis=0)
    assert np.mean(lengths > PROMISE.clip) > 0.3
    expected = (gradients * np.minimum(1, PROMISE.clip / lengths)).mean(axis=1)
    np.testing.assert_allclose(values[:4], expected, rtol=1e-12)
    if terms.fill:
        matrix = unpack_second_moments(values[4:], 4, PROMISE.norm)
        assert 0 < np.linalg.eigvalsh(matrix)[0] <= np.trace(matrix) < 0.1


@guarantees
@kinds
def test_every_number_has_the_noise_of_its_part(guarantee, terms):
    """Fresh owners; 6 deviations either way. A twin whose noise is turned with the gradient is seen."""
    promise = study.commitment_of(0, terms, guarantee)
    part = promise.part("gradient", 100)
    exact = part.exact(study.sample_of(0), np.zeros(4))
    owners = [owner_of(book_of(guarantee), promise=promise, terms=terms) for _ in range(400)]
    told = [owner.answer(ask("a", 100, terms=terms)).values for owner in owners]

    def holds(noise):
        means, squares = noise.mean(axis=0), np.mean(noise**2, axis=0)
        together = noise[:, :4].T @ noise[:, :4] / len(noise) - np.diag(squares[:4])
        return (
            np.all(np.abs(means) < 6 / 400**0.5)
            and np.all(np.abs(squares - 1) < 6 * (5 / 400) ** 0.5)
            and np.all(np.abs(together) < 6 / 400**0.5)
        )

    noise = (np.array(told) - exact) / part.calibration.mechanism.noise_std
    assert holds(noise)
    turned = noise.copy()
    turned[:, :4] = noise[:, :4] @ np.asarray(AXES).T
    assert not holds(turned)


def test_steps_cost_the_difference(ledger):
    owner = owner_of(ledger)
    told = [owner.answer(ask(f"q{level}", level - before, before)) for before, level in ((0, 10), (10, 50), (50, 100))]
    assert [answer.release.nano for answer in told] == [price(10), price(50) - price(10), price(100) - price(50)]
    assert ledger.state().spent == price(100)
    assert owner.answer(ask("more", 10, theta=ELSEWHERE)).reason == "exhausted"


def test_the_same_bytes_after_a_restart_and_finer_from_what_was_sealed(path):
    with closing(SqliteLedger(path)) as ledger:
        told = owner_of(ledger).handle(encode(ask("a", 10)))
        sealed = {each.share: each.numbers for each in unpack(ledger.answer_to("a")).finer}
    with closing(SqliteLedger(path)) as ledger:
        owner = owner_of(ledger)
        assert owner.handle(encode(ask("a", 10))) == told
        assert ledger.state().spent == price(10)
        finer = owner.answer(ask("b", 40, 10))
        assert np.array(finer.values).tobytes() == sealed[50]
        assert ledger.state().spent == price(50)


def test_terms_with_other_axes_are_other_terms(ledger):
    """What was told along some axes founds nothing along others, or along the features; nothing is charged for it."""
    assert isinstance(owner_of(ledger).answer(ask("a", 10)), Answer)
    nudged = ((math.nextafter(0.45, 1), *AXES[0][1:]), *AXES[1:])
    for other in (msgspec.structs.replace(TERMS, axes=nudged), PLAIN, BOTH):
        assert owner_of(ledger).answer(ask("b", 10, terms=other)).reason == "terms"
        owner = owner_of(ledger, promise=study.commitment_of(0, other), terms=other)
        assert owner.answer(ask("c", 10, 10, terms=other)).reason == "unfounded"
        assert owner.answer(ask("d", 10, terms=TERMS)).reason == "terms"
    assert ledger.state().spent == price(10)


def test_an_owner_of_people_or_of_rows_beyond_the_terms_is_not_made():
    people = study.sample_of(0).grouped(Whose(np.arange(study.SIZES[0]) // 2, 2, "person"))
    with pytest.raises(BadInput, match="grouped by person"):
        PrivateResponder(people, PROMISE)
    long = Sample.of_rows([[0.0, 1.1, 0.0, 0.0]] * study.SIZES[0], np.zeros(study.SIZES[0]))
    assert max(np.linalg.norm(turn(long, AXES).columns, axis=0)) < 1
    with pytest.raises(BadInput, match="outside the terms"):
        PrivateResponder(long, PROMISE)


def clips_before(loss, sample, theta, bounds, norm):
    """The twin that clips along the features, and turns what is left."""
    clip, _, axes = bounds
    return np.asarray(axes) @ told_gradient(loss, sample, theta, (clip, 0.0, ()), norm)


def tells_along_features(loss, sample, theta, bounds, norm):
    """The twin that measures along the axes and tells along the features."""
    clip, _, axes = bounds
    gradients = sample.columns * record_slopes(loss, sample, theta)
    lengths = np.linalg.norm(np.asarray(axes) @ gradients, ord=norm.value, axis=0)
    return np.asarray((gradients * np.minimum(1, clip / np.maximum(lengths, 1e-300))).mean(axis=1))


def clips_in_the_other_norm(loss, sample, theta, bounds, norm):
    """The twin that clips in L2 for Laplace noise, and in L1 for Gaussian noise."""
    return told_gradient(loss, sample, theta, bounds, Norm.L2 if norm is Norm.L1 else Norm.L1)


def without_axes(loss, sample, theta, bounds, norm):
    """The twin that does not turn at all."""
    return told_gradient(loss, sample, theta, (*bounds[:2], ()), norm)


def records(generator):
    """What an adversary would put there: rows along a feature, along an axis, across it, or any other way."""
    matrix, flat = np.asarray(AXES), np.linalg.svd(np.asarray(AXES))[2]
    rows = [*np.eye(4), *matrix, *np.linalg.inv(matrix).T, *flat, *generator.normal(size=(4, 4)), np.zeros(4)]
    row = rows[generator.integers(len(rows))].copy()
    row /= max(np.linalg.norm(row), 1e-300)
    return row * generator.choice([1.0, -1.0, 1e-3, 1e-6]), generator.choice([-1.0, 1.0, 0.0, 0.3])


def exact_length(change, norm):
    """Without rounding; of L2 its square."""
    entries = [Fraction(value) for value in change]
    return sum(map(abs, entries)) if norm is Norm.L1 else sum(entry * entry for entry in entries)


def furthest(guarantee, terms, answer, size=5, tries=300):
    """The largest change of the told numbers over neighbours, and how much of what was declared that is."""
    promise = make_commitment(terms, guarantee, records=size, answers=3)
    part, norm, generator = promise.part("gradient", 20), promise.norm, np.random.default_rng(3)
    declared = Fraction(part.sensitivity.value)
    rows, targets = map(np.array, zip(*(records(generator) for _ in range(size)), strict=True))
    most = Fraction(0)
    for _ in range(tries):
        told, place = [], generator.integers(size)
        theta = generator.choice([0.0, 1.0]) * generator.uniform(-2, 2, 4)
        for _ in range(2):
            rows[place], targets[place] = records(generator)
            bounds = (promise.clip, terms.fill, terms.axes)
            told.append(answer(SquaredLoss(), Sample.of_rows(rows, targets), theta, bounds, norm))
        change = [Fraction(one) - Fraction(other) for one, other in zip(*map(np.ndarray.tolist, told), strict=True)]
        most = max(most, exact_length(change, norm))
    return float(most / (declared if norm is Norm.L1 else declared**2)) ** (1.0 if norm is Norm.L1 else 0.5), promise


@guarantees
@kinds
def test_no_record_moves_an_answer_further_than_its_noise_is_for(guarantee, terms):
    """Over all neighbours of a search that comes near the bound: 2C/n, and rounding, which is exact fractions here."""
    part, promise = furthest(guarantee, terms, told_gradient)
    assert 0.99 < part <= 1
    declared = promise.part("gradient", 20).sensitivity.value
    assert declared == pytest.approx(2 * promise.clip / 5, rel=1e-9)


@guarantees
def test_twins_that_clip_otherwise_break_the_bound(guarantee):
    """In L2 axes make no vector longer, so there clipping before turning breaks nothing; in L1 it does."""
    pure = guarantee.pure
    assert (furthest(guarantee, TERMS, clips_before)[0] > 1.5) == pure
    assert (furthest(guarantee, TERMS, clips_in_the_other_norm)[0] > 1.2) == pure
    assert furthest(guarantee, TERMS, tells_along_features)[0] > 1.5


def test_an_owner_that_does_not_turn_keeps_the_bound_and_tells_something_else():
    """That twin breaks no promise. It is caught by what it tells."""
    assert furthest(GUARANTEES[0], TERMS, without_axes)[0] <= 1
    bounds, theta = (PROMISE.clip, 0.0, AXES), np.array(ELSEWHERE)
    told = [each(SquaredLoss(), study.sample_of(0), theta, bounds, Norm.L1) for each in (told_gradient, without_axes)]
    assert np.abs(told[0] - told[1]).max() > 0.01


def room_of_plain_rows(loss, sample, theta, bounds, norm):
    """The twin that tells second moments of rows as they are in the room of gradients along the axes."""
    clip, fill, axes = bounds
    honest, total = [], []
    for place in range(sample.records):
        one = sample.take(np.array([place]))
        gradient = told_gradient(loss, one, theta, (clip, 0.0, axes), norm)
        there, plain = (turn(one, each).columns[:, 0] for each in (axes, ()))
        room = clip - norm.of(gradient) if norm is Norm.L1 else math.sqrt(max(clip**2 - norm.of(gradient) ** 2, 0))
        above = [math.sqrt(2) if norm is Norm.L2 else 1.0] * 6
        weights, upper = np.array([*[1.0] * 4, *above]), np.triu_indices(4, 1)
        sizes = [
            np.concatenate([np.diag(m), m[upper]]) * weights for m in (np.outer(row, row) for row in (there, plain))
        ]
        weight = min(fill, room / norm.of(sizes[0])) if norm.of(sizes[0]) else 0.0
        honest.append(np.concatenate([gradient, weight * sizes[0]]))
        total.append(np.concatenate([gradient, weight * sizes[1]]))
    np.testing.assert_allclose(np.mean(honest, axis=0), told_gradient(loss, sample, theta, bounds, norm), atol=1e-7)
    return np.asarray(np.mean(total, axis=0))


@guarantees
def test_the_room_is_that_of_turned_rows(guarantee):
    terms = msgspec.structs.replace(BOTH, fill=1e6)
    assert furthest(guarantee, terms, told_gradient)[0] <= 1
    assert furthest(guarantee, terms, room_of_plain_rows, tries=100)[0] > 1.5
