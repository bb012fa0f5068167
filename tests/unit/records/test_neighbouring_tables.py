"""Two files that differ in one record are read alike everywhere else, whatever it is and however it is written.

A twin that guesses from rows how a file is written is caught by the same comparison.
"""

import gzip
from dataclasses import dataclass, field

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copriv.errors import BadTable
from copriv.records.file_format import PLAIN, FileFormat
from copriv.records.table import open_table

NAMES = ("age", "city", "since", "rate")
ROWS = (
    ("31", "Bern", "01.02.2012", "1.234,5"),
    ("1.250,75", "Zürich", "2012-05-31", "3"),
    ("", '"Oslo"', "12.11.2010 08:15", "-0,25"),
    ("44", "Ålesund", "x", "7%"),
    ("5", "", "", "1e3"),
)
PLACE = 2


@dataclass(frozen=True)
class Way:
    """A way of writing a file: from lines of text to bytes, with a name and what its owner says about it."""

    suffix: str
    separator: str = ","
    form: FileFormat = PLAIN
    encoding: str = "utf-8"
    mark: bytes = b""
    packed: bool = False
    names: tuple[str, ...] = field(default=())

    @property
    def unit(self):
        return 2 if self.encoding.startswith("utf-16") else 1

    def usual(self, row):
        if self.suffix.startswith("jsonl"):
            cells = (f'"{name}": "{value.strip(chr(34))}"' for name, value in zip(NAMES, ROWS[row], strict=True))
            return ("{" + ", ".join(cells) + "}").encode(self.encoding)
        cells = (f'"{value}"' if self.separator in value else value for value in ROWS[row])
        return self.separator.join(cells).encode(self.encoding)

    def content(self, odd):
        header = [] if self.suffix.startswith("jsonl") else [self.separator.join(NAMES).encode(self.encoding)]
        lines = [*header, *(odd if row == PLACE else self.usual(row) for row in range(len(ROWS)))]
        end = "\n".encode(self.encoding)
        content = self.mark + end.join(lines) + end
        return gzip.compress(content, mtime=0) if self.packed else content


COMMAS = FileFormat(decimal=",", dates="%d.%m.%Y")
WAYS = {
    "csv": Way("csv"),
    "semicolons": Way("csv", ";", COMMAS),
    "tabs": Way("tsv", "\t", mark=b"\xef\xbb\xbf"),
    "carets": Way("csv", "^", FileFormat(delimiter="^", decimal=",")),
    "packed": Way("csv.gz", "|", packed=True),
    "latin-1": Way("csv", ";", FileFormat(encoding="iso8859-1", decimal=","), "latin-1"),
    "cp1252, packed": Way("tsv.gz", "\t", FileFormat(encoding="cp1252", dates="%d.%m.%Y"), "cp1252", packed=True),
    "utf-16, little end": Way("csv", encoding="utf-16-le", mark=b"\xff\xfe"),
    "utf-16, big end": Way("tsv", "\t", COMMAS, encoding="utf-16-be", mark=b"\xfe\xff"),
    "json lines": Way("jsonl", form=FileFormat(dates="%d.%m.%Y"), names=NAMES),
    "json lines, packed latin-1": Way(
        "jsonl.gz", form=FileFormat(encoding="iso8859-1"), encoding="latin-1", packed=True
    ),
}


def rows_of(folder, way, odd, reader=open_table):
    """The rows of a file with an odd record, in the columns that every usual one has."""
    path = folder / f"table.{way.suffix}"
    path.write_bytes(way.content(odd))
    return reader(path, way.form, names=way.names).select(NAMES).collect().rows()


def others_differ(folder, way, odd, reader=open_table):
    """Whether a record changes how many rows there are, or any other row."""
    usual, found = (rows_of(folder, way, line, reader) for line in (way.usual(PLACE), odd))
    del usual[PLACE : PLACE + 1], found[PLACE : PLACE + 1]
    return len(usual) != len(ROWS) - 1 or usual != found


def _units(way):
    """One line of anything that is not a line end."""
    if way.unit == 1:
        pieces = st.sampled_from(
            [b'"', b"{", b"}", b",", b";", b"\t", b"\r", b"\x00", b"\xff", b"\xe9", b'": "', b"31/12/2012"]
        )
        return (
            st.lists(st.one_of(st.binary(max_size=6), pieces), max_size=6)
            .map(b"".join)
            .map(lambda line: line.replace(b"\n", b""))
        )
    order = "little" if way.encoding.endswith("le") else "big"
    unit = st.one_of(
        st.integers(0, 0xFFFF), st.sampled_from([0x22, 0x2C, 0x0D, 0xD800, 0xDC00, 0xFEFF, 0x0A0A, 0x0D0A])
    )
    return st.lists(
        unit.filter(lambda value: value != 10).map(lambda value: value.to_bytes(2, order)), max_size=12
    ).map(b"".join)


@pytest.mark.parametrize("name", WAYS)
@settings(max_examples=25)
@given(data=st.data())
def test_no_record_changes_how_another_is_read(tmp_path, name, data):
    way = WAYS[name]
    odd = data.draw(_units(way))
    try:
        assert not others_differ(tmp_path, way, odd)
    except BadTable:
        assert b'"' in odd
        assert not way.suffix.startswith("jsonl")


@pytest.mark.parametrize("name", WAYS)
def test_usual_records_are_read_in_full(tmp_path, name):
    way = WAYS[name]
    rows = rows_of(tmp_path, way, way.usual(PLACE))
    assert [row[1] for row in rows] == [
        "Bern",
        "Zürich",
        "Oslo",
        "Ålesund",
        "" if way.suffix.startswith("jsonl") else None,
    ]
    assert rows[0][3] == ("1234.5" if way.form.decimal else "1.234,5")
    assert [row[2] for row in rows[:4]] == (
        ["2012-02-01", "2012-05-31", "2010-11-12", "x"] if way.form.dates else [row[2] for row in ROWS[:4]]
    )


def _counting(path, form, names):
    """The twin that takes the most frequent delimiter of all of the file."""
    delimiter = max(",;\t|", key=path.read_text().count)
    return pl.scan_csv(path, separator=delimiter, infer_schema=False, truncate_ragged_lines=True)


def _guessing_dates(path, form, names):
    """The twin that takes the format of dates in which every row can be read."""
    days = open_table(path).collect()["since"].drop_nulls()
    fits = [
        format_ for format_ in ("%m.%d.%Y", "%d.%m.%Y") if days.str.to_date(format_, strict=False).is_not_null().all()
    ]
    return open_table(path, FileFormat(dates=fits[0] if fits else None))


def _guessing_decimals(path, form, names):
    """The twin that takes commas for decimal marks if any row needs it."""
    needed = open_table(path).collect()["rate"].str.contains(r",\d{1,2}$").any()
    return open_table(path, FileFormat(decimal="," if needed else None))


def _inferring(path, form, names):
    """The twin that lets a library infer the columns of JSON lines."""
    return pl.scan_ndjson(path, infer_schema_length=None).cast(pl.String)


DATES = (("1", "a", "01.02.2012", "1,250"), ("2", "b", "03.04.2011", "2,375"), ("3", "c", "05.06.2010", "1,125"))
TWINS = {
    "delimiter": (_counting, Way("csv", ";"), b"3;c;" + b"\t" * 50),
    "dates": (_guessing_dates, Way("csv", ";"), b"3;c;31.12.2010;1,125"),
    "decimals": (_guessing_decimals, Way("csv", ";"), b"3;c;05.06.2010;1,5"),
    "columns": (_inferring, Way("jsonl"), b'{"age": 3, "ci'),
}


@pytest.mark.parametrize("name", TWINS)
def test_a_reader_that_guesses_from_rows_is_caught(tmp_path, monkeypatch, name):
    monkeypatch.setitem(globals(), "ROWS", DATES)
    twin, way, odd = TWINS[name]
    assert not others_differ(tmp_path, way, odd)
    assert len(rows_of(tmp_path, way, way.usual(PLACE), twin)) == len(DATES)
    try:
        caught = others_differ(tmp_path, way, odd, twin)
    except pl.exceptions.PolarsError:
        caught = True  # a record that makes the reader fail tells as much
    assert caught
