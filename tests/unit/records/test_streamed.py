"""Records that are read anew for every pass: the same bits however they are read, and none from a file that changed."""

import os
import pickle
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from copriv.errors import BadTable, RecordsChanged
from copriv.losses.huber import HuberLoss
from copriv.losses.logistic import LogisticLoss
from copriv.losses.moments import pack_moments, pack_second_moments, positive_share
from copriv.losses.passes import bounded_average_value, clipped_average_gradient
from copriv.losses.sample import Sample, some_of
from copriv.losses.squared import SquaredLoss
from copriv.records import streamed
from copriv.records.cluster import HERE, DaskSpread, connect
from copriv.records.file_format import PLAIN, parse_format
from copriv.records.fit_features import fit_dictionary
from copriv.records.load_owner import load_owner, open_owner_records
from copriv.records.resources import GIB, Resources
from copriv.records.streamed import StreamedRecords
from copriv.records.table import open_table
from copriv.records.target import TargetChoice
from copriv.vectors import Norm

ROWS = 2_900
LOSSES = (SquaredLoss(), HuberLoss(0.25), LogisticLoss())


def make_table(rows=ROWS, seed=0):
    generator = np.random.default_rng(seed)
    cells = {f"x{place}": generator.normal(size=rows).round(6) for place in range(4)}
    grade = generator.choice(["A", "B", "C"], rows)
    target = sum(cells.values()) + (grade == "B") + generator.normal(size=rows)
    target[5] = np.nan
    return pl.DataFrame({**cells, "grade": grade, "y": target.round(6)})


TABLE = make_table()
DICTIONARY = fit_dictionary(make_table(500, seed=1), TargetChoice("y"), 6)[0]
THETA = np.random.default_rng(2).normal(size=DICTIONARY.parameters)


@pytest.fixture(autouse=True)
def short_stretches(monkeypatch):
    """Two blocks a stretch, so that a small table has several."""
    monkeypatch.setattr(streamed, "_STRETCH_NUMBERS", 1024 * DICTIONARY.parameters)


@pytest.fixture
def path(tmp_path):
    TABLE.write_parquet(tmp_path / "table.parquet", row_group_size=700)
    return tmp_path / "table.parquet"


def read(path, batch_rows=1000, spread=None):
    found = open_owner_records(path, PLAIN, DICTIONARY, Resources(0, spread, batch_rows)).records
    assert isinstance(found, StreamedRecords)
    return found


def bits(records):
    """Every kind of answer, to the last bit."""
    found = [clipped_average_gradient(loss, records, THETA, 0.1, norm) for loss in LOSSES for norm in Norm]
    found += [np.array([bounded_average_value(loss, records, THETA, 0.3)]) for loss in LOSSES]
    found += [pack(records, norm) for pack in (pack_moments, pack_second_moments) for norm in Norm]
    found.append(positive_share(records))
    return b"".join(answer.tobytes() for answer in found)


def gradient(records):
    return clipped_average_gradient(SquaredLoss(), records, THETA, 0.1, Norm.L1).tobytes()


def in_memory():
    return load_owner(TABLE.lazy(), DICTIONARY).sample


def test_every_batch_size_gives_the_bits_of_memory(path):
    assert bits(read(path, 1000)) == bits(read(path, ROWS)) == bits(in_memory())
    seven = read(path, 7)
    assert gradient(seven) == gradient(in_memory())
    assert len(seven.digests) == 3
    assert seven.digests == read(path, 1000).digests


def test_a_sum_batch_by_batch_is_caught(path, monkeypatch):
    """The twin adds up batches as they come."""

    def as_they_come(batches, _rows, _reduction):
        yield from (Sample.of_rows(*batch) for batch in batches)

    monkeypatch.setattr(streamed, "_stretches", as_they_come)
    assert bits(read(path, 700)) != bits(read(path, 300))
    assert bits(read(path, 700)) != bits(in_memory())


def test_a_share_of_positives_is_that_of_memory_and_of_all_rows(path):
    """A row without a usable target counts and is not positive; the twin that leaves it out says another share."""
    positives = int(np.sum(in_memory().targets > 0))
    for batch_rows in (7, 1000, ROWS):
        assert positive_share(read(path, batch_rows)).tolist() == [positives / ROWS]
    assert positive_share(in_memory().usable()).tolist() == [positives / (ROWS - 1)] != [positives / ROWS]


def test_a_folder_and_every_format_give_the_same_bits(path, tmp_path):
    expected = gradient(in_memory())
    folder = tmp_path / "parts"
    folder.mkdir()
    for place, first in enumerate(range(0, ROWS, 611)):
        TABLE[first : first + 611].write_parquet(folder / f"part-{place}.parquet")
    (folder / "_SUCCESS").touch()
    TABLE.write_csv(tmp_path / "table.csv")
    TABLE.write_ipc(tmp_path / "table.arrow")
    for place in (folder, tmp_path / "table.csv", tmp_path / "table.arrow"):
        assert gradient(read(place)) == expected, place.name
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    TABLE[:1000].write_csv(mixed / "a.csv")
    TABLE[1000:].write_csv(mixed / "b.csv")
    assert gradient(open_owner_records(mixed, PLAIN, DICTIONARY, Resources(2 * GIB)).records) == expected
    assert open_table(folder).collect().equals(TABLE)


def test_files_that_are_no_parts_of_one_table_are_refused(tmp_path):
    TABLE.write_parquet(tmp_path / "a.parquet")
    TABLE.drop("x1").write_parquet(tmp_path / "b.parquet")
    with pytest.raises(BadTable, match="'x1' is in one of them only"):
        open_table(tmp_path)
    TABLE.with_columns(pl.col("x1").cast(pl.String)).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(BadTable, match="'x1' is Float64 there, and String here"):
        open_table(tmp_path)
    TABLE.with_columns(pl.col("x1").cast(pl.Int64)).write_parquet(tmp_path / "b.parquet")
    assert open_table(tmp_path).collect().schema == TABLE.schema
    (tmp_path / "b.parquet").rename(tmp_path / "b.txt")
    with pytest.raises(BadTable, match="neither CSV nor Parquet"):
        open_table(tmp_path)
    (tmp_path / "b.txt").unlink()
    (tmp_path / "inner").mkdir()
    with pytest.raises(BadTable, match="a folder 'inner' in it"):
        open_table(tmp_path)


class Pickled:
    """Workers that get and give everything as bytes."""

    def __call__(self, run, shared, tasks):
        from cloudpickle import dumps

        for task in tasks:
            yield pickle.loads(dumps(run(pickle.loads(dumps(shared)), pickle.loads(dumps(task)))))  # noqa: S301


def test_a_cluster_gives_the_same_bits(path, monkeypatch):
    from dask.distributed import Client, LocalCluster

    expected = bits(in_memory())
    monkeypatch.setattr(streamed, "_STRETCHES_A_TASK", 1)
    assert bits(read(path, 100, Pickled())) == expected
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        assert bits(read(path, 1000, DaskSpread(client))) == expected


def test_a_cluster_on_this_machine_lets_no_other_user_in(monkeypatch):
    """Dask runs whatever it is sent, by whoever can reach its port."""
    from dask import distributed

    seen = []

    class Fake:
        def __init__(self, *_given, **options):
            seen.append(options)

        def __enter__(self):
            return self

        def __exit__(self, *_problem):
            pass

    monkeypatch.setattr(distributed, "LocalCluster", Fake)
    monkeypatch.setattr(distributed, "Client", Fake)
    with connect(HERE):
        pass
    security = seen[0]["security"]
    assert security.require_encryption
    assert security.get_connection_args("scheduler")["ssl_context"].verify_mode.name == "CERT_REQUIRED"


def test_every_pass_is_told_from_beginning_to_end(path):
    told = []
    found = open_owner_records(
        path, PLAIN, DICTIONARY, Resources(0, None, 500), tell=lambda done, total: told.append((done, total))
    ).records
    assert told[-1] == (ROWS, ROWS)
    told.clear()
    pack_moments(found, Norm.L2)
    assert [done for done, _ in told] == [1024, 2048, ROWS]


def test_what_fits_in_memory_is_kept(path):
    notices = open_owner_records(path, PLAIN, DICTIONARY, Resources(0)).notices
    kept = open_owner_records(path, PLAIN, DICTIONARY, Resources(2 * GIB))
    assert isinstance(kept.records, Sample)
    assert kept.notices == notices == ("1 rows have no usable target: they count and contribute nothing",)
    assert np.array_equal(kept.records.columns, in_memory().columns)
    assert Resources(2 * GIB).fits(10**7, 12)
    assert not Resources(2 * GIB).fits(10**8, 12)


def test_records_to_look_at_are_spread_over_the_table(path, monkeypatch):
    from copriv.losses import sample

    whole, found = in_memory(), read(path)
    assert np.array_equal(some_of(found).columns, whole.columns)
    monkeypatch.setattr(sample, "_MOST_NUMBERS", 100 * DICTIONARY.parameters)
    few = some_of(found)
    assert 90 <= few.records <= 110
    assert {row.tobytes() for row in few.columns.T} <= {row.tobytes() for row in whole.columns.T}


def test_bounds_are_those_of_the_first_pass(path):
    assert read(path).extremes() == in_memory().extremes()


@pytest.mark.parametrize("keeps_time", [False, True])
def test_a_file_that_changes_between_passes_is_refused(path, keeps_time):
    """Also one that looks as before from outside: its content is compared with the first pass."""
    found = read(path)
    before = path.stat()
    other = TABLE.with_columns(pl.when(pl.int_range(ROWS) == 2000).then(0.0).otherwise("x1").alias("x1"))
    other.write_parquet(path, row_group_size=700)
    if keeps_time:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        found = replace(found, stamps=None)
    with pytest.raises(RecordsChanged, match=r"have changed|not those that were read first"):
        bits(found)


def test_rows_that_come_or_go_are_refused(path, tmp_path):
    found = read(path)
    TABLE[:-1].write_parquet(path)
    with pytest.raises(RecordsChanged, match=r"have changed since they were first read: table\.parquet"):
        found.require_unchanged()
    with pytest.raises(RecordsChanged, match="have changed"):
        bits(found)
    TABLE.write_csv(tmp_path / "table.csv")
    found = replace(read(tmp_path / "table.csv"), stamps=None)
    TABLE[:-1].write_csv(tmp_path / "table.csv")
    with pytest.raises(RecordsChanged, match=r"2,899 of 2,900 rows"):
        gradient(found)
    folder = tmp_path / "parts"
    folder.mkdir()
    TABLE.write_parquet(folder / "a.parquet")
    found = read(folder)
    TABLE.write_parquet(folder / "b.parquet")
    with pytest.raises(RecordsChanged, match=r"first read: b\.parquet"):
        bits(found)


def test_a_file_that_is_written_to_during_a_pass_is_refused(path):
    found = read(path)

    def touch(sample):
        os.utime(path)
        return np.ones((1, 1))

    with pytest.raises(RecordsChanged, match="have changed"):
        list(found.each(touch))


def test_texts_that_are_held_in_memory_are_refused_if_they_do_not_fit(tmp_path):
    TABLE.write_csv(tmp_path / "table.csv")
    (tmp_path / "table.jsonl").write_bytes(b"{}\n" * 1000)
    with pytest.raises(BadTable, match="read into memory as a whole"):
        open_owner_records(tmp_path / "table.jsonl", PLAIN, DICTIONARY, Resources(2000))
    with pytest.raises(BadTable, match="read into memory as a whole"):
        open_owner_records(tmp_path / "table.csv", parse_format(encoding="latin-1"), DICTIONARY, Resources(2000))


def test_categories_without_a_place_are_counted_whatever_the_batches(tmp_path):
    dictionary = fit_dictionary(make_table(500, seed=1), TargetChoice("y"), "pls:2")[0]
    odd = TABLE.with_columns(grade=pl.when(pl.int_range(pl.len()) % 29 == 0).then(pl.lit("Z")).otherwise("grade"))
    odd.write_parquet(tmp_path / "odd.parquet")
    expected = load_owner(odd.lazy(), dictionary).notices
    assert any("grade: 100 cells" in words for words in expected)
    for batch_rows in (100, ROWS):
        found = open_owner_records(tmp_path / "odd.parquet", PLAIN, dictionary, Resources(0, None, batch_rows))
        assert isinstance(found.records, StreamedRecords)
        assert found.notices == expected, batch_rows
