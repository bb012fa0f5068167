"""An owner makes an answer finer for the difference of the prices, and nothing leaves that was not paid for."""

from contextlib import closing

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import menu_study as study

from copriv.errors import LedgerFailure, RecordsChanged
from copriv.owner.entries import Block, Enrolled
from copriv.owner.ledger_opening import begin
from copriv.owner.memory_ledger import MemoryLedger
from copriv.owner.owner import Owner
from copriv.owner.payload import Payload, read_stored, unpack
from copriv.owner.responder import PrivateResponder
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import Amount, Guarantee
from copriv.privacy.release import describe
from copriv.protocol.commitment import make_commitment
from copriv.protocol.messages import Answer, Query, Refusal
from copriv.protocol.wire import encode
from copriv.report.ledger_history import history, lines
from copriv.report.ledger_sheet import ledger_sheet, sheet_lines, what_was_chosen
from copriv.runtime.simulated_responder import SilentResponder, SimulatedResponder

SHARES = (5, 10, 20, 50, 100)
TERMS = msgspec.structs.replace(study.TERMS, shares=SHARES)
PROMISE = study.commitment_of(0, TERMS)
ZERO, ELSEWHERE = (0.0,) * 4, (0.25, 0.0, 0.0, -0.25)


def ask(name, share, before=0, theta=ZERO, kind="gradient", terms=TERMS):
    return Query(name, terms.digest(), "east", theta, None, kind, share, before)


def price(share):
    return PROMISE.part("gradient", share).calibration.charge.nano


def owner_of(ledger, responder=PrivateResponder, promise=PROMISE, terms=TERMS):
    return Owner("east", terms, promise, responder(study.sample_of(0), promise), ledger)


@pytest.fixture
def ledger():
    return MemoryLedger(begin("east", "records", study.GUARANTEE))


def test_steps_add_up_to_the_price_of_the_finest_and_have_its_noise(ledger):
    owner = owner_of(ledger)
    told = [owner.answer(ask(f"q{level}", level - before, before)) for before, level in ((0, 10), (10, 50), (50, 100))]
    assert [answer.release.nano for answer in told] == [price(10), price(50) - price(10), price(100) - price(50)]
    scales = [PROMISE.part("gradient", level).calibration.mechanism.scale for level in (10, 50, 100)]
    assert [answer.release.scale for answer in told] == scales
    assert ledger.state().spent == price(100)
    assert len({answer.values for answer in told}) == 3


def test_a_stack_is_one_draw(ledger):
    """Noise at 100 % is nearly that of the exact answer; what is told at 10 % lies around what is told later."""
    exact = PROMISE.part("gradient", 100).exact(study.sample_of(0), np.zeros(4))
    first, last = [], []
    for number in range(150):
        fresh = MemoryLedger(begin("east", "records", study.GUARANTEE))
        owner = owner_of(fresh)
        first.append(np.array(owner.answer(ask("a", 50)).values) - exact)
        last.append(np.array(owner.answer(ask("b", 50, 50)).values) - exact)
        assert number or fresh.state().spent == price(100)
    first, last = np.array(first), np.array(last)
    # The increment is 0 with probability (1/2)²; noise that was drawn anew would never be the same.
    assert 0.1 < np.mean(first == last) < 0.4
    assert abs(np.corrcoef((first - last).ravel(), last.ravel())[0, 1]) < 0.25
    assert 0.3 < np.corrcoef(first.ravel(), last.ravel())[0, 1] < 0.7


def test_the_same_id_gets_the_same_bytes_and_costs_nothing(ledger):
    owner = owner_of(ledger)
    owner.answer(ask("a", 10))
    told = encode(owner.answer(ask("b", 10, 10)))
    owner.answer(ask("c", 80, 20))
    assert encode(owner.answer(ask("b", 10, 10))) == told
    assert ledger.state().spent == price(100)
    assert owner.answer(ask("b", 40, 10)).reason == "conflict"
    assert owner.answer(ask("b", 20)).reason == "conflict"


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (ask("b", 5, 5), "unfounded"),
        (ask("b", 50, 50), "unfounded"),
        (ask("b", 10, 10, ELSEWHERE), "unfounded"),
        (ask("b", 5, 10), "terms"),
        (ask("b", 10, 11), "terms"),
        (ask("b", 95, 10), "terms"),
        (ask("b", -5, 10), "terms"),
        (ask("b", 0, 10), "terms"),
        (ask("b", 30, -10), "terms"),
        (ask("b", 10, 10, kind="second_moments"), "terms"),
        (ask("b", 10, 10, kind="loss"), "terms"),
        (ask("b", 10, 10, terms=study.TERMS), "terms"),
    ],
)
def test_what_has_no_answer_to_build_on_is_refused_for_free(ledger, query, reason):
    owner = owner_of(ledger)
    owner.answer(ask("a", 10))
    spent = ledger.state().spent
    refusal = owner.answer(query)
    assert (refusal.reason, ledger.state().spent, len(ledger.state().queries)) == (reason, spent, 1)
    assert isinstance(owner.answer(ask("b", 10, 10)), Answer)


def test_gaussian_noise_has_no_levels(ledger):
    guarantee = Guarantee.of(1, 1e-6)
    promise = study.commitment_of(0, TERMS, guarantee)
    book = MemoryLedger(begin("east", "records", guarantee))
    owner = owner_of(book, promise=promise)
    assert isinstance(owner.answer(ask("a", 10)), Answer)
    assert owner.answer(ask("b", 10, 10)).reason == "terms"
    assert promise.levels("gradient", 5) == ()
    assert unpack(book.stored_answer(next(iter(book.state().answers)))).finer == ()


def test_an_answer_that_was_charged_and_lost_leaves_nothing_to_refine(ledger):
    class Failing:
        def __init__(self, *_arguments):
            pass

        def respond_levels(self, *_arguments):
            raise RuntimeError("disk")

    assert owner_of(ledger, Failing).answer(ask("a", 10)).reason == "failed"
    owner = owner_of(ledger)
    assert owner.answer(ask("b", 10, 10)).reason == "unfounded"
    assert ledger.state().spent == price(10)
    assert isinstance(owner.answer(ask("c", 10)), Answer)
    assert isinstance(owner.answer(ask("d", 10, 10)), Answer)
    assert ledger.state().spent == price(10) + price(20)


def test_only_what_can_still_be_paid_for_is_drawn(ledger):
    """A ledger holds no level that nobody could ever ask for, and says of such a one that the budget is spent."""
    owner = owner_of(ledger)
    owner.answer(ask("a", 50))
    owner.answer(ask("b", 10, theta=ELSEWHERE))
    sealed = [[each.share for each in unpack(ledger.stored_answer(key)).finer] for key in ledger.state().answers]
    assert sealed == [[100], [50, 20]]
    assert owner.answer(ask("c", 90, 10, ELSEWHERE)).reason == "exhausted"
    assert isinstance(owner.answer(ask("d", 40, 10, ELSEWHERE)), Answer)
    assert owner.answer(ask("e", 50, 50)).reason == "exhausted"
    assert ledger.state().spent == 2 * price(50)


def test_another_promise_since_then_has_another_stack(ledger):
    """The stack has the noise of the promise that it was drawn under; a larger ε must not sell it for less."""
    book = MemoryLedger(begin("east", "records", Guarantee.of(4)))
    owner_of(book).answer(ask("a", 10))
    larger = make_commitment(TERMS, Guarantee.of(2), records=study.SIZES[0], answers=3)
    assert owner_of(book, promise=larger).answer(ask("b", 10, 10)).reason == "unfounded"
    assert isinstance(owner_of(book).answer(ask("b", 10, 10)), Answer)


def test_a_charge_that_lost_its_answer_is_answered_from_the_stack(ledger):
    owner = owner_of(ledger)
    owner.answer(ask("a", 10))
    store, ledger.store = ledger.store, _raising
    with pytest.raises(LedgerFailure):
        owner.answer(ask("b", 40, 10))
    ledger.store = store
    sealed = unpack(ledger.stored_answer(next(iter(ledger.state().answers)))).finer
    told = owner.answer(ask("b", 40, 10))
    assert ledger.state().spent == price(50)
    assert told.values in [tuple(np.frombuffer(each.numbers)) for each in sealed]


def _raising(*_arguments):
    raise LedgerFailure("the disk is full", remedy="none")


def test_nothing_more_is_told_of_records_that_were_replaced(tmp_path):
    """Not by the process that still has them, and not by one that has the new ones."""
    with closing(SqliteLedger.create(tmp_path / "ledger.sqlite", begin("east", "records", study.GUARANTEE))) as ledger:
        owner = owner_of(ledger)
        told = owner.answer(ask("a", 10))
        ledger.open_version("d" * 64, "a person")
        for query in (ask("a", 10), ask("b", 10, 10), ask("c", 10)):
            with pytest.raises(RecordsChanged):
                owner.answer(query)
        renewed = owner_of(ledger)
        assert renewed.answer(ask("b", 10, 10)).reason == "unfounded"
        assert renewed.answer(ask("a", 10)) == told
        assert ledger.state().spent == price(10)
        assert isinstance(renewed.answer(ask("c", 10)), Answer)
        assert isinstance(renewed.answer(ask("d", 10, 10)), Answer)


def test_an_answer_that_was_charged_before_a_new_version_founds_nothing_after_it(tmp_path):
    """A process that was on its way when the version was opened: its stack is of the former records."""
    with closing(SqliteLedger.create(tmp_path / "ledger.sqlite", begin("east", "records", study.GUARANTEE))) as ledger:
        owner, store = owner_of(ledger), ledger.store

        def late(query, payload):
            ledger.open_version("d" * 64, "a person")
            return store(query, payload)

        ledger.store = late
        assert isinstance(owner.answer(ask("a", 10)), Answer)
        ledger.store = store
        assert owner_of(ledger).answer(ask("b", 10, 10)).reason == "unfounded"


def test_what_was_charged_when_a_new_version_came_is_not_told(tmp_path):
    with closing(SqliteLedger.create(tmp_path / "ledger.sqlite", begin("east", "records", study.GUARANTEE))) as ledger:
        owner, reserve = owner_of(ledger), ledger.reserve
        owner.answer(ask("a", 10))

        def interrupted(*arguments):
            ledger.open_version("d" * 64, "a person")
            return reserve(*arguments)

        ledger.reserve = interrupted
        with pytest.raises(RecordsChanged):
            owner.answer(ask("b", 10, 10))
        assert ledger.state().queries["b"].answer is None


def test_levels_that_the_records_budget_cannot_pay_for_are_not_sealed():
    """Another study has spent most of it."""
    ledger = MemoryLedger(begin("east", "records", study.GUARANTEE))
    budget = ledger.state().budget
    other = Amount(budget.nano - price(10), budget.measure)
    ledger.reserve("x", "other", other, "another study", other)
    owner_of(ledger).answer(ask("a", 5))
    sealed = unpack(ledger.stored_answer(next(iter(ledger.state().answers)))).finer
    assert [each.share for each in sealed] == [10]


def test_sealed_numbers_are_shown_to_nobody_by_accident(ledger):
    from rich.pretty import pretty_repr

    owner_of(ledger).answer(ask("a", 10))
    payload = unpack(ledger.stored_answer(next(iter(ledger.state().answers))))
    for sealed in payload.finer:
        for shown in (repr(payload), pretty_repr(payload), pretty_repr(sealed)):
            assert repr(sealed.numbers)[2:20] not in shown


@pytest.mark.parametrize("kind", [SilentResponder, SimulatedResponder])
def test_simulated_owners_have_levels_too(ledger, kind):
    def responder(sample, promise):
        return kind(sample, promise) if kind is SilentResponder else kind(sample, promise, np.random.default_rng(1))

    owner = owner_of(ledger, responder)
    told = [owner.answer(ask("a", 5)), owner.answer(ask("b", 95, 5))]
    exact = PROMISE.part("gradient", 5).exact(study.sample_of(0), np.zeros(4))
    off = [np.max(np.abs(np.array(answer.values) - exact)) for answer in told]
    assert (max(off) == 0) == (kind is SilentResponder)
    assert ledger.state().spent == price(100)


def test_nothing_finer_than_what_was_paid_for_is_shown(tmp_path):
    path = tmp_path / "ledger.sqlite"
    with closing(SqliteLedger.create(path, begin("east", "records", study.GUARANTEE))) as ledger:
        owner = owner_of(ledger)
        models = [(place / 4, 0.0, 0.0, 0.0) for place in range(4)]
        queries = [ask(f"a{place}", 5, theta=theta) for place, theta in enumerate(models)]
        queries += [ask(f"b{place}", 15, 5, theta) for place, theta in enumerate(models)]
        replies = [owner.answer(query) for query in (*queries, ask("c", 50, 50))]
        assert isinstance(replies[-1], Refusal)
        payloads = [ledger.answer_to(query.id) for query in queries]
        events = history(ledger, values=True)
        sheet = ledger_sheet(path, ledger.state(), what_was_chosen(ledger))
        shown = "\n".join(map(str, (events, *lines(events), *sheet_lines(sheet, "x"), sheet, replies)))
        shown += "".join(map(str, (*map(read_stored, payloads), *map(repr, map(unpack, payloads)))))
    sealed = [each for payload in payloads for each in unpack(payload).finer]
    assert sorted({each.share for each in sealed}) == [10, 20, 50, 100]
    told = {value for reply in replies[:-1] for value in reply.values}
    hidden = {value for each in sealed for value in np.frombuffer(each.numbers).tolist()} - told
    assert len(hidden) > 10
    assert [value for value in hidden if repr(value) in shown or f"{value:.17g}" in shown] == []
    assert any(repr(value) in shown for value in told)
    assert "made finer from 5 %" in shown
    assert "made finer" in sheet.asked[TERMS.digest()]


def test_two_stored_answers_alike_have_different_hashes():
    """Without a random word, whoever knows a hash could try sealed values until one fits."""
    part = PROMISE.part("gradient", 10)
    release = describe("q", part.calibration, part.sensitivity)
    finer = [(PROMISE.part("gradient", 20), np.zeros(4))]
    one, other = (Payload.of(np.zeros(4), part, release, finer) for _ in range(2))
    assert one != other
    assert msgspec.structs.replace(one, blind="") == msgspec.structs.replace(other, blind="")


STEPS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from((0, *SHARES)), st.sampled_from(SHARES)), max_size=14)


@settings(max_examples=40, deadline=None)
@given(STEPS, st.booleans())
def test_whatever_is_asked_the_finest_level_told_was_paid_for(steps, two_owners):
    """Two processes over one ledger, any order of questions: what is told of a model at most costs what was charged."""
    book = MemoryLedger(begin("east", "records", study.GUARANTEE))
    owners = [owner_of(book), owner_of(book)]
    told, charged = {}, {}
    for number, (place, before, level) in enumerate(steps):
        theta, spent = (place / 4, 0.0, 0.0, 0.0), book.state().spent
        owner = owners[number % 2 if two_owners else 0]
        reply = owner.answer(ask(f"q{number}", level - before, before, theta))
        paid = book.state().spent - spent
        assert (paid > 0) == isinstance(reply, Answer)
        if isinstance(reply, Answer):
            told[place] = max(told.get(place, 0), level)
            charged[place] = charged.get(place, 0) + paid
            assert charged[place] >= price(told[place])
    assert book.state().spent <= PROMISE.calibration.budget.nano


def test_what_some_blocks_have_paid_for_is_no_answer_about_others(tmp_path):
    """A study that is approved for other blocks neither refines nor repeats what was charged to the former ones."""
    with closing(SqliteLedger.create(tmp_path / "ledger.sqlite", begin("east", "records", study.GUARANTEE))) as ledger:
        opened = ledger.state().dataset
        for name, dataset in (("first", opened), ("second", "e" * 64)):
            ledger.open_block(Block(name, dataset, f"/{name}", 10, "me"))
        _approve(ledger, "first")
        assert isinstance(owner_of(ledger).answer(ask("a", 10)), Answer)
        ledger.reserve("lost", owner_of(ledger)._question(ask("lost", 50), np.zeros(4)), *_charge(50))
        _approve(ledger, "second")
        owner = owner_of(ledger)
        assert owner.answer(ask("b", 40, 10)).reason == "unfounded"
        assert owner.answer(ask("lost", 50)).reason == "conflict"
        assert isinstance(owner.answer(ask("c", 10)), Answer)
        assert isinstance(owner.answer(ask("d", 10, 10)), Answer)
        spent = {name: block.spent["epsilon"] for name, block in ledger.state().blocks.items()}
        assert spent == {"first": price(10) + price(50), "second": price(20)}
        _approve(ledger, "first")
        assert isinstance(owner_of(ledger).answer(ask("lost", 50)), Answer)


def _approve(ledger, *blocks):
    ledger.enroll(Enrolled(TERMS.digest(), "study", "learner", "me", blocks=blocks))


def _charge(share):
    part = PROMISE.part("gradient", share)
    return part.calibration.charge, TERMS.digest(), part.allowance
