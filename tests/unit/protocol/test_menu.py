"""A menu of shares and kinds: in the terms, in what an owner promises, and at the owner."""

import itertools
import math

import msgspec
import numpy as np
import pytest
from tests import menu_study as study
from tests.choosing_rule import KINDS, LOOK, REST, SHARES, SQUARES

from copriv.errors import BadGuarantee, BadInput
from copriv.losses.moments import pack_second_moments
from copriv.privacy.calibration import spent_epsilon
from copriv.privacy.guarantee import Amount, Guarantee
from copriv.protocol.commitment import expect_noise
from copriv.protocol.menu import MENU_KINDS, MOST_SHARES, MOST_SQUARED
from copriv.protocol.messages import Answer, Query
from copriv.protocol.plain_terms import plain_terms
from copriv.protocol.study_file import StudyFile, read_study, write_study
from copriv.protocol.wire import largest_reply
from copriv.rules.rule import Ask
from copriv.rules.setting import NoiseModel
from copriv.transport.broker import MOST_PENDING

TERMS = study.TERMS
GUARANTEES = [(Guarantee.of(1), "pure"), (Guarantee.of(1, 1e-6), "pld"), (Guarantee.of("0.3", 1e-6), "zcdp")]
ZERO = (0.0,) * TERMS.parameters


def test_terms_without_a_menu_have_the_digest_that_they_had():
    assert plain_terms().digest() == "759d3f6b55a9eb7b3230bca6fc2f1f7823d61a95aa41d8c9b7f465b4d05d9abc"
    assert plain_terms(shares=(10,), kinds=("gradient",)).digest() != plain_terms().digest()


def test_a_menu_survives_the_study_file():
    text = write_study(StudyFile(TERMS, study.DICTIONARY))
    assert read_study(text).terms == TERMS
    assert read_study(text).terms.digest() == TERMS.digest()
    with pytest.raises(BadInput, match="shares"):
        read_study(text.replace("    65,\n", '    "65",\n'))


@pytest.mark.parametrize(
    "menu",
    [
        {"shares": (10,)},
        {"kinds": KINDS},
        {"shares": (20, 10), "kinds": KINDS},
        {"shares": (10, 10), "kinds": KINDS},
        {"shares": (0, 10), "kinds": KINDS},
        {"shares": (101,), "kinds": KINDS},
        {"shares": tuple(range(1, MOST_SHARES + 2)), "kinds": KINDS},
        {"shares": (10,), "kinds": ("second_moments",)},
        {"shares": (10,), "kinds": KINDS[::-1]},
        {"shares": (10,), "kinds": ("gradient", "loss")},
        {"shares": (10,), "kinds": KINDS, "rule": "statistics"},
        {"shares": (10,), "kinds": KINDS, "parameters": 1601},
    ],
)
def test_a_menu_that_cannot_be_meant_is_refused(menu):
    with pytest.raises(BadInput, match="menu"):
        plain_terms(**menu)


def _is_accepted(kinds):
    try:
        return plain_terms(shares=SHARES, kinds=kinds).kinds == kinds
    except BadInput:
        return False


def test_kinds_on_a_menu_are_the_first_ones_and_nothing_else():
    """Of all menus of up to four of the kinds that are told of and some that never are on one."""
    words = (*MENU_KINDS, "loss", "moments", "validation", "")
    tried = [kinds for count in range(1, 5) for kinds in itertools.product(words, repeat=count)]
    assert [kinds for kinds in tried if _is_accepted(kinds)] == [MENU_KINDS[:count] for count in (1, 2, 3)]


@pytest.mark.parametrize(
    ("kinds", "digest"),
    [
        (MENU_KINDS[:1], "6dc3725878d1b1a0469225b9f46466830924123871f2a6ffb40f76a301032279"),
        (MENU_KINDS[:2], "ea322ff8ddad4aeab6bd79b6a73f35fafe6ed2251b36c84bf305a94d484e3530"),
    ],
)
def test_terms_without_the_newest_kind_have_the_digest_that_they_had(kinds, digest):
    assert plain_terms(shares=(15, 20, 65), kinds=kinds).digest() == digest
    assert plain_terms(shares=(15, 20, 65), kinds=MENU_KINDS).digest() != digest


@pytest.mark.parametrize("digits", [400, 5000])
def test_an_integer_beyond_all_floats_is_refused_in_words(digits):
    text = write_study(StudyFile(TERMS, study.DICTIONARY))
    with pytest.raises(BadInput, match="study file"):
        read_study(text.replace("horizon = 9\n", f"horizon = {'9' * digits}\n"))


def test_second_moments_on_a_menu_fit_into_a_message():
    """Longer ones would end an owner that has approved them, for want of memory."""
    longest = plain_terms(shares=(10,), kinds=KINDS, parameters=MOST_SQUARED)
    assert 2 * largest_reply(longest.parameters, squares=True) <= MOST_PENDING
    assert plain_terms(shares=(10,), kinds=KINDS[:1], parameters=100_000).kinds == KINDS[:1]


@pytest.mark.parametrize(("guarantee", "accountant"), GUARANTEES)
def test_shares_that_add_up_to_the_whole_cost_no_more_than_was_promised(guarantee, accountant):
    terms = msgspec.structs.replace(TERMS, evaluations=1, evaluation_share=0.3, loss_bound=1.0, delta=guarantee.delta)
    commitment = study.make_commitment(terms, guarantee, records=70, answers=3, accountant=accountant)
    whole = commitment.calibration.budget
    for share in SHARES:
        for kind in KINDS:
            part = commitment.part(kind, share)
            assert part.calibration.charge.nano <= whole.nano * share // 100
            assert part.calibration.charge.nano >= 0.999 * whole.nano * share / 100
            assert part.allowance == whole
    asked = [("positives", LOOK), ("second_moments", SQUARES), ("gradient", REST)]
    spent = sum(commitment.part(*each).calibration.charge.nano for each in asked)
    spent += commitment.part("loss").allowance.nano
    assert spent <= commitment.budget.nano
    assert spent_epsilon(Amount(spent, whole.measure), guarantee, accountant) <= guarantee.epsilon


@pytest.mark.parametrize(("guarantee", "accountant"), GUARANTEES)
def test_the_noise_of_a_share_is_what_a_rule_takes_it_for(guarantee, accountant):
    terms = msgspec.structs.replace(TERMS, delta=guarantee.delta, clip=0.3)
    commitment = study.make_commitment(terms, guarantee, records=70, answers=3, accountant=accountant)
    model, expected = NoiseModel.of([commitment], None), expect_noise(terms, [(70, guarantee, 3)], accountant)
    assert (model.shares, model.kinds) == (SHARES, KINDS)
    assert expected.noise_std == pytest.approx(model.noise_std)
    assert expected.second_moments_std == pytest.approx(model.second_moments_std)
    assert expected.positives_std == pytest.approx(model.positives_std)
    # Each kind has noise of its own, so that none can stand for another.
    assert len({round(std, 3) for std in model.noise_std + model.second_moments_std + model.positives_std}) == 3
    for kind in KINDS:
        for share in SHARES:
            told = commitment.part(kind, share).calibration.mechanism.noise_std
            assert model.std_of(0, Ask(np.zeros(4), kind, share)) == pytest.approx(told)


def test_an_off_diagonal_is_counted_as_its_norm_demands():
    commitment, sample = study.commitment_of(1), study.sample_of(1)
    exact = commitment.part("second_moments", SQUARES).exact(sample, np.ones(4))
    assert np.array_equal(exact, pack_second_moments(sample, commitment.norm))
    assert exact.size == 10
    assert math.isclose(exact[:4].sum(), (sample.columns**2).sum() / sample.records)


def test_a_budget_too_small_for_its_smallest_share_is_refused():
    with pytest.raises(BadGuarantee, match="15 per cent"):
        study.commitment_of(0, guarantee=Guarantee(5))


def ask(number, kind, share, theta=ZERO):
    return Query(f"q{number}", TERMS.digest(), "east", theta, None, kind, share)


def test_an_owner_answers_until_the_shares_add_up_to_the_whole():
    owner, ledger = study.make_owner(0)
    assert [len(owner.answer(ask(*each)).values) for each in [(1, "gradient", LOOK), (2, "second_moments", 15)]] == [
        4,
        10,
    ]
    assert isinstance(owner.answer(ask(3, "gradient", REST, (0.1,) * 4)), Answer)
    assert owner.answer(ask(4, "gradient", SQUARES)).reason == "exhausted"
    assert ledger.state().spent <= study.GUARANTEE.nano_epsilon
    assert set(ledger.state().studies) == {TERMS.digest()}


@pytest.mark.parametrize(
    ("kind", "share", "theta", "reason"),
    [
        ("gradient", 0, ZERO, "terms"),
        ("gradient", 21, ZERO, "terms"),
        ("gradient", -20, ZERO, "terms"),
        ("moments", LOOK, ZERO, "terms"),
        ("loss", LOOK, ZERO, "terms"),
        ("second_moments", SQUARES, (0.1,) * 4, "outside"),
        ("positives", SQUARES, (0.1,) * 4, "outside"),
        ("positives", 0, ZERO, "terms"),
        ("positives", 21, ZERO, "terms"),
    ],
)
def test_what_is_not_on_the_menu_is_refused_for_free(kind, share, theta, reason):
    owner, ledger = study.make_owner(0)
    assert owner.answer(ask(1, kind, share, theta)).reason == reason
    assert ledger.state().spent == 0


@pytest.mark.parametrize("other", [("gradient", REST), ("second_moments", LOOK), ("positives", LOOK)])
def test_kind_and_share_are_part_of_the_question(other):
    owner, ledger = study.make_owner(0)
    first = owner.answer(ask(1, "gradient", LOOK))
    spent = ledger.state().spent
    assert owner.answer(ask(1, *other)).reason == "conflict"
    assert owner.answer(ask(1, "gradient", LOOK)) == first
    assert ledger.state().spent == spent


def test_terms_without_a_menu_know_no_shares():
    terms = plain_terms(answers=3)
    owner, ledger = study.make_owner(0, terms)
    query = Query("q1", terms.digest(), "east", ZERO, None, "gradient", LOOK)
    assert owner.answer(query).reason == "terms"
    assert isinstance(owner.answer(msgspec.structs.replace(query, share=0)), Answer)
    assert ledger.state().spent > 0
