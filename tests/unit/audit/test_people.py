"""The audit of people: a correct owner passes, and one that clips rows, or tells their number, is caught."""

from dataclasses import dataclass, fields, replace

import numpy as np
import pytest

from copriv.api.audited_owner import audited_house
from copriv.audit import hostile_studies, odd_records
from copriv.audit.claim import Claim
from copriv.audit.examination import Effort, examine
from copriv.audit.people import as_people
from copriv.audit.reference import reference_answer
from copriv.audit.subject import build_subject, honest_promise
from copriv.audit.transcript import draw_records
from copriv.audit.whole_reply import Case, audit_whole_reply, compare_all, corpus_of_people
from copriv.errors import BadInput
from copriv.losses.passes import clipped_average_gradient
from copriv.losses.sample import Sample
from copriv.owner import workspace
from copriv.privacy.guarantee import Guarantee
from copriv.protocol import commitment
from copriv.protocol.commitment import Commitment
from copriv.vectors import Norm

HOUSE = audited_house()
PEOPLE = hostile_studies.PEOPLE[0]
# A correct owner fails each test by chance at most once in a million runs.
QUICK = Effort(draws=600, level=1e-6, confidence=0.999)


def claim_of(rows=5, asks="gradient", delta=0.0):
    answers = 20 if asks == "gradient" else 1
    return Claim(Guarantee.of(1, delta), answers, clip=1.0, records=40, parameters=3, asks=asks, rows=rows)


def by_row(loss, records, theta, clip, norm):
    """Rows are clipped one by one, and their sum is divided by the number of people."""
    flat = Sample(records.columns, records.targets)
    return clipped_average_gradient(loss, flat, theta, clip, norm) * flat.records / records.records


@dataclass(frozen=True, slots=True)
class ByRow(Commitment):
    """An owner that groups rows and forgets to clip the group."""

    def exact_answer(self, records, theta):
        return by_row(self.objective.loss, records, theta, self.clip, self.norm)


def clips_by_row(claim):
    honest = honest_promise(claim)
    return build_subject(claim, ByRow(**{each.name: getattr(honest, each.name) for each in fields(honest)}))


@pytest.mark.parametrize(("asks", "delta"), [("gradient", 0.0), ("moments", 1e-6)])
def test_an_owner_that_clips_people_passes(asks, delta):
    verdicts = examine(claim_of(asks=asks, delta=delta), QUICK, np.random.default_rng(3))
    assert [verdict.name for verdict in verdicts if not verdict.passed] == []


def test_an_owner_that_clips_rows_is_caught():
    verdicts = {each.name: each for each in examine(claim_of(), QUICK, np.random.default_rng(3), clips_by_row)}
    assert not verdicts["neighbours"].passed
    assert verdicts["neighbours"].certified > 3
    # With one row a person there is nothing to tell apart.
    same = examine(claim_of(rows=1), QUICK, np.random.default_rng(3), clips_by_row)
    assert all(verdict.passed for verdict in same)


def test_a_person_has_the_gradient_of_its_record():
    claim = claim_of()
    records = draw_records(claim, np.random.default_rng(1))
    people, theta = as_people(claim, records), np.full(3, 0.4)
    exact = honest_promise(claim).exact_answer(people, theta)
    assert np.allclose(exact, reference_answer(records, theta, claim.clip, Norm.L1), atol=1e-14)
    assert people.rows > people.records == records.records
    with pytest.raises(BadInput, match="not grouped"):
        honest_promise(claim).require_bounded(records)
    with pytest.raises(BadInput, match="grouped by person"):
        honest_promise(replace(claim, rows=0)).require_bounded(people)


def test_a_person_with_no_rows_is_none():
    with pytest.raises(BadInput, match="rows"):
        claim_of(rows=-1)


def told(house, study=PEOPLE, odds=odd_records.PEOPLE[:3]):
    """Where files in which a whole person is swapped are told apart."""
    return [seen.where for _, seen in compare_all(house, Case(study, "csv", odds))]


def test_nothing_but_noise_tells_files_apart_in_which_a_whole_person_is_swapped(of_menus):
    cases = [replace(case, odds=case.odds[::6] if len(case.odds) > 9 else case.odds) for case in corpus_of_people()]
    verdict = audit_whole_reply(HOUSE, cases)
    assert verdict.passed, verdict.words
    for study in hostile_studies.PEOPLE_WITH_MENUS:
        assert of_menus[study.name].kinds >= {"gradient", "second_moments", "positives"}
        assert 1 - 1e-6 < of_menus[study.name].moved <= 1


def test_an_owner_that_tells_the_number_of_rows_is_caught(monkeypatch):
    rows = []
    read = workspace.read_records

    def count(*arguments):
        found = read(*arguments)
        rows.append(found.records.rows)
        return found

    def hello(enrollment, terms, records, instance, ledger):
        return HOUSE.hello(enrollment, terms, rows[-1], instance, ledger)

    monkeypatch.setattr(workspace, "read_records", count)
    assert told(replace(HOUSE, hello=hello)) == ["hello 1: records"] * 3


def test_an_owner_that_does_not_group_its_rows_answers_nothing(monkeypatch):
    read = workspace.open_owner_records
    monkeypatch.setattr(workspace, "open_owner_records", lambda *a, **named: read(*a, **(named | {"person": None})))
    assert all("honest study ends early" in where for where in told(HOUSE))


def test_a_reply_of_an_owner_that_clips_rows_is_caught(monkeypatch):
    monkeypatch.setattr(commitment, "clipped_average_gradient", by_row)
    assert told(HOUSE)[1] == "an exact answer moves further than declared"


@pytest.mark.parametrize("name", ["nobody", "*", "^.*$"])
def test_a_column_of_people_that_is_none_is_refused_whoever_is_in_the_table(name):
    study = replace(PEOPLE, changes={**PEOPLE.changes, ("privacy", "person"): name}, honest=False)
    assert told(HOUSE, study) == [None] * 3
