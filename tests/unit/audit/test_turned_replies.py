"""Whole replies under studies whose gradients are told along axes: nothing shows a record, and broken twins are caught.

There is no chance in them: records are those of the corpus.
"""

from dataclasses import replace

import numpy as np
import pytest

from copriv.api.audit import audit
from copriv.api.audited_owner import audited_house
from copriv.audit import errands, odd_records
from copriv.audit.claim import Claim
from copriv.audit.hostile_studies import PLAIN
from copriv.audit.house import live
from copriv.audit.menu import honest_menu
from copriv.audit.raw_table import USUAL, write_table
from copriv.audit.reference import reference_answer, reference_filled
from copriv.audit.subject import build_subject
from copriv.audit.turned_studies import AT_THE_ENDS, HOSTILE_AXES, REFUSED_AXES, TURNED, TURNED_BESIDE
from copriv.audit.whole_reply import compare_all, corpus, corpus_of_people
from copriv.errors import BadInput
from copriv.losses.sample import Sample
from copriv.losses.turned import turn
from copriv.owner.workspace import prepare
from copriv.privacy.guarantee import Guarantee
from copriv.privacy.sensitivity import Sensitivity, of_average_gradient, of_filled_gradient
from copriv.protocol import commitment

HOUSE = audited_house()
TOO_FAR = "an exact answer moves further than declared"


def case_of(study):
    """The records that move an answer along axes furthest, in place of a usual one."""
    return next(case for case in corpus() if case.study is study and case.base is odd_records.ROOMS[0])


def failing(case, house=HOUSE):
    """Which records are told apart, and where."""
    return {seen.where for _, seen in compare_all(house, case)} - {None}


# --- what the corpus has -----------------------------------------------------------------------------


def test_the_corpus_has_gradients_along_axes_in_every_way_of_reading():
    of_turned = [case for case in corpus() if case.study in TURNED]
    assert {case.thorough for case in of_turned} == {True, False}
    assert {case.batch_rows > 0 for case in of_turned} == {True, False}
    wanted = {study.name for study in (*TURNED, *TURNED_BESIDE, *HOSTILE_AXES)}
    assert len(wanted) == len(TURNED) + len(TURNED_BESIDE) + len(HOSTILE_AXES)
    assert wanted <= {case.study.name for case in corpus()}
    assert not any(case.study in TURNED for case in corpus_of_people())


def test_axes_out_of_range_are_refused_and_others_are_answered(tmp_path, monkeypatch):
    data = tmp_path / "records.csv"
    data.write_bytes(write_table("csv", USUAL, 0))
    for place, study in enumerate((*TURNED, *TURNED_BESIDE, *HOSTILE_AXES)):
        monkeypatch.setenv("COPRIV_REGISTRY", str(tmp_path / f"registry-{place}"))
        life = live(HOUSE, tmp_path / str(place), data, study.text(), errands.brief)
        assert life.joined == (life.replies != []) == (study not in REFUSED_AXES), study.name
        assert life.joined or life.said[0].what.startswith("BadInput"), study.name
        assert life.joined or "ax" in life.said[0].what or study.name == "axes of moments, a menu", study.name


@pytest.mark.parametrize("study", AT_THE_ENDS[:5], ids=lambda study: study.name)
def test_axes_at_the_ends_of_what_is_allowed_show_no_record(study):
    """As steep as may be: the models there are ten thousand times as long."""
    case = replace(case_of(TURNED[2]), study=study, odds=(*odd_records.ROOMS[1:], *odd_records.SHARP))
    assert failing(case) == set()


# --- twins -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("study", [*TURNED, *TURNED_BESIDE], ids=lambda study: study.name)
def test_an_owner_that_declares_a_little_too_small_a_change_is_caught(monkeypatch, study):
    """Some record of every study moves the answer as far as it can be moved, or nearly so."""
    assert failing(case_of(study)) == set()
    for name, honest in (("of_filled_gradient", of_filled_gradient), ("of_average_gradient", of_average_gradient)):
        monkeypatch.setattr(commitment, name, lambda honest=honest, **given: _shorter(honest(**given)))
    assert failing(case_of(study)) == {TOO_FAR}


def _shorter(declared):
    return Sensitivity(declared.value * 0.96, declared.norm)


def honest(sample, theta, bounds, norm):
    clip, fill, axes = bounds
    if fill:
        return reference_filled(sample, theta, (clip, fill), norm, axes)
    return reference_answer(sample, theta, clip, norm, axes)


def turns_without_a_clip(sample, theta, bounds, norm):
    _, fill, axes = bounds
    return honest(sample, theta, (1e9, fill, axes), norm)


@pytest.mark.parametrize("study", TURNED, ids=lambda study: study.name)
def test_exact_answers_of_an_owner_that_turns_and_does_not_clip_move_too_far(monkeypatch, study):
    """The same code with nothing wrong in it passes."""
    for chosen, expected in ((honest, set()), (turns_without_a_clip, {TOO_FAR})):
        monkeypatch.setattr(commitment, "told_gradient", lambda _loss, *given, chosen=chosen: chosen(*given))
        assert failing(case_of(study)) == expected


@pytest.mark.parametrize("study", TURNED[::2], ids=lambda study: study.name)
def test_an_owner_that_refuses_axes_by_what_its_records_are_is_caught(study):
    """One record is longer there than it allows, and all others are not."""

    def choosy(enrollment, found, *, resources=None):
        prepared = prepare(enrollment, found, resources=resources)
        there = turn(prepared.sample, found.terms.axes).columns
        if found.terms.axes and np.linalg.norm(there, axis=0).max() < 0.7:
            raise BadInput("axes along which all records are short", remedy="give others")
        return prepared

    case = replace(case_of(study), odds=odd_records.ROOMS[1:])
    assert failing(case, replace(HOUSE, prepare=choosy)) == {"join"}
    plain = replace(case, study=PLAIN)
    assert failing(plain, replace(HOUSE, prepare=choosy)) == set()


# --- the command -------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["record", "person"])
def test_the_audit_of_a_menu_has_lines_of_gradients_along_axes(unit):
    """People's gradients are told along the features."""
    told = audit(
        1.0, asks="menu", records=30, parameters=3, answers=20, draws=200, level=1e-6, replies=1, unit=unit, rows=2
    )
    names = [test.name for test in told.tests if test.name.startswith("turned")]
    alone = ("exact answers", "neighbours", "canary along e₁", "noise", "levels", "limits")
    filled = ("exact answers", "neighbours", "canary of second moments", "noise", "levels", "limits")
    expected = [*(f"turned: {name}" for name in alone), *(f"turned and filled: {name}" for name in filled)]
    assert names == (expected if unit == "record" else [])
    assert [test.words for test in told.tests if not test.passed] == []


def test_nobody_asks_people_for_gradients_along_axes():
    axes = ((0.6, 0.0), (0.0, 0.6))
    people = Claim(Guarantee.of(1), 1, clip=1.0, records=30, parameters=2, rows=3)
    assert honest_menu(people).axes == ()
    with pytest.raises(BadInput, match="axes"):
        build_subject(replace(people, rows=0, axes=axes))
    with pytest.raises(BadInput, match="axes"):
        replace(people, axes=axes)


def test_turned_records_are_those_of_the_definition():
    """What twins are built from here agrees with the audit's own way."""
    sample = Sample.of_rows([[1.0, 2.0], [3.0, -4.0]], [0.0, 1.0])
    assert turn(sample, ((0.5, 0.0), (0.5, 0.5))).columns.T.tolist() == [[0.5, 1.5], [1.5, -0.5]]
