"""JSON lines: a line is a record whatever it holds, and its names shape nothing but itself."""

import dataclasses
import gzip
import json

import numpy as np
import pytest

from copriv.errors import BadTable
from copriv.records import json_lines
from copriv.records.file_bytes import open_text
from copriv.records.file_format import parse_format
from copriv.records.json_lines import open_json_lines
from copriv.records.load import LoadSpec, load_consortium
from copriv.records.partition import Partition
from copriv.records.table import count_rows, has_header, open_table
from copriv.records.target import TargetChoice
from copriv.runtime.local_load import Sources, read_records, shuffled_rows
from copriv.runtime.local_request import Loading


def _write(path, *lines):
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def test_every_line_is_a_record_and_every_value_text(tmp_path):
    path = _write(
        tmp_path / "table.jsonl",
        b'{"b": 1.50, "a": "x", "c": 12345678901234567890123}\r',
        b"",
        b"[1, 2]",
        b'{"a": true, "b": null, "c": {"d": 1}}',
        rb'{"a": "\ud83d\ude00", "b": "\ud800", "c": NaN}',
        b'{"a": "\xff", "a": "twice", "b": 1e999}',
        b'{"a": ',
    )
    found = open_json_lines(path)
    assert found.broken == 3
    assert found.table.collect().rows() == [
        ("x", "1.50", "12345678901234567890123"),
        (None, None, None),
        (None, None, None),
        ("true", None, None),
        ("\N{GRINNING FACE}", "\ufffd", "NaN"),
        ("twice", "1e999", None),
        (None, None, None),
    ]


def test_columns_are_those_asked_for_whatever_lines_hold(tmp_path):
    notes = []
    path = _write(tmp_path / "table.ndjson", b'{"b": 1, "z": 2}', b'{"y": 3}')
    table = open_table(path, names=["c", "b"], note=notes.append)
    assert table.collect().columns == ["c", "b"]
    assert table.collect().rows() == [(None, "1"), (None, None)]
    assert notes == ["no line of table.ndjson has 'c': these cells are missing everywhere"]
    assert open_table(path).collect().columns == ["b", "y", "z"]


def test_lines_without_any_column_still_count(tmp_path):
    path = _write(tmp_path / "table.jsonl", b"{}", b"x", b"{}")
    with pytest.raises(BadTable, match="names no column"):
        open_table(path)
    notes = []
    assert count_rows(open_table(path, names=["a"], note=notes.append)) == 3
    assert any("lines of table.jsonl that are no JSON object: 1; each counts" in note for note in notes)
    assert (
        count_rows(open_json_lines(_write(tmp_path / "more.jsonl", *[b"{}"] * 100_001, b'{"a": 1}')).table) == 100_002
    )


def _load(path, records):
    path.write_text("".join(line + "\n" for line in records))
    spec = LoadSpec(TargetChoice("stay"), Partition(owners=2), features=2, public_rows=30)
    return load_consortium(open_table(path), spec)


def test_a_private_record_with_names_of_its_own_changes_no_other(tmp_path):
    """Neither the dictionary nor any other row, to the last bit; columns in the order of lines would."""
    generator = np.random.default_rng(3)
    lines = [
        json.dumps({"wage": wage, "age": age, "stay": age / 9 + wage})
        for wage, age in zip(generator.normal(size=90), generator.uniform(20, 80, 90), strict=True)
    ]
    usual = _load(tmp_path / "usual.jsonl", lines)
    for odd in ('{"zeta": 1, "stay": 3, "age": 4, "aaa": "b", "wage": 5}', "{broken", ""):
        found = _load(tmp_path / "odd.jsonl", [odd, *lines[1:]])
        assert found.dictionary.to_json() == usual.dictionary.to_json()
        for place, (one, other) in enumerate(zip(usual.owners, found.owners, strict=True)):
            kept = slice(1 if place == 0 else 0, None)
            assert one.sample.columns[:, kept].tobytes() == other.sample.columns[:, kept].tobytes()
            assert one.sample.targets[kept].tobytes() == other.sample.targets[kept].tobytes()


_STARTS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")


def _changed_by_first_record(folder, encoding, suffix):
    """The starts of the first record that change how any other record is read, or how many there are."""
    name = "r\xf8d"
    rest = [json.dumps({"color": name, "size": size}, ensure_ascii=False).encode(encoding) for size in range(5)]
    form, changed = parse_format(encoding=encoding), []
    for start in _STARTS:
        for first in (start, start + b"{}", start + b'{"color": "x"}'):
            path, text = folder / f"table{suffix}", b"\n".join([first, *rest]) + b"\n"
            path.write_bytes(gzip.compress(text) if suffix.endswith(".gz") else text)
            try:
                rows = open_table(path, form, names=["color", "size"]).collect().rows()
            except BadTable:
                rows = []
            if len(rows) != 6 or rows[1:] != [(name, str(size)) for size in range(5)]:
                changed.append(first)
    return changed


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson.gz"])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "cp1252"])
def test_the_first_bytes_of_the_first_record_change_no_other(tmp_path, monkeypatch, encoding, suffix):
    """The twin takes them for a byte order mark, as it is right for a file with a header."""
    assert _changed_by_first_record(tmp_path, encoding, suffix) == []
    monkeypatch.setattr(
        json_lines, "open_text", lambda path, encoding, tell, **_: open_text(path, encoding, tell, header=True)
    )
    assert len(_changed_by_first_record(tmp_path, encoding, suffix)) >= 10


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8"])
def test_a_mark_is_no_part_of_the_first_record(tmp_path, encoding):
    written = {"utf-16": "utf-16-le"}.get(encoding, encoding)
    path = tmp_path / "table.jsonl"
    path.write_bytes('\ufeff{"a": "\xf8"}\n{"a": "2"}\n'.encode(written))
    assert open_table(path, parse_format(encoding=encoding)).collect()["a"].to_list() == ["\xf8", "2"]


def test_utf_16_that_nobody_says_is_records_of_nothing(tmp_path):
    path = tmp_path / "table.jsonl"
    path.write_bytes('\ufeff{"a": 1}\n{"a": 2}\n'.encode("utf-16-le"))
    notes = []
    assert open_table(path, names=["a"], note=notes.append).collect()["a"].to_list() == [None] * 3
    assert any("that are no JSON object: 3" in note for note in notes)


def test_a_name_that_only_private_records_have_is_not_told(tmp_path):
    """Told it is where a header names it, or a public row does."""
    lines = [{"wage": k % 7, "age": k % 11, "stay": k % 5} for k in range(90)]
    usual, odd = tmp_path / "usual.jsonl", tmp_path / "odd.jsonl"
    spec = LoadSpec(TargetChoice("stay"), Partition(owners=2), features=2, public_rows=30, header=has_header(odd))
    _write(usual, *(json.dumps(line).encode() for line in lines))
    lines[7] |= {"note_on_jane_roe": "yes"}
    _write(odd, *(json.dumps(line).encode() for line in lines))
    plain, told = load_consortium(open_table(usual), spec), load_consortium(open_table(odd), spec)
    assert told.notices == plain.notices
    assert told.dictionary.to_json() == plain.dictionary.to_json()
    lines[80] |= {"note_on_jane_roe": "yes"}
    _write(odd, *(json.dumps(line).encode() for line in lines))
    named = load_consortium(open_table(odd), spec).notices
    assert [notice for notice in named if "note_on_jane_roe" in notice] == [
        "left out, more than half missing: note_on_jane_roe"
    ]


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson"])
def test_a_training_at_home_does_not_tell_it_either(tmp_path, suffix):
    for shuffle, private in ((False, 7), (True, int(shuffled_rows(400, 1)[0]))):
        lines = [{"wage": k % 7, "age": k % 11, "stay": k % 5} for k in range(400)]
        lines[private] |= {"note_on_jane_roe": "yes"}
        path = _write(tmp_path / f"table{suffix}", *(json.dumps(line).encode() for line in lines))
        loading = Loading(data=path, target="stay", owners=2, features=2, shuffle=shuffle, seed=1)
        found = read_records(loading, Sources(), lambda _event: None)
        assert "note_on_jane_roe" not in repr((found.notices, found.dictionary))


def test_a_target_that_no_public_row_fills_is_refused_as_ever(tmp_path):
    lines = [{"wage": k % 7, "age": k % 11} | ({"stay": k % 5} if k < 60 else {}) for k in range(90)]
    path = _write(tmp_path / "table.jsonl", *(json.dumps(line).encode() for line in lines))
    spec = LoadSpec(TargetChoice("stay"), Partition(owners=2), features=2, public_rows=30)
    problems = []
    for header in (True, False):
        with pytest.raises(BadTable) as caught:
            load_consortium(open_table(path), dataclasses.replace(spec, header=header))
        problems.append(str(caught.value))
    assert problems[0] == problems[1]
