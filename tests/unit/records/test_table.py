"""Kinds of files, as their names say it; what a person is told about them, and what is refused with which remedy."""

import gzip
from datetime import date
from pathlib import Path

import polars as pl
import pytest

from copriv.errors import BadTable
from copriv.records import table
from copriv.records.column import WRITTEN_DATES
from copriv.records.file_format import FileFormat, parse_format
from copriv.records.table import count_rows, open_table

FRAME = pl.DataFrame({"a": ["1", "2"], "b": ["x", "ü"]})


@pytest.mark.parametrize(
    "name",
    ["t.csv", "t.TSV", "t.csv.gz", "t.parquet", "t.pq", "t.feather", "t.arrow", "t.ipc", "t.jsonl", "t.ndjson.GZ"],
)
def test_files_are_what_their_names_say(tmp_path, name):
    path = tmp_path / name
    kind = name.lower().split(".")[1]
    if kind in ("csv", "tsv"):
        content = FRAME.write_csv(separator="\t" if kind == "tsv" else ",").encode()
    elif kind in ("jsonl", "ndjson"):
        content = FRAME.write_ndjson().encode()
    else:
        FRAME.write_parquet(path) if kind in ("parquet", "pq") else FRAME.write_ipc(path)
        content = path.read_bytes()
    path.write_bytes(gzip.compress(content) if name.lower().endswith("gz") else content)
    assert open_table(path).collect().equals(FRAME)
    assert open_table(path).slice(1, 1).collect(engine="streaming").equals(FRAME[1:])


def test_the_page_about_files_names_every_kind():
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "read-your-file.md").read_text()
    for suffix in (*table._CSV, *table._JSON_LINES, *table._PARQUET, *table._ARROW, *table._UNPACK, ".gz"):
        assert f"`{suffix}`" in page
    for name in FileFormat.__struct_fields__:
        assert f"`--{name} " in page
        assert f"`{name}=" in page
    for form in WRITTEN_DATES.values():
        assert f"`{date(2012, 12, 31).strftime(form)}`" in page


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("t.xlsx", ".parquet"),
        ("t.csv.zst", "unzstd"),
        ("t.zip", "unzip"),
        ("t.gz", ".gz"),
        ("t.parquet.gz", ".parquet"),
    ],
)
def test_other_names_are_refused_with_a_remedy(tmp_path, name, words):
    (tmp_path / name).write_text("x")
    with pytest.raises(BadTable, match="neither CSV nor Parquet") as caught:
        open_table(tmp_path / name)
    assert words in caught.value.remedy


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("broken.feather", b"not arrow"),
        ("broken.csv.gz", b"a,b\n1,2\n"),
        ("cut.csv.gz", gzip.compress(b"a,b\n" + bytes(range(48, 58)) * 99, mtime=0)[:-20]),
        ("empty.csv.gz", b""),
        ("odd.csv", "a,b\n1,2\n".encode("utf-16") + b"x"),
        ("wide.csv", "a,b\n1,2\n".encode("utf-32")),
        ("empty.jsonl", b""),
    ],
)
def test_broken_files_are_refused_and_not_traced(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadTable) as caught:
        open_table(tmp_path / name).collect()
    assert name in caught.value.problem
    assert caught.value.remedy


def test_an_arrow_file_that_is_cut_off_is_refused(tmp_path):
    FRAME.write_ipc(tmp_path / "t.feather")
    content = (tmp_path / "t.feather").read_bytes()
    (tmp_path / "t.feather").write_bytes(content[: len(content) // 2])
    with pytest.raises(BadTable):
        open_table(tmp_path / "t.feather")


def test_the_encoding_is_said_by_a_mark_or_an_option_and_never_guessed(tmp_path):
    text, path = "größe,b\nü,2\n", tmp_path / "t.csv"
    for content, encoding in (
        (text.encode("latin-1"), "latin-1"),
        (text.encode("cp1252"), "cp1252"),
        (text.encode("utf-16"), None),
        (text.encode("utf-16"), "latin-1"),
        (text.encode("utf-16-le"), "utf-16"),
        (text.encode("utf-16-be"), "utf-16-be"),
        (text.encode("utf-8-sig"), "latin-1"),
        (text.encode(), None),
    ):
        path.write_bytes(content)
        found = open_table(path, parse_format(encoding=encoding)).collect()
        assert found.columns == ["größe", "b"]
        assert found.rows() == [("ü", "2")]
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(BadTable, match="byte 0xf6 in its header, which is not UTF-8") as caught:
        open_table(path)
    assert "--encoding latin-1" in caught.value.remedy


def test_bytes_that_are_no_text_are_told_of_by_line_and_value_and_refuse_nothing(tmp_path):
    notes, path = [], tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1,2\n\xe9,4\n\xff,6\n")
    assert open_table(path, note=notes.append).collect()["a"].to_list() == ["1", "\ufffd", "\ufffd"]
    [note] = notes
    assert "line 3 of t.csv has the byte 0xe9, which is not UTF-8" in note
    assert "--encoding latin-1" in note
    # Letters on the seam of two pieces are no such bytes, and lines are counted over all pieces.
    path.write_bytes(b"a,b\n" + "12345é,1\n".encode() * 900_000)
    open_table(path, note=notes.append)
    assert len(notes) == 1
    path.write_bytes(b"a,b\n" + "12345é,1\n".encode() * 900_000 + b"\xff,1\n")
    open_table(path, note=notes.append)
    assert "line 900,002 of t.csv has the byte 0xff" in notes[1]


def test_a_delimiter_comes_from_an_option_or_the_name_or_the_header(tmp_path):
    (tmp_path / "t.tsv").write_bytes(b"a,b,c\td\n1\t2\n")
    assert open_table(tmp_path / "t.tsv").collect().columns == ["a,b,c", "d"]
    (tmp_path / "t.tsv").write_bytes(b"a,b\n1,2\n")
    assert open_table(tmp_path / "t.tsv").collect().columns == ["a", "b"]
    (tmp_path / "t.csv").write_bytes(b"a,b:c\n1:2\n")
    assert open_table(tmp_path / "t.csv", FileFormat(delimiter=":")).collect().columns == ["a,b", "c"]


def test_all_names_that_come_twice_are_named(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,b,a,c,b\n1,2,3,4,5\n")
    with pytest.raises(BadTable, match="'a', 'b' more than once") as caught:
        open_table(tmp_path / "t.csv")
    assert "rename" in caught.value.remedy


def test_what_does_not_apply_to_a_kind_of_file_is_ignored(tmp_path):
    pl.DataFrame({"n": ["1,5"], "x": [1.5], "d": ["31.12.2012"]}).write_parquet(tmp_path / "t.parquet")
    form = FileFormat(encoding="iso8859-1", delimiter=";", decimal=",", dates="%d.%m.%Y")
    assert open_table(tmp_path / "t.parquet", form).collect().rows() == [("1,5", 1.5, "2012-12-31")]
    (tmp_path / "t.jsonl").write_bytes(b'{"n": 1.234, "d": "31.12.2012"}\n')
    assert open_table(tmp_path / "t.jsonl", form).select("n", "d").collect().rows() == [("1.234", "2012-12-31")]
    assert count_rows(open_table(tmp_path / "t.jsonl", form)) == 1


def test_columns_named_twice_are_refused_in_every_kind_of_file(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    twice = pa.table([pa.array([1, 2]), pa.array([3, 4])], names=["a", "a"])
    parquet.write_table(twice, tmp_path / "t.parquet")
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as file, pa.ipc.new_file(file, twice.schema) as writer:
        writer.write_table(twice)
    for name in ("t.parquet", "t.arrow"):
        with pytest.raises(BadTable, match=f"{name} cannot be read") as caught:
            open_table(tmp_path / name)
        assert "twice" in caught.value.remedy


@pytest.mark.parametrize("name", ["loans[1]", "loans*", "loans?"])
@pytest.mark.parametrize(("ending", "write"), [("parquet", "parquet"), ("feather", "ipc"), ("csv", "csv")])
def test_a_name_is_no_pattern_of_others(tmp_path, name, ending, write):
    """The ledger is that of the file that was named: no other is read in its place."""
    for stem, value in ((name, 1), ("loans1", 7)):
        with (tmp_path / f"{stem}.{ending}").open("wb") as file:
            getattr(pl.DataFrame({"x": [value]}), f"write_{write}")(file)
    found = open_table(tmp_path / f"{name}.{ending}").collect()
    assert found["x"].cast(pl.Int64).to_list() == [1]
