"""Sweeps: every combination once, the same again, interrupted and shared out; real noise only when it is said."""

import pickle
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import pytest

from copriv.api import sweep as sweep_api
from copriv.api import sweep_cell
from copriv.api.data import Data, read
from copriv.api.sweep import sweep
from copriv.api.sweep_grid import Grid
from copriv.errors import BadInput, CoprivError
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.runtime.events import Note, Progress

FAST = {"rule": "statistics"}


@pytest.fixture
def table():
    x = np.tile(np.arange(20) / 10, 30)
    return pl.DataFrame({"x": x, "y": 3.0 + 2 * x, "bank": np.repeat(["a", "b"], 300)})


@pytest.fixture
def data(table):
    return read(table, target="y", owners=2, features=10)


@pytest.fixture(autouse=True)
def own_registry(tmp_path, monkeypatch):
    monkeypatch.setenv("COPRIV_REGISTRY", str(tmp_path / "registry"))


@pytest.fixture
def no_files(monkeypatch):
    """Tables and pictures have a test of their own."""
    monkeypatch.setattr(sweep_api, "write_files", lambda *_given, **_named: [])


def without_seconds(rows):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def test_a_grid_is_the_product_of_its_lists():
    grid = Grid.of({"epsilon": np.array([0.1, 1.0]), "rule": ["auto", "paper"], "rates": (1.0, 2.0)})
    assert len(grid.cells()) == 4
    assert grid.cells()[0] == {"rates": (1.0, 2.0), "epsilon": 0.1, "rule": "auto"}
    assert all(isinstance(cell["epsilon"], float) for cell in grid.cells())
    assert Grid.of({}).cells() == [{}]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"epsilon": []}, "nothing to vary epsilon over"),
        ({"epsilonn": [1]}, "epsilonn"),
        ({"ask": [1]}, "'ask'"),
        ({"runs": 0}, "0 runs"),
        ({"rule": ["statistics", "magic"]}, "magic"),
        ({"epsilon": [1], "horizon": ["many"]}, "wrong type"),
        ({"seed": [1, 2], "runs": 2}, "seeds are varied"),
        ({"epsilon": list(range(1, 400)), "clip": [0.1 * k for k in range(1, 400)]}, "a grid of"),
        ({"simulate": False, "dask": "local"}, "cannot be shared out"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_written(data, tmp_path, given, named):
    with pytest.raises(BadInput) as refused:
        sweep(data, out=tmp_path / "sweep", **given)
    assert named in str(refused.value)
    assert not (tmp_path / "sweep").exists()


def test_every_combination_is_trained_once_and_the_same_again(data):
    grid = {"epsilon": [1, 10], "regularization": [1e-5, 1e-3]}
    found = sweep(data, **grid, runs=2, **FAST)
    frame = found.to_polars()
    assert frame.select("epsilon", "regularization", "run").rows() == [
        (epsilon, weight, run) for epsilon in (1, 10) for weight in (1e-5, 1e-3) for run in (1, 2)
    ]
    assert frame["seed"].to_list() == [0, 1] * 4
    assert frame["relative_fitness"].n_unique() == 8
    assert set(frame["noise"]) == {"seeded"}
    assert found.simulated
    assert "not private" in found.statement
    assert "not private" in found._repr_html_()
    assert msgspec.json.encode(found.to_dict())
    again = sweep(data, **grid, runs=2, **FAST)
    assert without_seconds(again.rows) == without_seconds(found.rows)


def test_options_of_the_table_can_be_varied(table):
    table = table.with_columns(z=pl.col("x") ** 2)
    found = sweep(read(table, target="y", owners="bank", features=10), features=[1, 2], owners=["bank", 3], **FAST)
    frame = found.to_polars()
    assert frame["features_used"].to_list() == [1, 1, 2, 2]
    assert frame["owners_used"].to_list() == [2, 3, 2, 3]
    assert frame["owners"].to_list() == ["bank", "3"] * 2


def test_settings_that_do_not_go_together_are_told(data):
    told = []
    found = sweep(data, epsilon=[1, "much"], tell=told.append, **FAST)
    assert [row["problem"] is None for row in found.rows] == [True, False]
    assert found.to_polars()["relative_fitness"].null_count() == 1
    assert any("1 of 2 settings cannot be trained" in getattr(event, "words", "") for event in told)
    with pytest.raises(BadInput, match="no setting of the grid"):
        sweep(data, epsilon=["much", "more"], **FAST)


@pytest.mark.usefixtures("no_files")
def test_an_interrupted_sweep_goes_on_where_it_was(data, tmp_path, monkeypatch):
    """Killed after two of three; the third alone is trained then. A twin that forgets is caught by the count."""
    grid, folder, trained = {"epsilon": [1, 2, 3]}, tmp_path / "sweep", []
    whole = sweep(data, **grid, **FAST)
    carry_out = sweep_cell.carry_out

    def stop_at_the_third(job):
        if len(trained) == 2:
            raise KeyboardInterrupt
        trained.append(job.request.epsilon)
        return carry_out(job)

    monkeypatch.setattr(sweep_cell, "carry_out", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        sweep(data, **grid, out=folder, **FAST)
    assert len(list((folder / "cells").glob("*.json"))) == 2
    monkeypatch.setattr(sweep_cell, "carry_out", lambda job: (trained.append(job.request.epsilon), carry_out(job))[1])
    told = []
    resumed = sweep(data, **grid, out=folder, tell=told.append, **FAST)
    assert trained == ["1", "2", "3"]
    assert resumed.reused == 2
    assert without_seconds(resumed.rows) == without_seconds(whole.rows)
    assert any(isinstance(event, Note) and "2 of them done before" in event.words for event in told)
    assert next(event.done for event in told if isinstance(event, Progress)) == 2


@pytest.mark.usefixtures("no_files")
def test_another_grid_adds_to_the_folder_and_other_records_are_not_taken_for_these(data, table, tmp_path):
    folder = tmp_path / "sweep"
    sweep(data, epsilon=[1, 2], out=folder, **FAST)
    wider = sweep(data, epsilon=[1, 2, 3], out=folder, **FAST)
    assert wider.reused == 2
    other = read(table.with_columns(pl.col("y") + pl.col("x") ** 2), target="y", owners=2, features=10)
    assert sweep(other, epsilon=[1, 2, 3], out=folder, **FAST).reused == 0


def test_a_folder_has_tables_and_pictures(data, tmp_path, rendered):
    found = sweep(data, epsilon=[0.5, 1, 10], delta=[0.0, 1e-6], rule=["statistics"], out=tmp_path / "sweep")
    assert {path.name for path in found.files} == {
        "sweep.csv",
        "sweep.parquet",
        *(f"sweep_{name}.{kind}" for name in ("epsilon", "delta") for kind in ("png", "svg")),
    }
    assert pl.read_parquet(tmp_path / "sweep" / "sweep.parquet").equals(found.to_polars())
    assert pl.read_csv(tmp_path / "sweep" / "sweep.csv").height == 6
    assert "not private" in (tmp_path / "sweep" / "sweep_epsilon.svg").read_text()


def test_a_cluster_gives_the_same_rows(table, tmp_path):
    from dask.distributed import LocalCluster

    table.write_parquet(tmp_path / "table.parquet")
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    for source in (table, tmp_path / "table.parquet"):
        data = read(source, target="y", owners=2, features=10)
        here = sweep(data, epsilon=[1, "much", 10], **FAST)
        with LocalCluster(**options) as cluster:
            there = sweep(data, epsilon=[1, "much", 10], dask=cluster.scheduler_address, **FAST)
        assert without_seconds(there.rows) == without_seconds(here.rows)


def test_no_scheduler_is_an_error_with_a_remedy(data, monkeypatch):
    from copriv.records import cluster

    monkeypatch.setattr(cluster, "_PATIENCE", "0.2s")
    with pytest.raises(BadInput, match="no Dask scheduler answers"):
        sweep(data, epsilon=[1, 2], dask="tcp://127.0.0.1:9", **FAST)


def test_what_is_sent_to_workers_can_be_pickled(data):
    problem = pickle.loads(pickle.dumps(BadInput("too much", remedy="give less", value=3)))  # noqa: S301
    assert (type(problem), problem.problem, problem.remedy, problem.value) == (BadInput, "too much", "give less", 3)


@pytest.mark.usefixtures("no_files")
def test_real_noise_is_charged_for_every_training_and_refused_beyond_the_budget(table, tmp_path):
    path = tmp_path / "table.parquet"
    table.write_parquet(path)
    data, told = read(path, target="y", owners=2, features=10), []
    with pytest.raises(BadInput, match="nobody has said how much"):
        sweep(data, epsilon=[1, 2], simulate=False, **FAST)
    with pytest.raises(CoprivError, match=r"ε = 3 .*budget has 2\.5 left"):
        sweep(data, epsilon=[1, 2], simulate=False, budget=2.5, out=tmp_path / "sweep", **FAST)
    assert not (tmp_path / "sweep").exists()
    found = sweep(data, epsilon=[1, 2], simulate=False, budget=4, out=tmp_path / "sweep", tell=told.append, **FAST)
    assert set(found.to_polars()["noise"]) == {"secure"}
    assert "ε = 3" in found.statement
    assert any("cost at most ε = 3 " in getattr(event, "words", "") for event in told)
    # What is finished is neither trained nor charged again; what is left of the budget is for others.
    assert sweep(data, epsilon=[1, 2], simulate=False, budget=4, out=tmp_path / "sweep", **FAST).rows == found.rows
    with pytest.raises(CoprivError, match="budget has 1 left"):
        sweep(data, epsilon=[1, 1.5], simulate=False, out=tmp_path / "other", **FAST)


@pytest.mark.usefixtures("no_files")
def test_a_training_with_real_noise_that_was_interrupted_pays_once(table, tmp_path, monkeypatch):
    path, folder = tmp_path / "table.parquet", tmp_path / "sweep"
    table.write_parquet(path)
    data = read(path, target="y", owners=2, features=10)
    keep = sweep_cell.told
    monkeypatch.setattr(sweep_cell, "told", lambda _figures: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        sweep(data, epsilon=[1, 2], simulate=False, budget=3, out=folder, **FAST)
    monkeypatch.setattr(sweep_cell, "told", keep)
    found = sweep(data, epsilon=[1, 2], simulate=False, budget=3, out=folder, **FAST)
    assert [row["epsilon_promised"] for row in found.rows] == [1, 2]


def test_without_a_table_synthetic_banks_are_trained():
    found = sweep(None, epsilon=[1], owners=2, records_per_owner=500, public_rows=500, features=10, **FAST)
    assert found.rows[0]["records"] == 1000
    assert Data(None).loading().data is None


def test_runs_differ_in_noise_and_not_in_rows(table):
    """Rows are shuffled by one seed: the best fitness, which noise cannot move, is the same in all runs."""
    noisy = table.with_columns(pl.Series("y", table["y"].to_numpy() + np.random.default_rng(0).normal(size=600)))
    found = sweep(read(noisy, target="y", owners=2, shuffle=True, features=10), runs=3, **FAST).to_polars()
    assert found["best_fitness"].n_unique() == 1
    assert found["relative_fitness"].n_unique() == 3
    reseeded = sweep(read(noisy, target="y", owners=2, shuffle=True, features=10), seed=[0, 1], **FAST).to_polars()
    assert reseeded["best_fitness"].n_unique() == 2


def spent(registry):
    """Everything that any ledger of a registry was charged, in billionths."""
    total = 0
    for path in (registry / "ledgers").glob("*.sqlite"):
        with closing(SqliteLedger(path)) as ledger:
            total += sum(account.spent for account in ledger.state().accounts.values())
    return total


def names_and_modes(folder):
    return {path.relative_to(folder): path.stat().st_mode & 0o777 for path in [folder, *folder.rglob("*")]}


@pytest.mark.usefixtures("no_files")
@pytest.mark.parametrize("simulate", [True, False])
def test_names_in_the_folder_say_nothing_about_records_and_nobody_else_reads_it(table, tmp_path, monkeypatch, simulate):
    """Whoever has all records and the same options, but another key, finds none of the names."""
    folder, grid = tmp_path / "sweep", {"epsilon": [1], "simulate": simulate, "budget": 2, **FAST}
    folder.mkdir(mode=0o755)
    sweep(read(table, target="y", owners=2, features=10), out=folder, **grid)
    modes = names_and_modes(folder)
    assert {mode for path, mode in modes.items() if (folder / path).is_dir()} == {0o700}
    assert all(modes[path] == 0o600 for path in modes if path.parts[:1] == ("cells",) and path.suffix)
    monkeypatch.setenv("COPRIV_REGISTRY", str(tmp_path / "of somebody else"))
    sweep(read(table, target="y", owners=2, features=10), out=tmp_path / "guessed", **grid)
    keys = [{path.stem for path in (place / "cells").iterdir()} for place in (folder, tmp_path / "guessed")]
    assert [len(each) for each in keys] == [1, 1]
    assert not keys[0] & keys[1]
    if not simulate:
        assert {path.name for path in (folder / "runs").iterdir()} == keys[0]


def test_a_folder_with_other_things_in_it_stays_as_open_as_it_is(data, tmp_path):
    folder = tmp_path / "home"
    folder.mkdir()
    folder.chmod(0o755)
    (folder / "mine.txt").touch()
    sweep(data, epsilon=[1], out=folder, **FAST)
    assert names_and_modes(folder)[Path()] == 0o755
    assert names_and_modes(folder)[Path("cells")] == 0o700


@pytest.mark.parametrize(
    ("reading", "grid", "named"),
    [
        ({}, {"epsilon": 1, "public_rows": [100, 200], "budget": 5}, "public_rows is varied"),
        ({}, {"epsilon": 1, "budget": [100, 1]}, "budget is varied"),
        ({"shuffle": True}, {"epsilon": 1, "seed": [0, 1], "budget": 5}, "seed of a shuffle is varied"),
        ({}, {"epsilon": 1, "shuffle": [False, True], "budget": 5}, "shuffle is varied"),
        ({}, {"epsilon": [1, 0.5], "delta": 1e-6, "budget": 1.5}, "training 2 of 2 cannot be paid"),
        (
            {},
            {"epsilon": 0.5, "delta": [0.0, 1e-6], "rule": "paper", "horizon": 50, "budget": 5},
            "training 2 of 2 cannot be paid",
        ),
        ({}, {"epsilon": [1, 0.5], "budget": 5, "ledgers": "shared"}, "2 trainings share the ledger"),
        ({}, {"epsilon": 1, "clip": [1.0, -1.0], "budget": 5}, "training 2 of 2"),
    ],
)
def test_what_would_stop_a_sweep_with_real_noise_halfway_stops_it_before_anything_is_paid(
    tmp_path, monkeypatch, reading, grid, named
):
    a, b = np.random.default_rng(6).normal(size=(2, 700))
    table = pl.DataFrame({"a": a, "b": b, "y": 2 * a + b})
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CoprivError, match=named):
        sweep(
            read(table, target="y", owners=2, **({"features": 10} | reading)),
            simulate=False,
            out=tmp_path / "sweep",
            **(FAST | grid),
        )
    assert spent(tmp_path / "registry") == 0
    assert not (tmp_path / "sweep").exists()


@pytest.mark.usefixtures("no_files")
def test_with_real_noise_seeds_of_the_schedule_can_be_varied(data, tmp_path):
    found = sweep(data, epsilon=1, seed=[0, 1], budget=2, simulate=False, **FAST)
    assert [row["seed"] for row in found.rows] == [0, 1]
    assert spent(tmp_path / "registry") == 2 * 10**9


@pytest.mark.usefixtures("no_files")
@pytest.mark.parametrize("stopped", ["_keep_start", "Checkpoint.create"])
def test_a_sweep_that_was_stopped_while_a_run_folder_was_made_goes_on(data, tmp_path, monkeypatch, stopped):
    def stop(*_given, **_named):
        raise KeyboardInterrupt

    grid = {"epsilon": [1, 0.5], "budget": 2, "simulate": False, "out": tmp_path / "sweep", **FAST}
    with monkeypatch.context() as patch:
        patch.setattr(f"copriv.runtime.local_run.{stopped}", stop)
        with pytest.raises(KeyboardInterrupt):
            sweep(data, **grid)
    assert len(list((tmp_path / "sweep" / "runs").iterdir())) == 1
    assert [row["epsilon_promised"] for row in sweep(data, **grid).rows] == [1, 0.5]
    assert spent(tmp_path / "registry") == 1.5 * 10**9


@pytest.mark.usefixtures("no_files")
def test_a_run_folder_with_ledgers_is_never_removed(data, tmp_path, monkeypatch):
    grid = {"epsilon": [1], "budget": 2, "simulate": False, "out": tmp_path / "sweep", **FAST}
    with monkeypatch.context() as patch:
        patch.setattr(sweep_cell, "told", lambda _figures: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            sweep(data, **grid)
    (folder,) = (tmp_path / "sweep" / "runs").iterdir()
    (folder / "start.json").unlink()
    (folder / "run.json").unlink(missing_ok=True)
    with pytest.raises(BadInput, match="never overwritten"):
        sweep(data, **grid)
    assert list((folder / "ledgers").iterdir())
