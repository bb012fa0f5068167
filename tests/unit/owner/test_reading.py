"""A study over blocks has their unit: people are told apart by the column that their accounts were opened by."""

from types import SimpleNamespace

import msgspec
import numpy as np
import polars as pl
import pytest

from copriv.audit.subject import Claim, make_terms
from copriv.errors import BadInput
from copriv.losses.sample import Sample
from copriv.owner import joining as module
from copriv.owner.arrival import Arrival, append_block
from copriv.owner.dataset_ledger import Word
from copriv.owner.holding_back import hold_back
from copriv.owner.joining import settle_joining
from copriv.owner.reading import Reading, units_by_block
from copriv.owner.registry import Registry
from copriv.privacy.guarantee import Guarantee

PROMISE, ROWS = Guarantee.of("1"), 40


def _terms(person=""):
    of_people = {"unit": "person", "person": person, "rows_cap": 3, "weigh": "person"} if person else {}
    claim = Claim(PROMISE, answers=1, clip=1.0, records=ROWS, parameters=2)
    return msgspec.structs.replace(make_terms(claim), **of_people)


def _write(path, start):
    """Forty visits of twenty patients; no two rows are alike."""
    rows = range(start, start + ROWS)
    visits, patients = [f"v{row}" for row in rows], [f"p{row // 2}" for row in rows]
    pl.DataFrame({"visit": visits, "patient": patients, "x": [0.5 * row for row in rows]}).write_parquet(path)
    return path


@pytest.fixture
def join(tmp_path):
    """Asks to join a study with records in two blocks, by patient or, as they come, by row; nothing is charged yet."""

    def ask(column, terms, only=()):
        first, ledger = _write(tmp_path / "first.parquet", 0), tmp_path / "clinic.sqlite"
        with Registry() as registry:
            settle_joining(registry, registry.lookup(first), Word("me"), None, ledger).take("clinic", PROMISE, "pld")
            march = Arrival(name="march", data=_write(tmp_path / "march.parquet", 400), person=column, by="me")
            append_block(registry, ledger, march)
            joining = settle_joining(registry, registry.lookup(first), Word("me"), None, ledger)
        return joining.choose_reading(PROMISE, "pld", terms, only)

    ask.ledger = tmp_path / "clinic.sqlite"
    return ask


WRONG = [("patient", "visit"), ("patient", ""), ("", "patient")]


@pytest.mark.parametrize(("column", "asked"), WRONG)
def test_a_study_by_another_column_than_that_of_the_blocks_is_refused(join, column, asked):
    with pytest.raises(BadInput, match="the blocks of these records count"):
        join(column, _terms(asked))


@pytest.mark.parametrize("column", ["patient", ""])
def test_a_study_of_the_unit_of_the_blocks_reads_them(join, column):
    assert join(column, _terms(column)).blocks == ("first", "march")


def test_a_check_of_the_unit_alone_lets_visits_pass_for_patients(join, monkeypatch):
    """The twin: both studies are about people, and the blocks have an account for a patient, not for every visit."""

    def unit_alone(state, terms):
        by_person = any(block.arrival.person for block in state.blocks.values())
        if by_person != (terms.unit == "person"):
            raise BadInput("the blocks of these records count otherwise", remedy="none")

    monkeypatch.setattr(module, "require_unit", unit_alone)
    assert join("patient", _terms("visit")).blocks == ("first", "march")


def test_records_that_validate_in_one_study_train_in_no_other(join):
    """With a random key all or none of a block are held back once in 10¹² times."""
    terms = SimpleNamespace(held_back=0.5)
    some = join("", _terms(), ["march"])
    every = Reading(("first", "march"), "march")
    assert units_by_block(join.ledger, every) == {"first": ROWS, "march": ROWS}
    assert units_by_block(join.ledger, None) == {}
    rows = np.column_stack([np.arange(2.0 * ROWS), np.ones(2 * ROWS)])
    both, march = (
        set(hold_back(Sample.of_rows(rows[start:], rows[start:, 1]), terms, join.ledger, reading)[1].columns[0])
        for start, reading in ((0, every), (ROWS, some))
    )
    assert march == {number for number in both if number >= ROWS}
