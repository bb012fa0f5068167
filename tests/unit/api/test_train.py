"""`train`: the same run as the command line's, for files and for tables in memory; the same records have one budget."""

import json
import stat

import pandas as pd
import polars as pl
import pytest

import copriv as cp
from copriv.errors import BadInput, LedgerRefusal
from copriv.owner.registry import Registry
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.runtime.events import Answered, Charged, Done, Note

QUICK = {"rule": "statistics"}


@pytest.fixture
def data(loans):
    return cp.read(loans, target="int_rate", owners="bank", features=3, public_rows=300)


def _read(table, **changes):
    return cp.read(table, **({"target": "int_rate", "owners": "bank", "features": 3, "public_rows": 300} | changes))


def _lost():
    """What each known set of records has lost, by its ledger."""
    with Registry() as registry:
        datasets = registry.datasets()
    lost = []
    for dataset in datasets:
        ledger = SqliteLedger(dataset.ledger)
        lost.append(sum(account.spent for account in ledger.state().accounts.values()) / 1e9)
        ledger.close()
    return lost


def test_a_simulation_repeats_keeps_nothing_and_says_that_it_is_not_private(
    data, registry_folder, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    one, two, other = (cp.train(data, 2, simulate=True, seed=seed, **QUICK) for seed in (1, 1, 2))
    assert one.model.file.theta == two.model.file.theta != other.model.file.theta
    assert "simulated, not private" in repr(one)
    assert "simulated, not private" in one._repr_html_()
    assert "simulated, not private" in repr(one.model)
    assert "not private" in one.statement
    assert (one.private, one.folder, one.ledgers) == (False, None, None)
    assert not registry_folder.exists()
    assert list(tmp_path.iterdir()) == []


def test_it_is_the_run_of_the_command_line(loans, tmp_path, monkeypatch, capsys):
    from copriv.cli import main as command

    monkeypatch.chdir(tmp_path)
    loans.write_parquet("loans.parquet")
    words = "train --data loans.parquet --target int_rate --owner-column bank --features 3 --public-rows 300 --shuffle"
    monkeypatch.setattr("sys.argv", ["copriv", *words.split(), "--rule", "statistics", "--simulate", "--json"])
    with pytest.raises(SystemExit):
        command.main()
    told = json.loads(capsys.readouterr().out)
    run = cp.train(_read("loans.parquet", shuffle=True), simulate=True, **QUICK)
    changing = ("seconds", "run_folder")
    kept = json.loads(json.dumps(run.to_dict()))
    assert {k: v for k, v in kept.items() if k not in changing} == {k: v for k, v in told.items() if k not in changing}


def test_records_in_memory_have_one_budget_whatever_they_are_held_in(loans, registry_folder):
    first = cp.train(_read(loans), 1, **QUICK)
    assert first.private
    assert first.figures.dataset.epsilon == 1
    second = cp.train(_read(loans.to_pandas()), 0.5, **QUICK)
    third = cp.train(_read(loans.to_arrow(), owners=2), 0.25, **QUICK)
    assert third.figures.dataset.ledger == second.figures.dataset.ledger == first.figures.dataset.ledger
    assert third.figures.dataset.epsilon == 1.75
    assert _lost() == [1.75]
    with pytest.raises(LedgerRefusal, match="the budget is 2"):
        cp.train(_read(loans), 1, budget=2, **QUICK)
    assert _lost() == [1.75]


def test_a_file_and_a_table_of_it_are_known_as_the_same_records(loans, tmp_path):
    loans.write_csv(tmp_path / "loans.csv")
    paid = cp.train(_read(tmp_path / "loans.csv"), 1, out=tmp_path / "first", **QUICK).figures.dataset
    with pytest.raises(BadInput, match="looks like a version of"):
        cp.train(_read(loans), 1, **QUICK)
    assert _lost() == [1]
    asked = []

    def ask(question):
        asked.append(question)
        return True

    run = cp.train(_read(loans), 1, ask=ask, **QUICK)
    assert "the same records" in asked[0]
    assert (run.figures.dataset.ledger, run.figures.dataset.epsilon) == (paid.ledger, 2)
    again = cp.train(_read(loans.with_columns(pl.col("dti") * 1.0)), 1, version_of=paid.ledger, **QUICK)
    assert again.figures.dataset.epsilon == 3


def test_a_record_more_is_another_table_and_is_recognised_all_the_same(loans):
    cp.train(_read(loans), 1, **QUICK)
    with pytest.raises(BadInput, match="looks like a version of"):
        cp.train(_read(loans.head(899)), 1, **QUICK)


def test_nothing_of_a_table_is_written_to_disk(loans, registry_folder):
    """Bytes of private cells in any file would be found, as the twin shows."""
    marked = loans.with_columns(
        pl.Series("grade", ["Quetzalcoatl-7731", *loans["grade"].to_list()[1:]]),
        pl.Series("loan_amnt", [1234567.25, *loans["loan_amnt"].to_list()[1:]]),
    )
    cp.train(_read(marked), 1, **QUICK)

    def found():
        files = [path for path in registry_folder.rglob("*") if path.is_file()]
        assert len(files) > 5
        return [path for path in files if any(mark in path.read_bytes() for mark in (b"Quetzalcoatl", b"1234567.25"))]

    assert found() == []
    (registry_folder / "twin.csv").write_text(marked.head(1).write_csv())
    assert len(found()) == 1


def test_public_tables_stay_public_and_private_ones_private(loans, public):
    run = cp.train(_read(loans, public=public, public_rows=None), 1, **QUICK)
    assert run.figures.public.rows == 400
    with pytest.raises(BadInput, match="declared public before"):
        cp.train(_read(public, owners=2, public_rows=100), 1, **QUICK)
    with pytest.raises(BadInput, match="is a file of private records"):
        cp.train(_read(loans, public=loans, public_rows=None), 1, **QUICK)
    with pytest.raises(BadInput, match="rows stay what they were declared first"):
        cp.train(_read(loans), 1, **QUICK)


def test_owners_may_promise_different_things(data):
    listed = cp.train(data, [0.5, 1, 2], simulate=True, **QUICK)
    named = cp.train(data, {"west": 2, "east": 0.5, "north": 1}, simulate=True, **QUICK)
    written = cp.train(data, "0.5,1,2", simulate=True, **QUICK)
    for run in (listed, named, written):
        assert run.spent["promised"].to_list() == [0.5, 1, 2]
    with pytest.raises(BadInput, match="2 values of epsilon for 3 owners"):
        cp.train(data, [1, 2], simulate=True)
    with pytest.raises(BadInput, match="epsilon is -1"):
        cp.train(data, -1, simulate=True)


def test_rates_may_be_given(data):
    run = cp.train(data, 1, simulate=True, rule="paper", horizon=40, rates={"east": 1, "north": 1, "west": 6})
    assert run.spent["most_answers"][2] > run.spent["most_answers"][0]


def test_a_setting_that_nobody_knows_is_refused_before_anything_is_read(data, registry_folder):
    with pytest.raises(BadInput, match="train knows no setting 'epsilons'"):
        cp.train(data, epsilons=3)
    with pytest.raises(BadInput, match="wrong type"):
        cp.train(data, delta="much")
    assert not registry_folder.exists()


def test_what_is_saved_is_private_and_the_ledgers_stay(data, tmp_path, registry_folder):
    run = cp.train(data, 1, **QUICK)
    assert run.ledgers.is_relative_to(registry_folder)
    assert len(list(run.ledgers.glob("*.sqlite"))) == 3
    folder = run.save(tmp_path / "first")
    names = {path.name for path in folder.iterdir()}
    assert names == {
        *("model.json", "privacy.json", "privacy.html", "schedule.json"),
        *("convergence.png", "convergence.svg", "run.json"),
        *("report.html", "report.json", "report-internal.html", "inference.json"),
    }
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert cp.load(folder / "model.json").file == cp.load(folder).file == run.model.file
    with pytest.raises(BadInput, match="never overwritten"):
        run.save(folder)


def test_with_a_folder_everything_is_in_it(data, tmp_path):
    run = cp.train(data, 1, out=tmp_path / "run", **QUICK)
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names >= {"ledgers", "checkpoint.sqlite", "start.json", "run.json", "convergence.svg"}
    assert run.ledgers == tmp_path / "run" / "ledgers"
    with pytest.raises(BadInput, match="never overwritten"):
        cp.train(data, 1, out=tmp_path / "run", **QUICK)


def test_a_run_in_memory_that_was_interrupted_is_not_resumed_with_other_records(data, tmp_path, monkeypatch):
    from copriv.runtime import local_run
    from copriv.runtime.events import silent
    from copriv.runtime.local_load import Sources
    from copriv.runtime.local_request import Person

    def cut(*_arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(local_run, "_train", cut)
        with pytest.raises(KeyboardInterrupt):
            cp.train(data, 1, out=tmp_path / "run", **QUICK)
    assert _lost() == [1]
    with pytest.raises(BadInput, match="were in memory"):
        local_run.reopen(tmp_path / "run", Sources(), Person(), silent)


def test_a_run_can_be_looked_at_from_all_sides(data):
    run = cp.train(data, 2, delta=1e-6, simulate=True, rule="paper", horizon=30)
    assert isinstance(run.spent, pl.DataFrame)
    assert run.spent.columns[:3] == ["owner", "answers", "epsilon"]
    assert run.metrics["relative_fitness"] == run.figures.relative_fitness
    row = run.to_polars()
    assert row.shape[0] == 1
    assert row.select("epsilon", "delta", "unit", "adjacency").row(0) == (2.0, 1e-6, "record", "replace-one")
    page = run._repr_html_()
    for words in ("ε = 2", "δ = 1e-06", "record", "replace-one", "east", "not private"):
        assert words in page
    assert "http" not in page
    for words in ("ε = 2", "replace-one", "Not protected:", "public: nobody in them is protected"):
        assert words in run.statement


def test_names_that_others_have_chosen_are_shown_as_text(loans):
    banks = pl.Series("bank", ["<script>alert(1)</script>", "b", "c"] * 300)
    run = cp.train(_read(loans.with_columns(banks)), 1, simulate=True, **QUICK)
    assert "<script>" not in run._repr_html_()


def test_what_happens_is_told_as_events(data):
    heard = []
    run = cp.train(data, 1, tell=heard.append, **QUICK)
    assert tuple(heard) == run.events
    assert {event.owner for event in heard if isinstance(event, Answered)} == {"east", "north", "west"}
    assert sum(isinstance(event, Charged) for event in heard) == 1
    assert isinstance(heard[-1], Done)
    assert any("public" in event.words for event in heard if isinstance(event, Note))


def test_a_pandas_table_with_another_index_is_the_same_table(loans):
    frame = loans.to_pandas()
    one = cp.train(_read(frame), 1, simulate=True, **QUICK)
    other = cp.train(_read(frame.set_index(pd.Index(range(5, 905)))), 1, simulate=True, **QUICK)
    assert one.model.file.theta == other.model.file.theta


def test_the_seed_of_a_training_leaves_the_shuffle_of_its_rows_alone():
    table = {"x": [float(k) for k in range(300)], "y": [k % 7 + k / 100 for k in range(300)]}
    data = cp.read(table, target="y", owners=2, shuffle=True, seed=5, features=10)
    same, other = (
        cp.train(each, 10, simulate=True, rule="newton", seed=seed)
        for each, seed in ((data, 1), (cp.read(table, target="y", owners=2, shuffle=True, seed=6, features=10), 1))
    )
    again = cp.train(data, 10, simulate=True, rule="newton", seed=2)
    assert same.metrics["best_fitness"] == again.metrics["best_fitness"]
    assert same.metrics["best_fitness"] != other.metrics["best_fitness"]
