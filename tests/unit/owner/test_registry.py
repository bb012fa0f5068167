"""The registry recognises a set of records wherever it lies, and tells it from others."""

import json
import sqlite3
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from copriv.errors import BadInput, LedgerFailure, LedgerRefusal
from copriv.owner.registry import Registry
from copriv.owner.registry_store import default_folder
from copriv.owner.sketch import recognise
from copriv.owner.split import require_no_conflict, require_same_split, split_rows
from copriv.records import hospital_like, lending_like
from copriv.records.file_format import FileFormat

KEY = b"k" * 32


@pytest.fixture
def registry():
    with Registry() as opened:
        yield opened


@pytest.fixture(scope="module")
def loans():
    """1,000 loans with ids; and with all that the two formats write in their own ways."""
    frame = lending_like.generate(1000, np.random.default_rng(0))
    chance = np.random.default_rng(1)
    return frame.with_columns(
        pl.datetime(2020, 1, 1, pl.int_range(1000, dtype=pl.Int64) % 24).alias("when"),
        pl.date(2020, 1, 1 + pl.int_range(1000, dtype=pl.Int64) % 28).alias("day"),
        pl.Series("paid", chance.random(1000) > 0.5),
        pl.Series("score", chance.random(1000).astype(np.float32)),
        pl.Series("gap", [None if i % 7 == 0 else i / 3 for i in range(1000)]),
        pl.Series("whole", chance.integers(0, 9, 1000)),
    )


def _write(frame, path):
    (frame.write_csv if path.suffix == ".csv" else frame.write_parquet)(path)
    return path


def test_records_are_recognised_in_a_file_that_is_written_otherwise(registry, tmp_path):
    chance = np.random.default_rng(4)
    frame = pl.DataFrame(
        {
            "größe": chance.uniform(150, 200, 300).round(2),
            "seit": pl.Series(chance.integers(10_000, 18_000, 300)).cast(pl.Date),
            "ort": chance.choice(["Zürich", "Bern"], 300),
        }
    )
    dataset = _register(registry, _write(frame, tmp_path / "people.parquet"))
    path = tmp_path / "people.csv"
    text = frame.with_columns(pl.col("seit").dt.to_string("%d.%m.%Y")).write_csv(separator=";", decimal_comma=True)
    path.write_bytes(text.encode("latin-1"))
    assert registry.lookup(path).kin == ()
    (kin,) = registry.lookup(path, form=FileFormat(encoding="iso8859-1", decimal=",", dates="%d.%m.%Y")).kin
    assert kin.file.dataset == dataset.id
    assert kin.of_known == kin.of_file == 1


def _register(registry, path, ledger="a.sqlite", ledger_id="a" * 32):
    return registry.register(registry.lookup(path), path.with_name(ledger), ledger_id)


def test_the_same_file_is_known_wherever_it_lies(registry, loans, tmp_path):
    first = _write(loans, tmp_path / "loans.csv")
    assert registry.lookup(first).dataset is None
    dataset = _register(registry, first)
    copy = tmp_path / "other" / "copy.csv"
    copy.parent.mkdir()
    copy.write_bytes(first.read_bytes())
    found = registry.lookup(copy)
    assert found.dataset == dataset
    assert found.dataset.ledger == tmp_path / "a.sqlite"
    assert registry.dataset_of_ledger("a" * 32) == dataset
    with pytest.raises(LedgerRefusal, match=r"a\.sqlite"):
        registry.register(found, tmp_path / "b.sqlite", "b" * 32)
    assert registry.datasets() == [dataset]


CHANGES = {
    "as Parquet": (lambda frame: frame, "a version of", 1.0, 1.0),
    "in another order": (
        lambda frame: frame.sample(fraction=1, shuffle=True, seed=1).select(sorted(frame.columns)[::-1]),
        "a version of",
        1.0,
        1.0,
    ),
    "with rows appended": (
        lambda frame: pl.concat([frame, frame.head(400).with_columns(pl.col("id") + 10**8, pl.lit(1.5).alias("gap"))]),
        "a version of",
        1.0,
        1000 / 1400,
    ),
    "a part": (lambda frame: frame.slice(200, 100), "a part of", 0.1, 1.0),
    "with a column more": (lambda frame: frame.with_columns(pl.lit("x").alias("new")), "a version of", 1.0, 1.0),
    "with every row changed but the ids": (
        lambda frame: frame.with_columns(pl.col("int_rate") * 1.01),
        "a version of",
        1.0,
        1.0,
    ),
    "with a column less, and ids": (lambda frame: frame.drop("int_rate"), "a version of", 1.0, 1.0),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_changed_file_is_recognised(registry, loans, tmp_path, name, suffix):
    change, relation, of_known, of_file = CHANGES[name]
    dataset = _register(registry, _write(loans, tmp_path / "loans.csv"))
    found = registry.lookup(_write(change(loans), tmp_path / f"changed{suffix}"))
    assert found.dataset is None or (name == "as Parquet" and suffix == ".csv")
    if found.dataset is None:
        (kin,) = found.kin
        assert (kin.file.dataset, kin.relation) == (dataset.id, relation)
        assert kin.of_known == pytest.approx(of_known, abs=0.05)
        assert kin.of_file == pytest.approx(of_file, abs=0.05)
        assert "loans.csv" in kin.describe()


@pytest.mark.parametrize("generate", [lending_like.generate, hospital_like.generate])
def test_records_of_others_are_not_taken_for_known_ones(registry, tmp_path, generate):
    """Two owners that number their records in the same range, with gaps, are two owners."""
    for seed in range(5):
        path = _write(generate(1000, np.random.default_rng(seed)), tmp_path / f"{seed}.parquet")
        found = registry.lookup(path)
        assert found.kin == ()
        registry.register(found, tmp_path / f"{seed}.sqlite", f"{seed}" * 32)


def test_row_numbers_and_repeating_rows_identify_nobody(registry, tmp_path):
    chance = np.random.default_rng(0)
    for name in ("one", "two"):
        frame = pl.DataFrame({"id": np.arange(1, 501), "x": chance.normal(size=500)})
        assert registry.lookup(_write(frame, tmp_path / f"{name}.csv")).kin == ()
        _register(registry, tmp_path / f"{name}.csv", ledger_id=name * 8)
    coarse = pl.DataFrame({"sex": chance.integers(0, 2, 500), "age": chance.integers(0, 9, 500)})
    _register(registry, _write(coarse, tmp_path / "coarse.csv"), ledger_id="c" * 32)
    assert registry.lookup(_write(coarse.reverse(), tmp_path / "coarse2.csv")).kin == ()


def test_shares_of_large_files_are_estimated(registry, tmp_path):
    """20,000 rows, of which 2,000 are kept: the estimate of a share of one half is within four deviations."""
    chance = np.random.default_rng(3)
    frame = pl.DataFrame({"x": chance.normal(size=30_000), "y": chance.normal(size=30_000)})
    _register(registry, _write(frame.head(20_000), tmp_path / "known.parquet"))
    (kept,) = registry.known_files()[0].sketches
    assert kept.hashes.size == 2000
    (kin,) = registry.lookup(_write(frame.tail(20_000), tmp_path / "next.parquet")).kin
    assert kin.of_known == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(2000))
    assert kin.of_file == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(2000))
    (part,) = registry.lookup(_write(frame.slice(100, 300), tmp_path / "part.parquet")).kin
    assert part.relation == "a part of"


def test_progress_is_told(loans):
    told = []
    recognise([loans.lazy()], KEY, tell=lambda done, total: told.append((done, total)))
    assert told[-1] == (1000, 1000)


def test_without_the_key_nothing_can_be_tested(registry, loans, tmp_path):
    """The same file has other fingerprints in another registry, and the key is not in the database."""
    path = _write(loans, tmp_path / "loans.csv")
    with Registry(tmp_path / "another") as another:
        one, two = registry.lookup(path), another.lookup(path)
        assert one.fingerprint != two.fingerprint
        assert one.recognised.sketches[0].shared_with(two.recognised.sketches[0])[0].size == 0
        _register(another, path)
    key = (tmp_path / "another" / "key").read_bytes()
    assert key not in (tmp_path / "another" / "registry.sqlite").read_bytes()


def _people(path, rows, odd=None):
    chance = np.random.default_rng(5)
    people = [
        {"id": f"p{chance.integers(10**9)}", "wage": chance.normal(), "age": chance.normal()} for _ in range(rows)
    ]
    if odd is not None:
        people[7][odd] = "yes"
    path.write_text("".join(json.dumps(each) + "\n" for each in people))
    return path


@pytest.mark.parametrize("odd", [None, "note_on_jane_roe"])
def test_no_name_of_a_column_is_kept_in_clear_and_records_are_recognised(registry, registry_folder, tmp_path, odd):
    dataset = _register(registry, _people(tmp_path / "people.jsonl", 300, odd))
    kept = b"".join(path.read_bytes() for path in registry_folder.rglob("*") if path.is_file())
    assert not [name for name in ("note_on_jane_roe", "wage", '"age"') if name.encode() in kept]
    for changed in (_people(tmp_path / "more.jsonl", 350), _people(tmp_path / "odd.jsonl", 300, "another_note")):
        found = registry.lookup(changed)
        assert [(kin.file.dataset, kin.by) for kin in found.kin] == [(dataset.id, "values of 'id'")]
        assert [kin.by for kin in registry.look_again(found).kin] == [kin.by for kin in found.kin]


def test_names_that_a_registry_of_before_has_in_clear_are_understood(registry, registry_folder, loans, tmp_path):
    first = registry.lookup(_write(loans, tmp_path / "loans.csv"))
    dataset = registry.register(first, tmp_path / "ledger.sqlite", "a-ledger-of-before")
    clear = recognise([loans.lazy()], registry._store.key).sketches
    with sqlite3.connect(registry_folder / "registry.sqlite") as database:
        database.execute("DELETE FROM sketch")
        for sketch in clear:
            columns, hashes = json.dumps(sketch.columns), sketch.hashes.astype("<u8").tobytes()
            places = sketch.places.astype("<i8").tobytes()
            values = (first.fingerprint, sketch.kind, columns, sketch.distinct, hashes, places)
            database.execute("INSERT INTO sketch VALUES (?, ?, ?, ?, ?, ?)", values)
    database.close()
    kin = registry.lookup(_write(loans.head(900), tmp_path / "part.parquet")).kin
    assert [each.file.dataset for each in kin] == [dataset.id]
    assert kin[0].of_file > 0.9


def test_it_is_for_nobody_else_to_read(registry, registry_folder, loans, tmp_path):
    _register(registry, _write(loans, tmp_path / "loans.csv"))
    assert registry_folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in registry_folder.iterdir() if path.is_file()} == {0o600}


def test_where_it_lies(monkeypatch, tmp_path):
    monkeypatch.setenv("COPRIV_REGISTRY", str(tmp_path / "a"))
    assert default_folder() == tmp_path / "a"
    monkeypatch.delenv("COPRIV_REGISTRY")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert default_folder() == tmp_path / "state" / "copriv"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder() == tmp_path / ".local" / "state" / "copriv"


def test_another_format_and_damage_are_refused(registry_folder):
    Registry().close()
    with sqlite3.connect(registry_folder / "registry.sqlite") as database:
        database.execute("UPDATE registry SET format = 99")
    database.close()
    with pytest.raises(LedgerFailure, match="format is 99"):
        Registry()
    (registry_folder / "registry.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(LedgerFailure, match="cannot be used"):
        Registry()


_RACE = """
import sys
from pathlib import Path
from copriv.errors import LedgerRefusal
from copriv.owner.registry import Registry
path, name = Path(sys.argv[1]), sys.argv[2]
with Registry() as registry:
    found = registry.lookup(path)
    with registry.exclusive():
        found = registry.look_again(found)
        if found.dataset is None:
            registry.register(found, path.with_name(name), name * 8)
            print("made")
"""


def test_of_processes_that_register_a_file_at_once_one_does(loans, tmp_path):
    path = _write(loans.head(50), tmp_path / "loans.csv")
    command = [sys.executable, "-c", _RACE, str(path)]
    workers = [subprocess.Popen([*command, f"w{i}"], stdout=subprocess.PIPE, text=True) for i in range(3)]
    told = [worker.communicate()[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0, 0]
    assert "".join(told) == "made\n"
    with Registry() as registry:
        assert len(registry.datasets()) == 1


def test_a_version_belongs_to_its_dataset_and_what_is_unrelated_is_not_asked_again(registry, loans, tmp_path):
    dataset = _register(registry, _write(loans, tmp_path / "loans.csv"))
    later = _write(loans.head(900), tmp_path / "later.csv")
    registry.add_version(dataset, registry.lookup(later), "an officer")
    assert registry.lookup(later).dataset == dataset
    other = _write(loans.head(800), tmp_path / "other.csv")
    found = registry.lookup(other)
    assert len(found.kin) == 2
    registry.note_unrelated(found, "an officer")
    assert registry.lookup(other).kin == ()


def test_a_private_file_is_never_public_and_a_public_one_never_private(registry, loans, tmp_path):
    private, public = _write(loans.head(500), tmp_path / "private.csv"), _write(loans.tail(500), tmp_path / "pub.csv")
    _register(registry, private)
    registry.note_public(registry.lookup(public))
    registry.note_public(registry.lookup(public))
    with pytest.raises(BadInput, match="is private"):
        registry.note_public(registry.lookup(private))
    with pytest.raises(BadInput, match="declared public"):
        registry.register(registry.lookup(public), tmp_path / "b.sqlite", "b" * 32)


def test_the_rows_of_a_file_stay_what_they_were_declared(registry, loans, tmp_path):
    path = _write(loans, tmp_path / "loans.csv")
    _register(registry, path)
    fingerprint = registry.lookup(path).fingerprint
    first = split_rows(1000, np.arange(900, 1000), "--public-rows 100")
    registry.keep_split(fingerprint, first)
    kept = registry.known_file(fingerprint).split
    assert np.array_equal(kept.public, first.public)
    assert np.array_equal(kept.private, first.private)
    require_same_split(kept, first)
    for rows, words in (((850, 1000), "50 private rows as public"), ((950, 1000), "50 public rows as private")):
        with pytest.raises(BadInput, match=words) as refused:
            require_same_split(kept, split_rows(1000, np.arange(*rows), ""))
        assert "--public-rows 100" in refused.value.remedy


def test_rows_of_other_files_stay_what_they_were_declared(registry, loans, tmp_path):
    """Also in a new version, and in a file of public rows."""
    path = _write(loans, tmp_path / "loans.csv")
    _register(registry, path)
    registry.keep_split(registry.lookup(path).fingerprint, split_rows(1000, np.arange(900, 1000), "--public-rows 100"))
    (known,) = registry.known_files()

    def check(frame, public):
        found = registry.lookup(_write(frame, tmp_path / "next.parquet"))
        require_no_conflict(found.recognised.sketches, split_rows(frame.height, np.asarray(public, int), ""), known)

    check(loans.tail(50), np.arange(50))
    check(loans.head(600), [])
    check(pl.concat([loans.head(900), loans.tail(100).sample(60, seed=1)]), np.arange(900, 960))
    with pytest.raises(BadInput, match="private there and would be public here"):
        check(loans.head(60), np.arange(60))
    with pytest.raises(BadInput, match="public there and would be private here"):
        check(loans.tail(50), [])
    with pytest.raises(BadInput, match=r"loans\.csv"):
        check(loans.reverse(), np.arange(900, 1000))


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson"])
def test_a_name_of_one_record_does_not_keep_the_others_from_being_recognised(registry, tmp_path, suffix):
    """Without ids, rows are all there is; the name is gone in the next version, or another record has another one."""

    def write(name, odd):
        people = [{"wage": k * 0.37 % 1, "age": k * 0.61 % 1} | ({odd: "yes"} if k == 7 else {}) for k in range(300)]
        path = tmp_path / f"{name}{suffix}"
        path.write_text("".join(json.dumps(each) + "\n" for each in people[: 300 if name == "first" else 290]))
        return path

    dataset = _register(registry, write("first", "note_on_jane_roe"))
    for odd in ("wage", "another_note"):
        kin = registry.lookup(write("next", odd)).kin
        assert [(each.file.dataset, each.by, each.relation) for each in kin] == [(dataset.id, "rows", "a version of")]
