"""From the raw file on: whatever one record holds, an owner tells the same number, promise and error."""

import csv
import datetime as dt

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from copriv.errors import BadInput, BadTable, CoprivError
from copriv.owner import workspace
from copriv.owner.workspace import Enrollment, prepare
from copriv.protocol.plain_terms import plain_terms
from copriv.protocol.study_file import StudyFile, dictionary_digest, read_study, write_study
from copriv.records.dictionary import Dictionary
from copriv.records.file_format import PLAIN, FileFormat
from copriv.records.load import take_public
from copriv.records.target import TargetChoice

ROWS = 200
COLUMNS = ("income", "grade", "day", "month", "rate")
CELLS = [
    *("", " ", "NA", "nan", "-nan", "inf", "-Infinity", "1e308", "-1.7e308", "1e999", "5e-324", "1e-400", "9" * 400),
    *(
        "Q",
        "grade",
        "\x00",
        "\x1b[2J",
        "\ufeff7",
        "1,234",
        '"',
        '""',
        "'",
        "a\rb",
        "#####",
        "-",
        " 3 ",
        "0x10",
        "1_000",
    ),
    *("true", "FALSE", "$", "%", "7%", "9999-99-99", "0000-01-01", "99999-01-01", "-5000-01-01", "Jan-999999999"),
    *("Jan--5", "Feb-0000", "\u0661\u0662", "\uff17", "\u202e7", "7 +", "\ud7ff", "x" * 5000, "7.0", "5"),
]
WILD = [0.0, 5e-324, 1e-310, 1e-150, 1.0, 1e9, 1e150, 1.7e308, float("inf"), float("nan"), None]


def make_frame(seed=0):
    generator = np.random.default_rng(seed)
    grade = generator.choice(["A", "B", "C"], ROWS)
    return pl.DataFrame(
        {
            "income": [f"{value:.2f}" for value in generator.lognormal(3, 1, ROWS)],
            "grade": grade,
            "day": generator.choice(["2011-01-01", "2012-05-01", "2013-09-01"], ROWS),
            "month": generator.choice(["Jan-2001", "Dec-1999"], ROWS),
            "rate": [f"{value:.3f}" for value in 5 + 2 * (grade == "B") + generator.normal(size=ROWS)],
        }
    )


CHOICES = {
    "number": TargetChoice("rate"),
    "label": TargetChoice("rate", labels=True, positive_above=5.0),
    "ordinal": TargetChoice("grade", ordinal=True),
    "encoded": TargetChoice("rate"),
}


def make_dictionary(choice="number"):
    features = "all+score+leaves:2+splines+pairs" if choice == "encoded" else 3
    return take_public(make_frame(seed=1).lazy(), CHOICES[choice], features)[0]


def make_study(dictionary, **agreed):
    loss = "logistic" if dictionary.target.kind == "label" else "squared"
    terms = plain_terms(
        parameters=dictionary.parameters,
        loss=loss,
        dictionary=dictionary_digest(dictionary),
        evaluations=1,
        evaluation_share=0.1,
        loss_bound=2.0,
        **agreed,
    )
    return StudyFile(terms, msgspec.to_builtins(dictionary))


def outcome(path, study, form=PLAIN):
    """Everything that `owner join` would say of a file to others, and the sample for looking at its answers."""
    enrollment = Enrollment(
        owner="east",
        host="127.0.0.1",
        port=4222,
        data=str(path),
        target=None,
        nano_epsilon=10**9,
        delta=0.0,
        accountant="pld",
        answers=3,
        rate=1.0,
        ledger="ledger.sqlite",
        form=form,
    )
    try:
        prepared = prepare(enrollment, study)
    except CoprivError as problem:
        return (type(problem).__name__, str(problem)), None, None
    commitment = prepared.commitment
    told = (
        prepared.sample.records,
        prepared.sample.columns.shape,
        commitment.clip,
        commitment.sensitivity,
        commitment.calibration,
    )
    return told, commitment, prepared.sample


def test_an_owner_says_how_its_file_is_written(tmp_path):
    """The same records in a file of another kind, encoding, delimiter, decimal mark and format of dates."""
    frame, study = make_frame(), make_study(make_dictionary())
    frame.write_csv(tmp_path / "plain.csv")
    written = frame.with_columns(
        pl.col("income", "rate").str.replace(".", ",", literal=True),
        pl.col("day").str.to_date().dt.to_string("%d.%m.%Y"),
    )
    (tmp_path / "other.csv").write_bytes(written.write_csv(separator="^").encode("utf-16-be"))
    frame.write_ndjson(tmp_path / "other.jsonl")
    form = FileFormat(encoding="utf-16-be", delimiter="^", decimal=",", dates="%d.%m.%Y")
    told, _, sample = outcome(tmp_path / "plain.csv", study)
    for path, said in ((tmp_path / "other.csv", form), (tmp_path / "other.jsonl", PLAIN)):
        again, _, same = outcome(path, study, said)
        assert again == told
        assert same.columns.tobytes() == sample.columns.tobytes()
        assert same.targets.tobytes() == sample.targets.tobytes()
    assert outcome(tmp_path / "other.csv", study)[0][0] == "BadTable"


def require_alike(path, neighbour, study):
    """Both files say the same in the clear, and no answer moves further than is declared."""
    return compare(outcome(path, study), outcome(neighbour, study), study)


def compare(usual, neighbouring, study):
    """The same of outcomes that are known."""
    (one, commitment, sample), (other, again, changed) = usual, neighbouring
    assert one == other
    if commitment is None:
        return one
    assert commitment.parts == again.parts
    for theta in (np.zeros(sample.parameters), np.full(sample.parameters, study.terms.limit)):
        for part in commitment.parts:
            moved = part.sensitivity.norm.of(part.exact(sample, theta) - part.exact(changed, theta))
            assert moved <= part.sensitivity.value
    return one


def write_csv(path, frame, quoting=csv.QUOTE_MINIMAL):
    """By Python's own writer, so that lines and cells do not depend on the reader."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=quoting, lineterminator="\n")
        writer.writerow(frame.columns)
        writer.writerows(frame.rows())


def with_cell(frame, row, name, value):
    """The frame with one cell replaced, of the type it has."""
    values = frame[name].to_list()
    values[row] = value
    return frame.with_columns(pl.Series(name, values, dtype=frame[name].dtype))


@pytest.mark.parametrize(
    ("choice", "name"),
    [
        *(("number", name) for name in COLUMNS),
        ("label", "rate"),
        ("ordinal", "grade"),
        *(("encoded", name) for name in ("income", "grade", "day")),
    ],
)
def test_no_cell_of_a_csv_file_changes_what_is_said(tmp_path, name, choice):
    study, frame = make_study(make_dictionary(choice)), make_frame()
    write_csv(tmp_path / "table.csv", frame)
    usual = outcome(tmp_path / "table.csv", study)
    for cell in CELLS:
        write_csv(tmp_path / "other.csv", with_cell(frame, 7, name, cell))
        assert compare(usual, outcome(tmp_path / "other.csv", study), study)[0] == ROWS


@settings(deadline=None, max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    row=st.integers(0, ROWS - 1),
    cells=st.lists(st.one_of(st.sampled_from(CELLS), st.text(max_size=8)), min_size=5, max_size=5),
    entries=st.fixed_dictionaries(
        {
            "fill": st.sampled_from([-1e150, 0.0, 1e-300, 1e150]),
            "mean": st.sampled_from([-1e150, 0.0, 5e-324, 1e150]),
            "deviation": st.sampled_from([1e-150, 1.0, 1e150]),
            "center": st.sampled_from([-1e150, 5.0, 5e-324, 1e150]),
            "scale": st.sampled_from([1e-150, 1.0, 1e150]),
            "length": st.sampled_from([1e-9, 1.0, 1e15]),
            "weight": st.sampled_from([-1e9, 0.0, 5e-324, 1e9]),
        }
    ),
    limit=st.sampled_from([1e-6, 2.0, 1e6]),
    clip=st.sampled_from([1e-9, 0.5, 1e9]),
)
def test_no_record_and_no_dictionary_that_is_let_in_changes_what_is_said(tmp_path, row, cells, entries, limit, clip):
    fitted = make_dictionary()
    column = {name: entries[name] for name in ("fill", "mean", "deviation")}
    hostile = msgspec.structs.replace(
        fitted,
        columns=(msgspec.structs.replace(fitted.columns[0], **column), *fitted.columns[1:]),
        components=((entries["weight"],) * len(fitted.columns), *fitted.components[1:]),
        length=entries["length"],
        target=msgspec.structs.replace(fitted.target, center=entries["center"], scale=entries["scale"]),
    )
    frame = make_frame()
    other = frame
    for name, cell in zip(COLUMNS, cells, strict=True):
        # One line is one record: a line break in a cell is refused by name, at home (test_csv_file).
        kept = cell.replace("\n", " ").encode("utf-8", "replace").decode()
        other = with_cell(other, row, name, kept)
    write_csv(tmp_path / "table.csv", frame, csv.QUOTE_ALL)
    write_csv(tmp_path / "other.csv", other, csv.QUOTE_ALL)
    study = make_study(hostile, limit=limit, clip=clip)
    assert require_alike(tmp_path / "table.csv", tmp_path / "other.csv", study)[0] == ROWS


def test_bytes_that_are_no_text_change_nothing(tmp_path):
    study = make_study(make_dictionary())
    write_csv(tmp_path / "table.csv", make_frame())
    lines = (tmp_path / "table.csv").read_bytes().split(b"\n")
    for line in (b"", b"\xff\xfe,\xc3,\x80\x80,\xed\xa0\x80,\xff", b"1", b"," * 40, b"\x00" * 30, b"\r"):
        (tmp_path / "other.csv").write_bytes(b"\n".join([*lines[:9], line, *lines[10:]]))
        assert require_alike(tmp_path / "table.csv", tmp_path / "other.csv", study)[0] == ROWS


TYPES = {
    "float": (pl.Float64, 1.0, WILD),
    "small float": (pl.Float32, 1.0, [1e38, 1e-45, float("inf"), float("nan"), None]),
    "whole": (pl.Int64, 1, [2**63 - 1, -(2**63), None]),
    "boolean": (pl.Boolean, True, [False, None]),
}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", ["income", "rate"])
def test_no_value_of_a_parquet_file_changes_what_is_said(tmp_path, kind, name):
    dtype, usual, odd = TYPES[kind]
    study = make_study(make_dictionary())
    frame = make_frame().with_columns(pl.Series(name, [usual] * ROWS, dtype=dtype))
    frame.write_parquet(tmp_path / "table.parquet")
    for value in odd:
        with_cell(frame, 3, name, value).write_parquet(tmp_path / "other.parquet")
        assert require_alike(tmp_path / "table.parquet", tmp_path / "other.parquet", study)[0] == ROWS


@pytest.mark.parametrize("dtype", [pl.Date, pl.Datetime("ms"), pl.Datetime("us"), pl.Datetime("ns")], ids=str)
@pytest.mark.parametrize("name", ["day", "income", "grade", "rate"])
def test_dates_that_nobody_can_write_down_change_nothing(tmp_path, dtype, name):
    """Such a date used to end the program, so that one record decided whether an owner could join."""
    study, whole = make_study(make_dictionary()), pl.Int32 if dtype == pl.Date else pl.Int64
    widest = 2**31 if dtype == pl.Date else 2**63
    frame = make_frame().with_columns(pl.Series(name, [dt.date(2012, 5, 1)] * ROWS).cast(dtype))
    frame.write_parquet(tmp_path / "table.parquet")
    for value in (widest - 1, 1 - widest, 3_000_000, -1_000_000):
        values = frame[name].to_physical().to_list()
        values[3] = value
        other = frame.with_columns(pl.Series(name, values, dtype=whole).cast(dtype))
        other.write_parquet(tmp_path / "other.parquet")
        assert require_alike(tmp_path / "table.parquet", tmp_path / "other.parquet", study)[0] == ROWS


@pytest.mark.parametrize("value", [[1.0], b"1", b"\xff", dt.timedelta(1), dt.time(1), {"a": 1}], ids=str)
def test_a_type_that_is_no_column_is_refused_by_the_schema(tmp_path, value):
    study = make_study(make_dictionary())
    make_frame().with_columns(pl.Series("income", [value] * ROWS)).write_parquet(tmp_path / "table.parquet")
    told, _, _ = outcome(tmp_path / "table.parquet", study)
    assert told[0] == "BadTable"
    assert "the column 'income' is of type" in told[1]


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        *[(("target", "scale"), value) for value in (0.0, -1.0, float("nan"), float("inf"), 5e-324, 1e300)],
        *[(("target", "center"), value) for value in (float("nan"), float("inf"), 1e200)],
        *[(("columns", 0, "deviation"), value) for value in (0.0, float("nan"), 5e-324, 1.7e308)],
        *[(("columns", 0, "mean"), value) for value in (float("nan"), -float("inf"), 1.7e308)],
        *[(("columns", 0, "fill"), value) for value in (float("nan"), float("inf"), 1.7e308)],
        *[(("components", 0, 0), value) for value in (float("nan"), float("inf"), 1e300)],
        *[(("length",), value) for value in (0.0, float("nan"), 1e300, 5e-324)],
        *[(("intercept",), value) for value in (0.0, 1.0, -0.5, float("nan"), 1e-300)],
        (("columns", 0, "name"), "grade"),
        (("columns", 0, "kind"), "magic"),
        (("columns", 0, "categories"), ["A"]),
        (("columns", 1, "categories"), ["A", "A"]),
        (("columns", 1, "categories"), []),
        (("components",), []),
        (("components", 0), [1.0]),
        (("columns",), []),
    ],
    ids=str,
)
def test_a_hostile_dictionary_is_refused_before_a_record_is_read(tmp_path, monkeypatch, entry, value):
    """Among them the finding: a scale of 0 made records with y = c drop out, and their number was told exactly."""
    content = make_study(make_dictionary()).dictionary
    content = msgspec.json.decode(msgspec.json.encode(content))
    *path, last = entry
    place = content
    for step in path:
        place = place[step]
    place[last] = value
    terms = plain_terms(parameters=4, dictionary=dictionary_digest(content))

    def never(*_arguments, **_options):
        raise AssertionError("a file was opened")

    monkeypatch.setattr(workspace, "open_owner_records", never)
    told, _, _ = outcome(tmp_path / "table.csv", StudyFile(terms, content))
    assert told[0] == "BadInput"


def test_a_valid_dictionary_survives_the_study_file():
    study = make_study(make_dictionary("ordinal"))
    assert Dictionary.from_study(read_study(write_study(study)).dictionary) == make_dictionary("ordinal")


@pytest.mark.parametrize("agreed", [{"row_norm": 0.5}, {"target_bound": 0.5}])
def test_bounds_that_some_record_would_not_keep_are_refused_for_everybody(tmp_path, agreed):
    write_csv(tmp_path / "table.csv", make_frame())
    told, _, _ = outcome(tmp_path / "table.csv", make_study(make_dictionary(), **agreed))
    assert told[0] == "BadInput"
    assert "bound rows" in told[1]


def _dropping(path, form, dictionary, _resources, **_options):
    """The broken twin of `open_owner_records`: records without a target are left out."""
    from copriv.losses.sample import Sample
    from copriv.records.load_owner import OpenedRecords
    from copriv.records.table import open_table

    features, targets = dictionary.records_of(open_table(path, form).collect())
    used = features.any(axis=1)
    return OpenedRecords(Sample.of_rows(features[used], targets[used]), ())


def test_the_comparison_of_files_catches_an_owner_that_drops_records(tmp_path, monkeypatch):
    study, frame = make_study(make_dictionary()), make_frame()
    write_csv(tmp_path / "table.csv", frame)
    write_csv(tmp_path / "other.csv", with_cell(frame, 7, "rate", ""))
    require_alike(tmp_path / "table.csv", tmp_path / "other.csv", study)
    monkeypatch.setattr(workspace, "open_owner_records", _dropping)
    with pytest.raises(AssertionError):
        require_alike(tmp_path / "table.csv", tmp_path / "other.csv", study)


def test_how_many_rows_decides_whether_an_owner_is_too_small(tmp_path):
    study = make_study(make_dictionary())
    write_csv(tmp_path / "table.csv", make_frame().head(3))
    write_csv(tmp_path / "other.csv", with_cell(make_frame().head(3), 1, "rate", ""))
    told = require_alike(tmp_path / "table.csv", tmp_path / "other.csv", study)
    assert told[0] == BadTable.__name__
    assert "3 records, fewer than 3 features" in told[1]
    silent = make_frame().with_columns(pl.lit("").alias("rate"))
    write_csv(tmp_path / "silent.csv", silent)
    told, _, sample = outcome(tmp_path / "silent.csv", study)
    assert told[0] == ROWS
    with pytest.raises(BadInput, match="usable"):
        sample.usable()
