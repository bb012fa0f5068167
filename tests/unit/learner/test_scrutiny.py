"""An answer is what was promised, or it is refused: noise, price, receipt, and numbers within bound and noise."""

import math
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from copriv.learner.scrutiny import FALSE_ALARM, check, demand_of, demands_of, is_receipt, noise_quantile
from copriv.losses.moments import moment_count, pack_moments, pack_second_moments
from copriv.losses.sample import Sample
from copriv.privacy.exact import SimulatedVector
from copriv.privacy.gaussian import Gaussian
from copriv.privacy.guarantee import Guarantee
from copriv.privacy.laplace import Laplace
from copriv.privacy.release import describe
from copriv.protocol.commitment import make_commitment
from copriv.protocol.messages import Answer, Query, Refusal
from copriv.protocol.plain_terms import plain_terms

RECORDS = 300
TERMS = plain_terms(horizon=10, answers=2, evaluations=1, evaluation_share=0.25, loss_bound=1.0)
MOMENTS = plain_terms(horizon=10, answers=1, rule="statistics")
RECEIPT = "0a" * 32


def promise_for(terms, delta=0.0):
    return make_commitment(terms, Guarantee.of(1, delta), records=RECORDS, answers=terms.answers)


def scene(kind="gradient", delta=0.0):
    """A promise, what it demands, a query, and the answer that an owner in the middle of the range would give."""
    terms = MOMENTS if kind == "moments" else TERMS
    part = promise_for(terms, delta).part(kind)
    demand = demands_of([part], parameters=terms.parameters, records=RECORDS)[kind, 0]
    query = Query("r:1", terms.digest(), "bank", (0.0,) * terms.parameters, None, kind)
    release = describe("r:1", part.calibration, part.sensitivity)
    middle = tuple((low + high) / 2 for low, high in zip(demand.lowest, demand.highest, strict=True))
    return part, demand, query, Answer("r:1", "bank", middle, release, RECEIPT)


def judge(query, reply, demand):
    return check(query, reply, len(demand.lowest), demand)


KINDS = [("gradient", 0.0), ("gradient", 1e-6), ("loss", 0.0), ("loss", 1e-6), ("moments", 0.0), ("moments", 1e-6)]


@pytest.mark.parametrize(("kind", "delta"), KINDS)
def test_every_number_up_to_the_bound_is_taken_and_beyond_it_is_not(kind, delta):
    _, demand, query, answer = scene(kind, delta)
    for place in range(len(demand.lowest)):
        for limit, outwards in ((demand.lowest[place], -math.inf), (demand.highest[place], math.inf)):
            for value, fine in ((limit, True), (math.nextafter(limit, outwards), False)):
                values = (*answer.values[:place], value, *answer.values[place + 1 :])
                found = judge(query, msgspec.structs.replace(answer, values=values), demand)
                assert isinstance(found, Answer) == fine
                assert fine or (found.reason, found.owner) == ("garbage", "bank")


@pytest.mark.parametrize("mechanism", [Laplace(0.3), Gaussian(0.3)])
def test_the_quantile_is_exact(mechanism):
    """Scaled to a probability that can be seen: the share of noise beyond t is the tail that the formula inverts."""
    from scipy.stats import laplace, norm

    tail = laplace.sf if isinstance(mechanism, Laplace) else norm.sf
    for numbers in (1, 10, 65):
        found = 2 * numbers * tail(noise_quantile(mechanism, numbers), scale=mechanism.scale)
        assert found == pytest.approx(FALSE_ALARM, rel=1e-6)


@pytest.mark.parametrize(("kind", "delta"), KINDS)
@pytest.mark.parametrize("extreme", [1, -1])
def test_an_honest_owner_is_never_refused(kind, delta, extreme):
    """Records at the edge of what the terms allow, seeded noise: 20,000 answers, at most 2e-5 alarms expected."""
    part, demand, query, answer = scene(kind, delta)
    generator, terms = np.random.default_rng(5), MOMENTS if kind == "moments" else TERMS
    rows = np.zeros((RECORDS, terms.parameters))
    rows[:, 0] = extreme
    sample = Sample.of_rows(rows, np.full(RECORDS, -1.0))
    exact = SimulatedVector(part.exact(sample, np.full(terms.parameters, -terms.limit)))
    for _ in range(20_000):
        values = tuple(part.calibration.mechanism.simulate_noise(exact, generator).tolist())
        assert isinstance(judge(query, msgspec.structs.replace(answer, values=values), demand), Answer)


@pytest.mark.parametrize("norm_of", [0.0, 1e-6])
def test_moments_of_any_records_are_within_their_bounds(norm_of):
    part, demand, *_ = scene("moments", norm_of)
    generator = np.random.default_rng(6)
    noise = noise_quantile(part.calibration.mechanism, moment_count(MOMENTS.parameters))
    for spread in (0.01, 1, 100):
        rows = generator.normal(size=(RECORDS, MOMENTS.parameters)) * [spread, 1, 1, 1]
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        packed = pack_moments(Sample.of_rows(rows, np.sign(rows[:, 0])), part.sensitivity.norm)
        assert np.all(packed >= np.asarray(demand.lowest) + noise - 1e-3 * noise)
        assert np.all(packed <= np.asarray(demand.highest) - noise + 1e-3 * noise)


MENU = plain_terms(rule="newton", answers=2, shares=(10, 100), kinds=("gradient", "second_moments"))


def squares_scene(delta, records=10_000):
    """What second moments at a share of 10 % must be, the query, and an answer that lacks its numbers."""
    guarantee = Guarantee.of(1, delta)
    part = make_commitment(MENU, guarantee, records=records, answers=2).part("second_moments", 10)
    demand = demands_of([part], parameters=MENU.parameters, records=records)["second_moments", 10]
    query = Query("r:1", MENU.digest(), "bank", (0.0,) * MENU.parameters, None, "second_moments", 10)
    return part, demand, query, Answer("r:1", "bank", (), describe("r:1", part.calibration, part.sensitivity), RECEIPT)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_second_moments_of_any_records_are_taken_behind_any_noise_up_to_its_quantile(delta):
    part, demand, query, answer = squares_scene(delta)
    generator, numbers = np.random.default_rng(8), len(demand.lowest)
    noise = noise_quantile(part.calibration.mechanism, numbers)
    diagonal = np.arange(numbers) < MENU.parameters
    for rows in ([[0.5, 0.5, 0.5, 0.5]], [[0.5, -0.5, 0.5, -0.5]], [[1, 0, 0, 0]], np.eye(4), [[0, 0, 0, 0]]):
        longest = np.asarray(rows) * (1 + 1e-9)
        exact = pack_second_moments(Sample.of_rows(longest, np.zeros(len(rows))), part.sensitivity.norm)
        away = np.where(diagonal, -1.0, np.where(exact >= 0, 1.0, -1.0))
        for signs in (away, -away, np.ones(numbers), *generator.choice([-1.0, 1.0], size=(20, numbers))):
            given = msgspec.structs.replace(answer, values=tuple((exact + noise * signs).tolist()))
            assert isinstance(judge(query, given, demand), Answer)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("squares", [0.0, 0.5])
def test_second_moments_that_no_records_have_are_refused(delta, squares):
    """Each number alone is within its bound. One such answer of ten turned the model around."""
    _, demand, query, answer = squares_scene(delta)
    products = 0.45 if squares == 0 else 0.0
    values = (squares,) * 4 + (products,) * 6
    found = judge(query, msgspec.structs.replace(answer, values=values), demand)
    assert (found.reason, "no records have" in found.text) == ("garbage", True)
    blind = replace(demand, squares=None)
    assert isinstance(judge(query, msgspec.structs.replace(answer, values=values), blind), Answer)


LABELS = plain_terms(
    rule="newton", loss="logistic", answers=2, shares=(10, 100), kinds=("gradient", "second_moments", "positives")
)


def positives_scene(delta, share):
    """What a share of positives must be, the query, and an answer that lacks its number."""
    promise = make_commitment(LABELS, Guarantee.of(1, delta), records=RECORDS, answers=2)
    demands = demands_of(promise.parts, parameters=LABELS.parameters, records=RECORDS)
    part = promise.part("positives", share)
    query = Query("r:1", LABELS.digest(), "bank", (0.0,) * LABELS.parameters, None, "positives", share)
    answer = Answer("r:1", "bank", (), describe("r:1", part.calibration, part.sensitivity), RECEIPT)
    return part, demand_of(demands, query), query, answer


@pytest.mark.parametrize("share", [10, 100])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_share_beyond_0_and_1_and_the_noise_is_refused(delta, share):
    """The twin that takes a share for a number of a gradient, at most so far from 0, lets all of this pass."""
    part, demand, query, answer = positives_scene(delta, share)
    noise = noise_quantile(part.calibration.mechanism, 1)
    assert 0 < noise < 3
    assert (demand.lowest, demand.highest) == (
        pytest.approx((-noise,), rel=2e-5),
        pytest.approx((1 + noise,), rel=2e-5),
    )
    wide = replace(demand, lowest=(-9.0,), highest=(9.0,))
    for value, fine in (
        (demand.lowest[0], True),
        (0.0, True),
        (1.0, True),
        (demand.highest[0], True),
        (-1.001 * noise, False),
        (1.001 * (1 + noise), False),
        (math.nextafter(demand.lowest[0], -math.inf), False),
        (math.nextafter(demand.highest[0], math.inf), False),
    ):
        given = msgspec.structs.replace(answer, values=(value,))
        found = judge(query, given, demand)
        assert isinstance(found, Answer) == fine
        assert fine or (found.reason, "beyond its bound" in found.text) == ("garbage", True)
        assert isinstance(judge(query, given, wide), Answer)


@pytest.mark.parametrize("values", [(), (0.5, 0.5), (math.nan,), (math.inf,), (-math.inf,)])
def test_a_share_is_one_finite_number(values):
    _, demand, query, answer = positives_scene(0.0, 10)
    assert judge(query, msgspec.structs.replace(answer, values=values), demand).reason == "garbage"


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("target", [-1.0, 1.0])
def test_owners_with_no_positives_or_nothing_else_are_never_refused(delta, target):
    """Seeded noise: 20,000 answers. The twin that demands a share within 0 and 1 refuses half of them."""
    part, demand, query, answer = positives_scene(delta, 10)
    generator, refused = np.random.default_rng(5), 0
    narrow = replace(demand, lowest=(0.0,), highest=(1.0,))
    sample = Sample.of_rows(np.zeros((RECORDS, LABELS.parameters)), np.full(RECORDS, target))
    exact = SimulatedVector(part.exact(sample, np.zeros(LABELS.parameters)))
    for _ in range(20_000):
        values = tuple(part.calibration.mechanism.simulate_noise(exact, generator).tolist())
        given = msgspec.structs.replace(answer, values=values)
        assert isinstance(judge(query, given, demand), Answer)
        refused += not isinstance(judge(query, given, narrow), Answer)
    assert 9_000 < refused < 11_000


WRONG = {
    "mechanism": "gaussian",
    "scale": 1e9,
    "sensitivity": 5e-324,
    "norm": "L2",
    "nano": -1,
    "measure": "rho",
    "query": "another",
}


@pytest.mark.parametrize("field", WRONG)
def test_a_release_other_than_the_promised_one_is_refused(field):
    _, demand, query, answer = scene()
    release = msgspec.structs.replace(answer.release, **{field: WRONG[field]})
    found = judge(query, msgspec.structs.replace(answer, release=release), demand)
    assert found.reason == "garbage"
    assert "promised" in found.text


def test_the_last_digits_of_a_release_may_differ_and_no_more():
    """Both sides work the numbers out for themselves, perhaps with other libraries."""
    _, demand, query, answer = scene()
    for factor, fine in ((1 + 1e-7, True), (1 - 1e-7, True), (1 + 1e-3, False), (1 - 1e-3, False)):
        release = msgspec.structs.replace(
            answer.release, scale=answer.release.scale * factor, nano=round(answer.release.nano * factor)
        )
        found = judge(query, msgspec.structs.replace(answer, release=release), demand)
        assert isinstance(found, Answer) == fine


def test_a_receipt_is_one_that_a_ledger_could_have_given():
    head = "0123456789abcdef" * 4
    assert is_receipt(head)
    assert is_receipt(f"17:{head}")
    for wrong in (
        "",
        head[1:],
        f"{head}0",
        f"{head}\n",
        head.upper(),
        f"0:{head}",
        f"-1:{head}",
        f"{10**19}:{head}",
        f"1:{head[1:]}",
    ):
        assert not is_receipt(wrong)
        _, demand, query, answer = scene()
        assert judge(query, msgspec.structs.replace(answer, receipt=wrong), demand).reason == "garbage"


@pytest.mark.parametrize("reason", ["oversized", "malformed", "terms", "garbage"])
def test_a_refusal_that_cannot_be_true_is_a_lie(reason):
    _, demand, query, _ = scene()
    assert judge(query, Refusal("r:1", "bank", reason, "[/x]"), demand).reason == "garbage"


@pytest.mark.parametrize("reason", ["outside", "rollback", "exhausted", "conflict", "failed"])
def test_a_refusal_that_may_be_true_is_passed_on_in_the_name_of_who_was_asked(reason):
    _, demand, query, _ = scene()
    assert judge(query, Refusal("x", "other", reason, "no [/x]"), demand) == Refusal("r:1", "bank", reason, "no [/x]")


@pytest.mark.parametrize("text", ["a\nb", "\x1b[2J", "\u202etxt", "x" * 501])
def test_text_that_cannot_be_shown_is_not_read(text):
    from copriv.errors import ProtocolError
    from copriv.protocol.wire import decode_reply

    words = {"type": "refusal", "id": "r:1", "owner": "bank", "reason": "failed", "text": text}
    with pytest.raises(ProtocolError):
        decode_reply(msgspec.msgpack.encode(words))
