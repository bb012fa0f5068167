"""Terms that fill gradients with second moments: what they may say, and what owners promise under them."""

import msgspec
import numpy as np
import pytest
from tests import menu_study as study

from copriv.errors import BadInput
from copriv.losses.filled import filled_average_gradient, filled_count
from copriv.losses.logistic import LogisticLoss
from copriv.losses.sample import Sample
from copriv.privacy.guarantee import Guarantee
from copriv.privacy.release import describe
from copriv.privacy.sensitivity import of_filled_gradient
from copriv.protocol.commitment import expect_noise, make_commitment
from copriv.protocol.menu import MENU_KINDS, MOST_FILLED
from copriv.protocol.messages import Answer
from copriv.protocol.plain_terms import plain_terms
from copriv.protocol.study_file import StudyFile, dictionary_digest, read_study, write_study
from copriv.protocol.wire import encode, largest_reply

MENU = {"shares": (15, 20, 65), "kinds": MENU_KINDS[:2]}
PERSON = {"unit": "person", "person": "patient", "rows_cap": 5, "weigh": "person"}
PLAIN = plain_terms(rule="newton", loss="logistic", **MENU)
FILLED = msgspec.structs.replace(PLAIN, fill=0.05)
NOISES = [(0.0, "pld"), (1e-6, "pld"), (1e-6, "zcdp")]
noises = pytest.mark.parametrize(("delta", "accountant"), NOISES)


def promise(terms=FILLED, delta=0.0, accountant="pld", records=40):
    return make_commitment(terms, Guarantee.of(1, delta), records=records, answers=3, accountant=accountant)


def test_terms_that_fill_nothing_have_the_digest_that_they_had():
    """Of the version before gradients could be filled."""
    before = "ea322ff8ddad4aeab6bd79b6a73f35fafe6ed2251b36c84bf305a94d484e3530"
    assert plain_terms(**MENU).digest() == plain_terms(**MENU, fill=0.0).digest() == before
    assert "fill" not in plain_terms(**MENU).spelled()
    digests = {plain_terms(**MENU, fill=fill).digest() for fill in (0.0, 0.05, 0.051, 1e12)}
    assert len(digests) == 4


@pytest.mark.parametrize("fill", [-1e-9, -1.0, 1.1e12, float("nan"), float("inf")])
def test_a_fill_out_of_its_range_is_refused(fill):
    with pytest.raises(BadInput, match="fill"):
        plain_terms(**MENU, fill=fill)


@pytest.mark.parametrize("without", [{"shares": (), "kinds": ()}, PERSON])
def test_gradients_are_filled_under_a_menu_and_where_a_record_is_a_row(without):
    assert plain_terms(**MENU, fill=0.1).fill == 0.1
    with pytest.raises(BadInput, match="fill gradients of records alone, under a menu"):
        plain_terms(**(MENU | {"fill": 0.1} | without))


def test_long_models_are_not_filled():
    alone = {"shares": (10,), "kinds": MENU_KINDS[:1]}
    assert plain_terms(**alone, parameters=MOST_FILLED, fill=0.1).parameters == MOST_FILLED
    assert plain_terms(**alone, parameters=MOST_FILLED + 1).fill == 0
    with pytest.raises(BadInput, match="models of at most 200 numbers"):
        plain_terms(**alone, parameters=MOST_FILLED + 1, fill=0.1)


def test_an_answer_fits_into_a_message():
    part, p = promise().part("gradient", 20), 40
    values = tuple(np.random.default_rng(1).normal(size=filled_count(p)).tolist())
    answer = Answer("q" * 200, "o" * 200, values, describe("q" * 200, part.calibration, part.sensitivity), "0a" * 32)
    assert len(encode(answer)) <= largest_reply(p, squares=True)


def test_a_fill_survives_the_study_file():
    dictionary = {"columns": []}
    terms = msgspec.structs.replace(FILLED, dictionary=dictionary_digest(dictionary), fill=0.1 + 0.2)
    text = write_study(StudyFile(terms, dictionary))
    assert "fill = 0.30000000000000004\n" in text.split("[privacy]")[1].split("[learning]")[0]
    assert read_study(text).terms == terms
    assert read_study(text).terms.digest() == terms.digest()
    assert read_study(text.replace("fill = 0.30000000000000004\n", "")).terms.fill == 0
    for hostile in ("nan", "-0.1", "1e13", '"0.1"', "true"):
        with pytest.raises(BadInput):
            read_study(text.replace("fill = 0.30000000000000004", f"fill = {hostile}"))


@noises
def test_filled_gradients_cost_what_gradients_do_and_have_their_noise(delta, accountant):
    filled, plain = (promise(terms, delta, accountant) for terms in (FILLED, PLAIN))
    for share in FILLED.shares:
        one, other = (each.part("gradient", share) for each in (filled, plain))
        assert (one.numbers, other.numbers) == (filled_count(4), 4) == (14, 4)
        assert one.calibration.charge.nano == pytest.approx(other.calibration.charge.nano, rel=1e-7, abs=1)
        assert one.calibration.mechanism.scale == pytest.approx(other.calibration.mechanism.scale, rel=1e-7)
        assert one.calibration.mechanism.scale >= other.calibration.mechanism.scale
        assert (one.bound, one.allowance) == (other.bound, other.allowance)
        assert one.sensitivity == of_filled_gradient(clip=one.bound, records=40, parameters=4, norm=filled.norm)
        assert filled.part("second_moments", share) == plain.part("second_moments", share)
    assert (filled.fill, plain.fill, filled.clip, filled.budget) == (0.05, 0.0, plain.clip, plain.budget)
    assert filled.sensitivity == filled.part("gradient", 20).sensitivity


@noises
def test_the_price_is_that_of_all_numbers(delta, accountant):
    """OpenDP's own quote for noise on so many numbers and a change that long; half of the noise would cost more."""
    for share in FILLED.shares:
        part = promise(delta=delta, accountant=accountant).part("gradient", share)
        mechanism = part.calibration.mechanism
        assert mechanism.cost(part.sensitivity, part.numbers).nano <= part.calibration.charge.nano
        half = type(mechanism)(mechanism.scale / 2).cost(part.sensitivity, part.numbers)
        assert half.nano > 1.9 * part.calibration.charge.nano


@noises
def test_shares_that_add_up_to_the_whole_cost_no_more_than_was_promised(delta, accountant):
    commitment = promise(delta=delta, accountant=accountant)
    spent = sum(commitment.part("gradient", share).calibration.charge.nano for share in FILLED.shares)
    assert 0.999 * commitment.budget.nano < spent <= commitment.budget.nano


@noises
def test_what_is_expected_is_what_is_promised(delta, accountant):
    terms = msgspec.structs.replace(FILLED, delta=delta)
    expected = expect_noise(terms, [(40, Guarantee.of(1, delta), 3)], accountant)
    commitment = promise(terms, delta, accountant)
    assert expected.noise_std == pytest.approx((commitment.calibration.mechanism.noise_std,))
    assert expected.clip == commitment.clip


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_exact_answer_is_the_filled_gradient_in_the_owners_norm(delta):
    commitment, sample = promise(delta=delta), study.sample_of(0)
    theta = np.linspace(-1, 1, 4)
    for share in FILLED.shares:
        exact = commitment.part("gradient", share).exact(sample, theta)
        told = filled_average_gradient(LogisticLoss(), sample, theta, commitment.clip, commitment.norm, 0.05)
        assert exact.tobytes() == told.tobytes()
    gradient = promise(PLAIN, delta).part("gradient", 20).exact(sample, theta)
    np.testing.assert_allclose(exact[:4], gradient, rtol=1e-12)


def test_a_filled_gradient_is_made_finer_with_all_its_numbers():
    commitment = promise()
    part = commitment.part("gradient", 45, before=20)
    assert (part.numbers, part.level, part.before) == (14, 65, 20)
    steps = [commitment.part("gradient", 20).calibration.charge.nano, part.calibration.charge.nano]
    assert sum(steps) == commitment.part("gradient", 65).calibration.charge.nano
    assert [level.numbers for level in commitment.levels("gradient", 15)] == [14, 14, 14]


def test_records_outside_of_the_terms_are_refused_before_anything_is_told():
    commitment = promise()
    commitment.require_bounded(study.sample_of(0))
    with pytest.raises(BadInput, match="outside the terms"):
        commitment.require_bounded(Sample.of_rows([[2.0, 0.0, 0.0, 0.0]], [0.5]))
