"""Gradients filled with second moments: a correct owner passes, and each broken twin is caught.

Searches are seeded, and there is no chance in them. `test_filled_noise` has the noise.
"""

from dataclasses import replace
from functools import partial
from itertools import combinations, islice

import numpy as np
import pytest

from copriv.api.audit import audit
from copriv.api.audited_owner import audited_house
from copriv.audit import errands, odd_records
from copriv.audit.claim import Claim
from copriv.audit.filled_adversary import propose
from copriv.audit.hostile_studies import FILLED, FILLED_BESIDE, FILLS
from copriv.audit.house import live
from copriv.audit.menu import honest_menu
from copriv.audit.neighbours import audit_neighbours, change
from copriv.audit.raw_table import USUAL, write_table
from copriv.audit.reference import reference_answer, reference_filled
from copriv.audit.subject import build_subject, honest_promise
from copriv.audit.transcript import draw_records
from copriv.audit.whole_reply import compare_all, corpus, corpus_of_people
from copriv.errors import BadInput
from copriv.privacy.guarantee import Guarantee
from copriv.privacy.sensitivity import Sensitivity, of_filled_gradient
from copriv.protocol import commitment
from copriv.vectors import Norm

HOUSE = audited_house()
PARAMETERS, TRIES = 4, 300
TOO_FAR = "an exact answer moves further than declared"
BOTH = pytest.mark.parametrize("delta", [0.0, 1e-6])


def claim_of(delta=0.0, parameters=PARAMETERS, fill=0.4, share=100):
    return Claim(Guarantee.of(1, delta), 1, clip=1.0, records=40, parameters=parameters, share=share, fill=fill)


# --- what a record tells -------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("fill", [1e-3, 0.1, 0.4, 1e6])
def test_the_reference_agrees_with_the_owner(delta, fill, generator):
    claim = claim_of(delta, fill=fill)
    sample, theta = draw_records(claim, generator), generator.uniform(-1, 1, size=PARAMETERS)
    expected = reference_filled(sample, theta, (claim.clip, fill), claim.norm)
    assert expected.size == claim.numbers == PARAMETERS * (PARAMETERS + 3) // 2
    assert honest_promise(claim).part("gradient", 100).exact(sample, theta) == pytest.approx(expected, abs=1e-12)
    assert expected[:PARAMETERS] == pytest.approx(reference_answer(sample, theta, claim.clip, claim.norm), rel=1e-14)


@BOTH
def test_a_claim_of_filled_gradients_is_one_of_gradients_with_more_numbers(delta):
    filled, alone = claim_of(delta), claim_of(delta, fill=0.0)
    assert (filled.change, filled.needed_scale()) == (alone.change, alone.needed_scale())
    assert (filled.numbers, alone.numbers) == (14, 4)
    for share in (10, 60):
        part = honest_menu(filled).part("gradient", share)
        assert 1 <= part.calibration.mechanism.scale / replace(filled, share=share).needed_scale() < 1.01
    for wrong in ({"fill": -1.0}, {"fill": np.inf}, {"fill": np.nan}, {"rows": 3}):
        with pytest.raises(BadInput):
            replace(filled, **wrong)


# --- neighbours: twins whose records tell too much ------------------------------------------------


def _told(weigh, claim, sample, theta):
    """A filled gradient with other weights, from the lengths of unclipped gradients and of all products."""
    with np.errstate(all="ignore"):
        gradients = 2 * (theta @ sample.columns - sample.targets) * sample.columns
        lengths = np.linalg.norm(gradients, ord=claim.norm.value, axis=0)
        weight = np.sqrt(2) if claim.norm is Norm.L2 else 1.0
        squares = sample.columns**2
        products = [*squares, *(weight * x * z for x, z in combinations(sample.columns, 2))]
        sizes = np.linalg.norm(products, ord=claim.norm.value, axis=0)
        weights = np.nan_to_num(weigh(claim, lengths, sizes, squares), nan=0.0)
        return np.concatenate(
            [reference_answer(sample, theta, claim.clip, claim.norm), (products * weights).mean(axis=1)]
        )


def _fitting(claim, room, sizes):
    return np.minimum(claim.fill, room / sizes)


def _room(claim, lengths):
    kept = np.minimum(claim.clip, lengths)
    return claim.clip - kept if claim.norm is Norm.L1 else np.sqrt((claim.clip - kept) * (claim.clip + kept))


def honest(claim, lengths, sizes, _squares):
    return _fitting(claim, _room(claim, lengths), sizes)


def no_room_needed(claim, lengths, _sizes, _squares):
    return np.full(lengths.shape, claim.fill)


def room_of_unclipped(claim, lengths, sizes, _squares):
    """A gradient beyond the clip leaves less than no room, and nobody minds."""
    left = claim.clip**claim.norm.value - np.minimum(lengths, 1e100) ** claim.norm.value
    return _fitting(claim, np.sign(left) * np.abs(left) ** (1 / claim.norm.value), sizes)


def whole_clip_as_room(claim, _lengths, sizes, _squares):
    return _fitting(claim, claim.clip, sizes)


def sizes_of_squares_alone(claim, lengths, _sizes, squares):
    """What lies above the diagonal is told, and not measured."""
    return _fitting(claim, _room(claim, lengths), np.linalg.norm(squares, ord=claim.norm.value, axis=0))


def room_of_the_other_norm(claim, lengths, sizes, _squares):
    kept = np.minimum(claim.clip, lengths)
    return _fitting(claim, np.sqrt(claim.clip**2 - kept**2), sizes)


def _of_weights(weigh, claim):
    promised = honest_promise(claim)
    menu = tuple(replace(part, exact=partial(_told, weigh, claim)) for part in promised.menu)
    return build_subject(claim, replace(promised, menu=menu))


@BOTH
@pytest.mark.parametrize("parameters", [1, 4, 10])
def test_no_neighbours_are_further_apart_than_declared_and_some_are_as_far(delta, parameters, generator):
    verdict = audit_neighbours(build_subject(claim_of(delta, parameters)), generator, TRIES)
    assert verdict.passed, verdict.words
    assert verdict.statistic > 0.999999 * verdict.threshold
    assert verdict.certified == pytest.approx(1, rel=1e-5)


@pytest.mark.parametrize("fill", [1e-18, 1e-3, 1e6, 1e12])
def test_no_fill_changes_that(fill, generator):
    assert audit_neighbours(build_subject(claim_of(fill=fill)), generator, TRIES).passed


@pytest.mark.parametrize(
    ("weigh", "deltas", "certified"),
    [
        (no_room_needed, (0.0, 1e-6), 1e100),
        (room_of_unclipped, (0.0, 1e-6), 10),
        (whole_clip_as_room, (0.0, 1e-6), 1.05),
        (sizes_of_squares_alone, (0.0, 1e-6), 1.1),
        (room_of_the_other_norm, (0.0,), 1.1),
    ],
)
def test_a_record_that_tells_too_much_is_caught(weigh, deltas, certified):
    """The same code with the right weights passes, so it is the weights that are caught."""
    for delta in deltas:
        verdict = audit_neighbours(_of_weights(weigh, claim_of(delta)), np.random.default_rng(11), TRIES)
        assert not verdict.passed
        assert verdict.certified > certified
        assert audit_neighbours(_of_weights(honest, claim_of(delta)), np.random.default_rng(11), TRIES).passed


@BOTH
def test_a_declared_sensitivity_that_is_a_millionth_too_small_is_caught(delta, generator):
    promised = honest_promise(claim_of(delta))
    smaller = Sensitivity(promised.sensitivity.value * (1 - 1e-6), promised.sensitivity.norm)
    menu = tuple(replace(part, sensitivity=smaller) for part in promised.menu)
    subject = build_subject(claim_of(delta), replace(promised, menu=menu))
    assert not audit_neighbours(subject, generator, TRIES).passed


def test_in_l1_second_moments_alone_move_the_answer_as_far_as_a_gradient_does(generator):
    subject = build_subject(claim_of(fill=1.0))
    found = [found for found in islice(propose(subject.claim, generator), 400) if change(subject, found)]
    still = [found for found in found if _gradients_alike(subject, found)]
    assert max(change(subject, found) for found in still) > 0.99 * subject.part.sensitivity.value


def _gradients_alike(subject, found):
    first, second = (subject.part.exact(table, found.theta)[:PARAMETERS] for table in found.tables())
    return np.abs(second - first).sum() < 1e-12


# --- the whole reply -------------------------------------------------------------------------------


def failing(cases):
    """Which records are told apart by an exact answer, and nothing but that is wrong."""
    found = [(odd.name, seen.where) for case in cases for odd, seen in compare_all(HOUSE, case)]
    assert {where for _, where in found} <= {None, TOO_FAR}
    return [name for name, where in found if where == TOO_FAR]


def _case_of(study):
    return [case for case in corpus() if case.study is study and case.odds[:-1] == odd_records.ROOMS[1:]]


def test_the_corpus_has_filled_gradients_in_every_way_of_reading():
    of_filled = [case for case in corpus() if case.study in FILLED]
    assert {case.thorough for case in of_filled} == {True, False}
    assert {case.batch_rows > 0 for case in of_filled} == {True, False}
    assert {study.name for study in (*FILLED_BESIDE, *FILLS)} <= {case.study.name for case in corpus()}
    assert not any(case.study in FILLED for case in corpus_of_people())


@pytest.mark.parametrize("study", [*FILLED, *FILLED_BESIDE], ids=lambda study: study.name)
def test_an_owner_that_declares_a_little_too_small_a_change_is_caught(monkeypatch, study):
    """Some record of every study moves the answer as far as it can be moved."""
    assert failing(_case_of(study)) == []

    def too_small(**given):
        declared = of_filled_gradient(**given)
        return Sensitivity(declared.value * 0.99, declared.norm)

    monkeypatch.setattr(commitment, "of_filled_gradient", too_small)
    assert failing(_case_of(study))


@pytest.mark.parametrize("study", FILLED, ids=lambda study: study.name)
@pytest.mark.parametrize("weigh", [no_room_needed, whole_clip_as_room])
def test_a_reply_of_an_owner_that_needs_no_room_is_caught(monkeypatch, study, weigh):
    def replace_by(chosen):
        def told(_loss, records, theta, clip, norm, fill):
            claim = replace(claim_of(1e-6 if norm is Norm.L2 else 0.0, fill=fill), clip=clip)
            return _told(chosen, claim, records, theta)

        monkeypatch.setattr(commitment, "filled_average_gradient", told)
        return failing(_case_of(study))

    assert replace_by(honest) == []
    assert replace_by(weigh)


def test_fills_out_of_range_are_refused_and_others_are_not(tmp_path, monkeypatch):
    data = tmp_path / "records.csv"
    data.write_bytes(write_table("csv", USUAL, 0))
    answered = {"-0", "1e-18", "1e+12", "for long rows", "in the smallest room"}
    for place, study in enumerate((*FILLED, *FILLED_BESIDE, *FILLS)):
        monkeypatch.setenv("COPRIV_REGISTRY", str(tmp_path / f"registry-{place}"))
        life = live(HOUSE, tmp_path / str(place), data, study.text(), errands.brief)
        expected = study.honest or any(study.name.endswith(name) for name in answered)
        assert life.joined == (life.replies != []) == expected, study.name
        assert life.joined or life.said[0].what.startswith("BadInput")


# --- the command -----------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["record", "person"])
def test_the_audit_of_a_menu_has_lines_of_filled_gradients(unit):
    """People's gradients are told alone."""
    told = audit(
        1.0, asks="menu", records=30, parameters=3, answers=20, draws=200, level=1e-6, replies=1, unit=unit, rows=2
    )
    names = [test.name for test in told.tests if test.name.startswith("filled: ")]
    kinds = ("neighbours", "canary of second moments", "noise", "levels", "limits")
    assert names == ([f"filled: {name}" for name in kinds] if unit == "record" else [])
    assert [test.words for test in told.tests if not test.passed] == []


def test_nobody_asks_people_for_filled_gradients():
    people = replace(claim_of(fill=0.0, share=0), rows=3)
    assert honest_menu(people).fill == 0
    with pytest.raises(BadInput, match="fill"):
        build_subject(claim_of(share=0))
