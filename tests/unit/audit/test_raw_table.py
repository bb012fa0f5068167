"""The other kinds of files: nothing but noise tells a file from its neighbour, and a reader that guesses is caught."""

from dataclasses import replace

import polars as pl
import pytest

from copriv.api.audited_owner import audited_house
from copriv.audit import odd_records
from copriv.audit.hostile_studies import PLAIN
from copriv.audit.raw_table import FEW, MORE_FORMATS, USUAL, Odd, write_table
from copriv.audit.whole_reply import Case, compare_all
from copriv.records import block_files
from copriv.records.table import open_table

HOUSE = audited_house()
CSV_LINES = tuple(odd for odd in odd_records.LINES if odd.name in {"an empty line", "too many cells", "a comment"})
QUOTES = tuple(odd for odd in odd_records.LINES if not odd.fits)[:2]
JSON_LINES = (
    Odd("no object", line=b"7"),
    Odd("broken off", line=b'{"age": 3, "ci'),
    Odd("an empty line", line=b""),
    Odd("bytes that are no text", line=b'{"age": 3, "city": "\xff\xfe", "stay": 2}'),
    Odd("half a letter", line=rb'{"age": 3, "city": "\ud800", "stay": 2}'),
    Odd("names of its own", line=b'{"*": 1, "^a.*$": 2, "age": [1], "stay": {"a": 2}}'),
    Odd("an open quote", line=b'{"city": "Oslo'),
    Odd("deep", line=b"[" * 100_000),
)


def _odds(suffix):
    if suffix == "feather":
        return odd_records.SHARP
    return (*odd_records.SHARP, *(JSON_LINES if suffix.startswith("jsonl") else (*CSV_LINES, *QUOTES)))


@pytest.mark.parametrize("suffix", MORE_FORMATS)
def test_no_record_shows_in_any_kind_of_file(suffix):
    for odd, seen in compare_all(HOUSE, Case(PLAIN, suffix, _odds(suffix))):
        assert seen.where is None, odd.name


@pytest.mark.parametrize("suffix", ["tsv", "csv.gz", "utf16.csv", "feather", "jsonl"])
def test_every_kind_of_file_holds_the_same_records(tmp_path, suffix):
    (tmp_path / "usual.csv").write_bytes(write_table("csv", USUAL, 0, columns=FEW))
    (tmp_path / f"same.{suffix}").write_bytes(write_table(suffix, USUAL, 0, columns=FEW))
    found = open_table(tmp_path / f"same.{suffix}", names=FEW).collect().cast(pl.String)
    assert found.equals(open_table(tmp_path / "usual.csv").collect())


def test_a_reader_that_leaves_out_broken_lines_is_caught(monkeypatch):
    def lenient(path, form, **options):
        table = open_table(path, form, **options)
        return (table.filter(pl.any_horizontal(pl.all().is_not_null())),)

    monkeypatch.setattr(block_files, "open_tables", lenient)
    told = compare_all(replace(HOUSE), Case(PLAIN, "jsonl", JSON_LINES[:2]))
    assert all(seen.where is not None for _, seen in told)
