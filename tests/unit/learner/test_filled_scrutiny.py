"""Filled gradients: those of honest owners are taken, behind any noise of theirs, and what no records have is not."""

import math
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from copriv.learner.learner import Session
from copriv.learner.scrutiny import check, demand_of, demands_of, noise_quantile
from copriv.losses.filled import filled_count
from copriv.losses.sample import Sample
from copriv.privacy.exact import SimulatedVector
from copriv.privacy.guarantee import Guarantee
from copriv.privacy.release import describe
from copriv.protocol.commitment import make_commitment
from copriv.protocol.messages import Answer, Query
from copriv.protocol.plain_terms import plain_terms
from copriv.rules.rule import Ask

P = 4
TERMS = plain_terms(rule="newton", answers=2, shares=(10, 100), kinds=("gradient", "second_moments"), fill=0.2)
RECEIPT = "0a" * 32
deltas = pytest.mark.parametrize("delta", [0.0, 1e-6])


def scene(delta=0.0, records=10_000, terms=TERMS, share=10):
    """What a filled gradient must be, the query, and an answer that lacks its numbers."""
    commitment = make_commitment(terms, Guarantee.of(1, delta), records=records, answers=2)
    part = commitment.part("gradient", share)
    demand = demands_of(commitment.parts, parameters=P, records=records)["gradient", share]
    query = Query("r:1", terms.digest(), "bank", (0.0,) * P, None, "gradient", share)
    return part, demand, query, Answer("r:1", "bank", (), describe("r:1", part.calibration, part.sensitivity), RECEIPT)


def judge(query, answer, demand, values):
    given = msgspec.structs.replace(answer, values=tuple(values))
    return check(query, given, filled_count(P), demand)


def rows_of(kind):
    """Records that are at the edge of what a filled gradient may be, each in a way of its own."""
    generator = np.random.default_rng(7)
    rows = {
        "one axis": np.eye(P)[[0] * 3],
        "alike": np.full((3, P), 0.5),
        "two signs": np.tile([0.5, -0.5, 0.5, -0.5], (3, 1)),
        "all axes": np.eye(P),
        "zeros": np.zeros((3, P)),
        "any": generator.normal(size=(50, P)) / 4,
    }[kind]
    return rows / max(1.0, np.linalg.norm(rows, axis=1).max())


@deltas
@pytest.mark.parametrize("kind", ["one axis", "alike", "two signs", "all axes", "zeros", "any"])
@pytest.mark.parametrize("fill", [0.2, 1e12])
def test_an_honest_owner_is_taken_behind_any_noise_up_to_its_quantile(delta, kind, fill):
    """Without gradients all room is for second moments; with them, gradients are as long as they may be."""
    part, demand, query, answer = scene(delta, terms=msgspec.structs.replace(TERMS, fill=fill))
    generator, numbers, rows = np.random.default_rng(8), filled_count(P), rows_of(kind)
    noise = noise_quantile(part.calibration.mechanism, numbers)
    for targets in (np.zeros(len(rows)), np.ones(len(rows))):
        exact = part.exact(Sample.of_rows(rows, targets), np.zeros(P))
        outwards = np.where(exact >= 0, 1.0, -1.0)
        shrunk = np.where(np.arange(numbers) < 2 * P, -1.0, outwards)
        for signs in (outwards, -outwards, shrunk, *generator.choice([-1.0, 1.0], size=(20, numbers))):
            assert isinstance(judge(query, answer, demand, exact + noise * signs), Answer)


@deltas
@pytest.mark.parametrize("records", [20, 10_000])
def test_an_honest_owner_is_never_refused(delta, records):
    """Seeded noise: 5,000 answers, at most 5e-6 alarms expected. Where noise is large, a twin that gives none
    to second moments refuses most of them.
    """
    part, demand, query, answer = scene(delta, records)
    generator, refused = np.random.default_rng(5), 0
    rows = generator.normal(size=(records, P))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    exact = SimulatedVector(part.exact(Sample.of_rows(rows, generator.uniform(-1, 1, records)), np.full(P, 0.1)))
    narrow = replace(demand, squares=replace(demand.squares, slack=0.0, trace=part.bound))
    for _ in range(5_000):
        values = part.calibration.mechanism.simulate_noise(exact, generator).tolist()
        assert isinstance(judge(query, answer, demand, values), Answer)
        refused += not isinstance(judge(query, answer, narrow, values), Answer)
    assert (refused > 2_500) == (records == 20)


LIES = {
    "products without squares": [0.0] * P + [0.0] * P + [0.12] * 6,
    "more than the clip in all": [0.0] * P + [0.3] * P + [0.0] * 6,
    "one product beyond its squares": [0.1] * P + [0.05] * P + [0.0] * 5 + [0.2],
}


@deltas
@pytest.mark.parametrize("lie", LIES)
def test_second_moments_that_no_records_have_are_refused(delta, lie):
    """Each number alone is within its bound; a twin that looks at numbers alone takes them."""
    _, demand, query, answer = scene(delta)
    found = judge(query, answer, demand, LIES[lie])
    assert (found.reason, "no records have" in found.text) == ("garbage", True)
    assert isinstance(judge(query, answer, replace(demand, squares=None), LIES[lie]), Answer)


@deltas
def test_every_number_up_to_its_bound_and_the_noise_is_taken_and_beyond_it_is_not(delta):
    part, demand, query, answer = scene(delta)
    blind, middle = replace(demand, squares=None), [0.01] * P + [0.02] * P + [0.0] * 6
    noise = noise_quantile(part.calibration.mechanism, filled_count(P))
    assert len(demand.lowest) == len(demand.highest) == filled_count(P)
    above = part.bound / 2 * (2**0.5 if delta else 1.0)
    expected = [part.bound] * P + [part.bound] * P + [above] * 6
    np.testing.assert_allclose(demand.highest, np.array(expected) + noise, rtol=2e-5)
    np.testing.assert_allclose(
        demand.lowest, [*(-np.array([part.bound] * P) - noise), *[-noise] * P, *[-above - noise] * 6], rtol=2e-5
    )
    for place in range(filled_count(P)):
        for limit, outwards in ((demand.lowest[place], -math.inf), (demand.highest[place], math.inf)):
            for value, is_fine in ((limit, True), (math.nextafter(limit, outwards), False)):
                values = [*middle[:place], value, *middle[place + 1 :]]
                found = judge(query, answer, blind, values)
                assert isinstance(found, Answer) == is_fine
                assert is_fine or "beyond its bound" in found.text


@pytest.mark.parametrize("count", [0, P, filled_count(P) - P, filled_count(P) - 1, filled_count(P) + 1])
def test_an_answer_of_another_length_is_refused(count):
    """Among them a gradient alone, and second moments alone."""
    _, demand, query, answer = scene()
    for strict in (demand, None):
        assert judge(query, answer, strict, [0.0] * count).reason == "garbage"
    assert isinstance(judge(query, answer, demand, [0.0] * filled_count(P)), Answer)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", [0, P, filled_count(P) - 1])
def test_numbers_are_finite(value, place):
    _, demand, query, answer = scene()
    values = [0.0] * filled_count(P)
    values[place] = value
    assert judge(query, answer, demand, values).reason == "garbage"


def test_a_finer_answer_is_held_to_the_same():
    commitment = make_commitment(TERMS, Guarantee.of(1), records=10_000, answers=2)
    demands = demands_of(commitment.parts, parameters=P, records=10_000)
    query = Query("r:2", TERMS.digest(), "bank", (0.0,) * P, None, "gradient", 90, 10)
    finer, whole = demand_of(demands, query), demands["gradient", 100]
    assert (finer.squares, finer.lowest, finer.highest) == (whole.squares, whole.lowest, whole.highest)
    assert finer.release.nano == whole.release.nano - demands["gradient", 10].release.nano
    part = commitment.part("gradient", 90, 10)
    told = Answer("r:2", "bank", (), describe("r:2", part.calibration, part.sensitivity), RECEIPT)
    assert isinstance(judge(query, told, finer, [0.0] * filled_count(P)), Answer)
    assert judge(query, told, finer, LIES["products without squares"]).reason == "garbage"


def test_gradients_that_are_not_filled_are_demanded_as_before():
    part, demand, query, answer = scene(terms=msgspec.structs.replace(TERMS, fill=0.0))
    assert (len(demand.lowest), demand.squares, part.numbers) == (P, None, P)
    assert isinstance(check(query, msgspec.structs.replace(answer, values=(0.0,) * P), P, demand), Answer)
    _, filled, *_ = scene()
    release = msgspec.structs.replace(answer, values=(0.0,) * filled_count(P))
    assert check(query, release, P, demand).reason == "garbage"
    assert check(query, msgspec.structs.replace(answer, values=(0.0,) * P), filled_count(P), filled).reason == "garbage"


class _Listening:
    """A rule that keeps what it hears."""

    name = "listening"

    def begin(self):
        return ()

    def ask(self, state, owner):
        return Ask(np.zeros(P), "gradient", 10)

    def learn(self, state, owner, answer, ask):
        return (*state, answer)

    def model(self, state):
        return np.zeros(P)

    def pack(self, state):
        return b""

    def unpack(self, data):
        return ()


@pytest.mark.parametrize("fill", [0.0, 0.2])
def test_a_session_expects_what_its_terms_say(fill):
    session = Session(_Listening(), ("bank",), TERMS.digest(), "r", fill=fill)
    _, _, query, answer = scene()
    expected = filled_count(P) if fill else P
    for count in (P, filled_count(P)):
        told = msgspec.structs.replace(answer, values=(0.1,) * count)
        position, heard = session.take(session.start(), 0, query, told)
        assert isinstance(heard, Answer) == (count == expected)
        assert [each.size for each in position.state] == ([count] if count == expected else [])
