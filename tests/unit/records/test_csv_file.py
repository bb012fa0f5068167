"""CSV: one line is one record, the header decides how it is cut, and no quote swallows its neighbours."""

import gzip

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copriv.errors import BadTable
from copriv.records.csv_file import open_csv
from copriv.records.table import count_rows, open_table

HEADER = b"a,b\n"


def _open(path, content):
    path.write_bytes(content)
    return open_csv(path)


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (HEADER + b"1,2\n3,4\n", [("1", "2"), ("3", "4")]),
        (HEADER + b"1,2\n3,4", [("1", "2"), ("3", "4")]),
        (b'a,b\r\n"1","2"\r\n3,"4"\r\n', [("1", "2"), ("3", "4")]),
        (b'a,b\r\n1,"2"\r', [("1", "2")]),
        (b'\xef\xbb\xbf"a",b\n1,2\n', [("1", "2")]),
        (HEADER + b'"x,y","say ""no"""\n', [("x,y", 'say "no"')]),
        (HEADER + b"1\n\n1,2,3\n", [("1", None), (None, None), ("1", "2")]),
        (HEADER + b"1,2\n\n\n", [("1", "2"), (None, None), (None, None)]),
        (HEADER + b"1\r5,2\n\x00,\xff\xfe\n", [("1\r5", "2"), ("\x00", "\ufffd\ufffd")]),
        (b"a;b\n1,5;2\n", [("1,5", "2")]),
        (b"a\tb\n1,5\t2\n", [("1,5", "2")]),
        (b"a|b\n1|2\n", [("1", "2")]),
        (b'"a;c;d",b\n1,2\n', [("1", "2")]),
        (HEADER, []),
        (b"a,b", []),
    ],
)
def test_every_line_is_a_record(tmp_path, content, rows):
    for name, written in (("table.csv", content), ("table.csv.gz", gzip.compress(content))):
        found = _open(tmp_path / name, written)
        assert found.table.collect().rows() == rows
        assert found.records == count_rows(found.table) == len(rows)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (HEADER + b'1,2\n"3,4\n5,6\n', "line 3: a quoted cell does not end"),
        (HEADER + b'1,2\n"3\n4",5\n', "line 3: a quoted cell does not end"),
        (HEADER + b'1,2\n3,"4', "line 3: a quoted cell does not end"),
        (HEADER + b'1,2\n3"4,5\n', "line 3: a quote stands where none belongs"),
        (HEADER + b'5" x 7",2\n', "line 2: a quote stands where none belongs"),
        (HEADER + b'x","y\n1,2\n', "line 2: a quote stands where none belongs"),
        (HEADER + b'"1"2,3\n', "line 2: a quote stands where none belongs"),
        (b'"a\nb",c\n1,2\n', "line 1: a quoted cell does not end"),
        ("a,b\n1,2\n".encode("utf-16-le"), "UTF-16"),
        (b"a\xe9,b\n1,2\n", "not UTF-8"),
        (b"a,b\r1,2\r3,4\r", "line feed"),
        (b"\na,b\n1,2\n", "no header"),
        (b"", "no header"),
        (b"a,b,a\n1,2,3\n", "'a' more than once"),
    ],
)
def test_what_cannot_be_cut_into_lines_is_refused_with_a_remedy(tmp_path, content, words):
    with pytest.raises(BadTable, match=words) as caught:
        _open(tmp_path / "table.csv", content)
    assert caught.value.remedy
    assert "3,4" not in str(caught.value)  # a line is named by its number, not by what it holds


def test_a_stray_quote_used_to_swallow_its_neighbours(tmp_path):
    """Read as before, two files of four lines have four records and one: that is what is refused now."""
    path = tmp_path / "table.csv"
    sizes = []
    for cell in (b"1", b'"1'):
        path.write_bytes(HEADER + cell + b",2\n3,4\n5,6\n7,8\n")
        sizes.append(count_rows(pl.scan_csv(path, infer_schema=False, truncate_ragged_lines=True)))
    assert sizes[0] == 4 > sizes[1]
    with pytest.raises(BadTable, match="line 2"):
        open_table(path)


@given(
    lines=st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"\r")), max_size=6),
    end=st.sampled_from([b"", b"\n", b"\r\n"]),
)
def test_any_bytes_are_one_record_a_line_or_refused(tmp_path_factory, lines, end):
    path = tmp_path_factory.mktemp("csv") / "table.csv"
    content = HEADER + b"\n".join(lines) + end
    try:
        found = _open(path, content)
    except BadTable:
        assert b'"' in content
        return
    body = content[len(HEADER) :]
    assert (
        found.records == found.table.collect().height == body.count(b"\n") + (not body.endswith(b"\n") and body != b"")
    )


def test_a_long_file_is_read_in_pieces(tmp_path):
    told, path = [], tmp_path / "table.csv"
    path.write_bytes(HEADER + b'"x ""y"", z",2\n' * 400_000)
    assert open_csv(path, tell=lambda done, total: told.append((done, total))).records == 400_000
    assert len(told) > 1
    assert told[-1] == (path.stat().st_size,) * 2


def test_ragged_lines_are_told_of(tmp_path):
    notes = []
    (tmp_path / "table.tsv").write_bytes(b"a\tb\n1\n1\t2\n1\t2\t3\n")
    assert count_rows(open_table(tmp_path / "table.tsv", note=notes.append)) == 3
    assert len(notes) == 1
    assert "2 lines of table.tsv have more or fewer cells than its header" in notes[0]
