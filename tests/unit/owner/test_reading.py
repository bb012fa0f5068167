"""A study over blocks has their unit: people are told apart by the column that their accounts were opened by."""

import msgspec
import polars as pl
import pytest

from copriv.audit.subject import Claim, make_terms
from copriv.errors import BadInput
from copriv.owner import joining as module
from copriv.owner.arrival import Arrival, append_block
from copriv.owner.dataset_ledger import Word
from copriv.owner.joining import settle_joining
from copriv.owner.registry import Registry
from copriv.privacy.guarantee import Guarantee

PROMISE = Guarantee.of("1")


def _terms(person=""):
    of_people = {"unit": "person", "person": person, "rows_cap": 3, "weigh": "person"} if person else {}
    claim = Claim(PROMISE, answers=1, clip=1.0, records=4, parameters=2)
    return msgspec.structs.replace(make_terms(claim), **of_people)


def _write(path, start):
    """Four visits of two patients; no two rows are alike."""
    rows = range(start, start + 4)
    visits, patients = [f"v{row}" for row in rows], [f"p{row // 2}" for row in rows]
    pl.DataFrame({"visit": visits, "patient": patients, "x": [0.5 * row for row in rows]}).write_parquet(path)
    return path


@pytest.fixture
def join(tmp_path):
    """Asks to join a study with records in two blocks, by patient or, as they come, by row; nothing is charged yet."""

    def ask(column, terms):
        first, ledger = _write(tmp_path / "first.parquet", 0), tmp_path / "clinic.sqlite"
        with Registry() as registry:
            settle_joining(registry, registry.lookup(first), Word("me"), None, ledger).take("clinic", PROMISE, "pld")
            march = Arrival(name="march", data=_write(tmp_path / "march.parquet", 40), person=column, by="me")
            append_block(registry, ledger, march)
            joining = settle_joining(registry, registry.lookup(first), Word("me"), None, ledger)
        return joining.choose_reading(PROMISE, "pld", terms)

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
