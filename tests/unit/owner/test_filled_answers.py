"""An owner fills gradients with second moments: as many numbers as are paid for, finer for the difference, once."""

from contextlib import closing

import msgspec
import numpy as np
import pytest
from tests import menu_study as study

from copriv.errors import BadInput
from copriv.losses.filled import filled_count
from copriv.losses.moments import unpack_second_moments
from copriv.losses.people import Whose
from copriv.owner.ledger_opening import begin
from copriv.owner.memory_ledger import MemoryLedger
from copriv.owner.owner import Owner
from copriv.owner.payload import unpack
from copriv.owner.responder import PrivateResponder
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.messages import Answer, Query
from copriv.protocol.wire import encode
from copriv.runtime.simulated_responder import SilentResponder

SHARES = (10, 20, 50, 100)
PLAIN = msgspec.structs.replace(study.TERMS, shares=SHARES)
TERMS = msgspec.structs.replace(PLAIN, fill=0.1)
PROMISE = study.commitment_of(0, TERMS)
ZERO, ELSEWHERE = (0.0,) * 4, (0.25, 0.0, 0.0, -0.25)
NUMBERS = filled_count(4)


def ask(name, share, before=0, theta=ZERO, terms=TERMS):
    return Query(name, terms.digest(), "east", theta, None, "gradient", share, before)


def price(share):
    return PROMISE.part("gradient", share).calibration.charge.nano


def owner_of(ledger, responder=PrivateResponder, promise=PROMISE, terms=TERMS):
    return Owner("east", terms, promise, responder(study.sample_of(0), promise), ledger)


@pytest.fixture
def ledger():
    return MemoryLedger(begin("east", "records", study.GUARANTEE))


@pytest.fixture
def path(tmp_path):
    SqliteLedger.create(tmp_path / "ledger.sqlite", begin("east", "records", study.GUARANTEE)).close()
    return tmp_path / "ledger.sqlite"


@pytest.mark.parametrize("guarantee", [Guarantee.of(1), Guarantee.of(1, 1e-6)])
def test_a_filled_gradient_has_all_its_numbers_at_the_price_of_a_gradient(guarantee):
    spent = {}
    for terms in (PLAIN, TERMS):
        promise = study.commitment_of(0, terms, guarantee)
        book = MemoryLedger(begin("east", "records", guarantee))
        told = owner_of(book, promise=promise, terms=terms).answer(ask("a", 20, terms=terms))
        assert len(told.values) == (NUMBERS if terms.fill else 4)
        spent[terms.fill] = book.state().spent_by(terms.digest())
    assert spent[0.1] == pytest.approx(spent[0.0], rel=1e-7)


def test_without_noise_it_is_the_exact_answer(ledger):
    """Of a simulated owner that adds none: the second moments are those of rows, each weighted within its room."""
    told = owner_of(ledger, SilentResponder).answer(ask("a", 20, theta=ELSEWHERE)).values
    assert told == tuple(PROMISE.part("gradient", 20).exact(study.sample_of(0), np.array(ELSEWHERE)).tolist())
    matrix = unpack_second_moments(np.array(told[4:]), 4, PROMISE.norm)
    assert 0 < np.linalg.eigvalsh(matrix)[0] <= np.trace(matrix) < 0.1


@pytest.mark.parametrize("guarantee", [Guarantee.of(1), Guarantee.of(1, 1e-6)])
def test_every_number_has_the_noise_of_its_part(guarantee):
    """Fresh owners. One with half the noise behind the gradient, or none, is seen: 6 deviations either way."""
    promise, told = study.commitment_of(0, TERMS, guarantee), []
    part = promise.part("gradient", 100)
    exact = part.exact(study.sample_of(0), np.zeros(4))
    for _ in range(400):
        book = MemoryLedger(begin("east", "records", guarantee))
        told.append(owner_of(book, promise=promise).answer(ask("a", 100)).values)

    def holds(told):
        noise = (np.array(told) - exact) / part.calibration.mechanism.noise_std
        means, squares = noise.mean(axis=0), np.mean(noise**2, axis=0)
        return np.all(np.abs(means) < 6 / 400**0.5) and np.all(np.abs(squares - 1) < 6 * (5 / 400) ** 0.5)

    assert holds(told)
    bare = np.array(told)
    bare[:, 4:] = exact[4:]
    assert not holds(bare)
    assert not holds(exact + (np.array(told) - exact) * np.where(np.arange(NUMBERS) < 4, 1.0, 0.5))


def test_steps_cost_the_difference_and_all_numbers_are_made_finer(ledger):
    owner = owner_of(ledger)
    told = [owner.answer(ask(f"q{level}", level - before, before)) for before, level in ((0, 10), (10, 50), (50, 100))]
    assert [answer.release.nano for answer in told] == [price(10), price(50) - price(10), price(100) - price(50)]
    assert ledger.state().spent == price(100)
    assert [len(answer.values) for answer in told] == [NUMBERS] * 3
    sealed = [unpack(ledger.stored_answer(key)).finer for key in ledger.state().answers]
    assert [[(each.share, len(each.numbers)) for each in levels] for levels in sealed] == [
        [(100, 8 * NUMBERS), (50, 8 * NUMBERS), (20, 8 * NUMBERS)],
        [(100, 8 * NUMBERS)],
        [],
    ]


def test_levels_of_second_moments_are_one_draw():
    """Noise that was drawn anew for the finer level would never be the same; in a stack some increments are 0."""
    first, last = [], []
    for _ in range(60):
        owner = owner_of(MemoryLedger(begin("east", "records", study.GUARANTEE)))
        first.append(owner.answer(ask("a", 50)).values)
        last.append(owner.answer(ask("b", 50, 50)).values)
    same = np.mean(np.array(first) == np.array(last), axis=0)
    # An increment is 0 with probability (1/2)².
    assert np.all((same > 0) & (same < 0.7))
    assert 0.15 < same[4:].mean() < 0.35


def test_the_same_question_gets_the_same_bytes_and_is_paid_for_once(ledger):
    owner = owner_of(ledger)
    told = owner.handle(encode(ask("a", 10)))
    finer = owner.handle(encode(ask("b", 10, 10)))
    assert (owner.handle(encode(ask("a", 10))), owner.handle(encode(ask("b", 10, 10)))) == (told, finer)
    assert ledger.state().spent == price(20)
    assert owner.answer(ask("a", 10, theta=ELSEWHERE)).reason == "conflict"


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
    with closing(SqliteLedger(path)) as ledger:
        assert owner_of(ledger).answer(ask("b", 40, 10)) == finer
        assert owner_of(ledger).answer(ask("c", 50, 50, ELSEWHERE)).reason == "unfounded"
        assert ledger.state().spent == price(50)


@pytest.mark.parametrize(("share", "before"), [(0, 0), (21, 0), (-10, 0), (5, 10), (90, 15), (100, 10), (110, 0)])
def test_shares_that_are_not_on_the_menu_are_refused_in_the_words_of_before(share, before):
    refusals = []
    for terms in (PLAIN, TERMS):
        book = MemoryLedger(begin("east", "records", study.GUARANTEE))
        owner = owner_of(book, promise=study.commitment_of(0, terms), terms=terms)
        refusals.append(owner.answer(ask("a", share, before, terms=terms)))
        assert book.state().spent == 0
    assert refusals[0] == refusals[1]
    assert refusals[0].reason == "terms"


def test_shares_are_answered_until_they_add_up_to_the_whole(ledger):
    owner = owner_of(ledger)
    assert isinstance(owner.answer(ask("a", 50)), Answer)
    assert isinstance(owner.answer(ask("b", 50, theta=ELSEWHERE)), Answer)
    assert owner.answer(ask("c", 10, theta=(1.0,) * 4)).reason == "exhausted"
    assert owner.answer(ask("d", 50, 50)).reason == "exhausted"
    assert ledger.state().spent <= study.GUARANTEE.nano_epsilon


def test_terms_with_another_fill_are_other_terms(ledger):
    """What was told under one fill founds nothing under another."""
    owner_of(ledger).answer(ask("a", 10))
    other = msgspec.structs.replace(TERMS, fill=0.2)
    assert owner_of(ledger).answer(ask("b", 10, terms=other)).reason == "terms"
    owner = owner_of(ledger, promise=study.commitment_of(0, other), terms=other)
    assert owner.answer(ask("b", 10, 10, terms=other)).reason == "unfounded"


def test_an_owner_of_people_is_not_made():
    people = study.sample_of(0).grouped(Whose(np.arange(study.SIZES[0]) // 2, 2, "person"))
    with pytest.raises(BadInput, match="grouped by person"):
        PrivateResponder(people, PROMISE)
