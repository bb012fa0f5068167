"""Gradients along other axes: honest owners are taken, behind any noise of theirs, and lies are refused as before."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from copriv.learner.scrutiny import check, demands_of, noise_quantile
from copriv.losses.filled import filled_count
from copriv.losses.sample import Sample
from copriv.privacy.exact import SimulatedVector
from copriv.privacy.guarantee import Guarantee
from copriv.privacy.release import describe
from copriv.protocol.commitment import make_commitment
from copriv.protocol.messages import Answer, Query
from copriv.protocol.plain_terms import plain_terms

P = 4
ALONG_ONE = ((0.49, 0.01, 0.0, 0.0), (0.49, -0.01, 0.0, 0.0), (0.49, 0.0, 0.01, 0.0), (0.49, 0.0, 0.0, 0.01))
AXES = {
    "one feature along all": ALONG_ONE,
    "one axis": tuple(tuple(axis) for axis in np.diag([0.999, 0.01, 0.01, 0.01]).tolist()),
    "mixed": ((0.3, 0.2, 0.0, 0.1), (-0.2, 0.4, 0.1, 0.0), (0.0, 0.1, -0.3, 0.4), (0.2, 0.0, 0.3, 0.3)),
    "short": tuple(tuple(axis) for axis in np.diag([0.2501] * 4).tolist()),
}
TERMS = plain_terms(rule="newton", answers=2, shares=(10, 100), kinds=("gradient", "second_moments"), axes=ALONG_ONE)
RECEIPT = "0a" * 32
deltas = pytest.mark.parametrize("delta", [0.0, 1e-6])


def scene(name="mixed", delta=0.0, records=10_000, fill=0.2, kind="gradient"):
    """What an answer must be, the query, and an answer that lacks its numbers."""
    axes = AXES[name] if name else ()
    terms = msgspec.structs.replace(TERMS, fill=fill, axes=axes)
    commitment = make_commitment(terms, Guarantee.of(1, delta), records=records, answers=2)
    part = commitment.part(kind, 10)
    demand = demands_of(commitment.parts, parameters=P, records=records)[kind, 10]
    query = Query("r:1", terms.digest(), "bank", (0.0,) * P, None, kind, 10)
    return part, demand, query, Answer("r:1", "bank", (), describe("r:1", part.calibration, part.sensitivity), RECEIPT)


def judge(query, answer, demand, values):
    given = msgspec.structs.replace(answer, values=tuple(values))
    return check(query, given, len(demand.lowest), demand)


def rows_of(kind, axes):
    """Records at the edge of what an answer may be: along a feature, along the axis that is longest, across others."""
    matrix = np.asarray(axes)
    rows = {
        "features": np.eye(P),
        "one feature": np.eye(P)[[0] * 3],
        "longest": np.linalg.svd(matrix)[2][[0] * 3],
        "across": np.linalg.inv(matrix).T,
        "all": np.vstack([np.linalg.svd(matrix)[2], np.eye(P), matrix]),
        "zeros": np.zeros((3, P)),
    }[kind]
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12) * 0.999_999


@deltas
@pytest.mark.parametrize("name", AXES)
@pytest.mark.parametrize("fill", [0.0, 0.2, 1e12])
@pytest.mark.parametrize("kind", ["features", "one feature", "longest", "across", "all", "zeros"])
def test_an_honest_owner_is_taken_behind_any_noise_up_to_its_quantile(delta, name, fill, kind):
    """Without gradients all room is for second moments; with them, gradients are as long as they may be."""
    part, demand, query, answer = scene(name, delta, fill=fill)
    numbers, rows = len(demand.lowest), rows_of(kind, AXES[name])
    assert numbers == (filled_count(P) if fill else P) == part.numbers
    noise, generator = noise_quantile(part.calibration.mechanism, numbers), np.random.default_rng(8)
    for targets in (np.zeros(len(rows)), np.ones(len(rows)), -np.ones(len(rows))):
        exact = part.exact(Sample.of_rows(rows, targets), np.zeros(P))
        outwards = np.where(exact >= 0, 1.0, -1.0)
        shrunk = np.where(np.arange(numbers) < 2 * P, -1.0, outwards)
        for signs in (outwards, -outwards, shrunk, *generator.choice([-1.0, 1.0], size=(10, numbers))):
            assert isinstance(judge(query, answer, demand, exact + noise * signs), Answer)


def test_what_an_owner_may_answer_does_not_depend_on_the_axes():
    """The bound is the clip, and it counts along the axes; without a clip that bites it is T's that no row grows."""
    for delta in (0.0, 1e-6):
        for fill in (0.0, 0.2):
            plain, turned = (scene(name, delta, fill=fill)[1] for name in ("", "mixed"))
            assert plain == turned


@deltas
@pytest.mark.parametrize("records", [20, 10_000])
def test_an_honest_owner_is_never_refused(delta, records):
    """Seeded noise: 2,000 answers, at most 2e-6 alarms expected. A twin that leaves second moments no noise refuses."""
    part, demand, query, answer = scene(delta=delta, records=records)
    generator, refused = np.random.default_rng(5), 0
    rows = generator.normal(size=(records, P))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    exact = SimulatedVector(part.exact(Sample.of_rows(rows, generator.uniform(-1, 1, records)), np.full(P, 0.1)))
    narrow = replace(demand, squares=replace(demand.squares, slack=0.0, trace=part.bound))
    for _ in range(2_000):
        values = part.calibration.mechanism.simulate_noise(exact, generator).tolist()
        assert isinstance(judge(query, answer, demand, values), Answer)
        refused += not isinstance(judge(query, answer, narrow, values), Answer)
    assert (refused > 1_000) == (records == 20)


LIES = {
    "products without squares": [0.0] * P + [0.0] * P + [0.12] * 6,
    "more than the clip in all": [0.0] * P + [0.3] * P + [0.0] * 6,
    "one product beyond its squares": [0.1] * P + [0.05] * P + [0.0] * 5 + [0.2],
}


@deltas
@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("name", AXES)
def test_second_moments_that_no_turned_records_have_are_refused(delta, lie, name):
    """Turned rows are rows: their products have squares, and these add up to no more than the clip."""
    _, demand, query, answer = scene(name, delta)
    found = judge(query, answer, demand, LIES[lie])
    assert (found.reason, "no records have" in found.text) == ("garbage", True)
    assert isinstance(judge(query, answer, replace(demand, squares=None), LIES[lie]), Answer)


@deltas
@pytest.mark.parametrize("fill", [0.0, 0.2])
def test_a_number_beyond_the_clip_and_the_noise_is_refused(delta, fill):
    """Among them an owner that forgets the clip: its records along the axes are ten times as long."""
    part, demand, query, answer = scene("one feature along all", delta, fill=fill)
    for place in range(P):
        values = [0.0] * len(demand.lowest)
        values[place] = demand.highest[place] * (1 + 1e-12)
        found = judge(query, answer, demand, values)
        assert (found.reason, "beyond its bound" in found.text) == ("garbage", True)
    beyond = [10 * part.bound] * P + [0.0] * (len(demand.lowest) - P)
    assert judge(query, answer, demand, beyond).reason == "garbage"


@deltas
def test_second_moments_that_are_asked_for_alone_are_along_the_features(delta):
    """Their bound is that of rows, and they are the same with and without axes."""
    rows = np.eye(P)[[0] * 3]
    told = []
    for name in ("", *AXES):
        part, demand, query, answer = scene(name, delta, kind="second_moments")
        exact = part.exact(Sample.of_rows(rows, np.zeros(3)), np.zeros(P))
        assert isinstance(judge(query, answer, demand, exact), Answer)
        told.append((exact.tolist(), demand))
    assert all(each == told[0] for each in told)


def test_an_answer_under_other_axes_is_of_other_terms():
    """The digest of the terms goes with every query, so that nobody takes one for the other."""
    queries = {scene(name)[2].terms for name in ("", *AXES)}
    assert len(queries) == 1 + len(AXES)
