"""Whole replies of owners that tell their share of positives: one that counts too much is caught by the corpus."""

import numpy as np
import pytest

from copriv.api.audited_owner import audited_house
from copriv.audit.hostile_studies import MENU, PEOPLE_WITH_MENUS, WITH_MENUS
from copriv.audit.odd_records import SIDES_OF_PEOPLE
from copriv.audit.whole_reply import compare_all, corpus, corpus_of_people
from copriv.losses.records import add_up
from copriv.privacy.sensitivity import Sensitivity, of_positives
from copriv.protocol import commitment

HOUSE = audited_house()
TOO_FAR = "an exact answer moves further than declared"
TWO_LEVELS = WITH_MENUS[1]


def _count(work):
    """Numbers of every stretch of records, added up."""
    return lambda records: add_up(records, lambda sample: np.array([work(sample)], dtype=np.float64))


def rows_count_fully(records):
    """A person counts as often as it has rows above 0."""
    return _count(lambda sample: [np.where(sample.targets > 0, 1.0, 0.0).sum()])(records) / records.records


def of_usable_records(records):
    """The share of those that have a target: it says how many these are, and fewer move it further."""
    positive, usable = _count(lambda sample: [(sample.targets > 0).sum(), sample.used.sum()])(records)
    return np.array([positive / max(usable, 1)])


def failing(cases):
    """Which records are told apart by an exact answer, and nothing but that is wrong."""
    found = [(odd.name, seen.where) for case in cases for odd, seen in compare_all(HOUSE, case)]
    assert {where for _, where in found} <= {None, TOO_FAR}
    return [name for name, where in found if where == TOO_FAR]


@pytest.mark.parametrize("study", PEOPLE_WITH_MENUS, ids=lambda study: study.name)
def test_an_owner_that_counts_rows_of_a_person_fully_is_caught(monkeypatch, study):
    cases = [case for case in corpus_of_people() if case.study is study and case.odds is SIDES_OF_PEOPLE]
    assert failing(cases) == []
    monkeypatch.setattr(commitment, "positive_share", rows_count_fully)
    assert "a person of forty rows above the centre" in failing(cases)


def test_an_owner_that_divides_by_records_with_a_target_is_caught(monkeypatch):
    cases = [case for case in corpus() if case.study is TWO_LEVELS]
    assert failing(cases) == []
    monkeypatch.setattr(commitment, "positive_share", of_usable_records)
    assert "target on the centre, or the upper level" in failing(cases)


@pytest.mark.parametrize("study", [MENU, *WITH_MENUS], ids=lambda study: study.name)
def test_an_owner_that_declares_a_little_too_small_a_change_is_caught(monkeypatch, study):
    """Some record of every study moves the share as far as it can be moved."""
    cases = [case for case in corpus() if case.study is study][-1:]
    assert failing(cases) == []

    def too_small(**given):
        honest = of_positives(**given)
        return Sensitivity(honest.value * 0.99, honest.norm)

    monkeypatch.setattr(commitment, "of_positives", too_small)
    assert failing(cases)
