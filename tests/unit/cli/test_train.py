"""`copriv train`: what it prints and writes."""

import contextlib
import json
import sqlite3

import numpy as np
import pytest

from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.records import lending_like

REQUIRED = {
    "owners",
    "records",
    "features",
    "rule",
    "horizon",
    "guarantee",
    "relative_fitness",
    "cost_of_privacy",
    "fitness",
    "best_fitness",
    "alone",
    "spent",
    "seconds",
}
QUICK = ["--rule", "paper", "--horizon", "60", "--public-rows", "400", "--features", "4"]


@pytest.fixture(scope="module")
def finished(copriv_once, table, tmp_path_factory):
    """One finished run at ε = 2 for the tests that only look at it: what it told, and the folder it ran in."""
    folder = tmp_path_factory.mktemp("finished")
    words = ("--target", "int_rate", "--owner-column", "bank", *QUICK, "--json", "--epsilon", "2", "--out", "run")
    outcome = copriv_once(folder, "train", "--data", table, *words)
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out), folder


@pytest.fixture
def train(copriv, loans):
    """Train quickly on the loans of three banks."""

    def call(*arguments, owners=("--owner-column", "bank"), target=("--target", "int_rate")):
        return copriv("train", "--data", loans, *target, *owners, *QUICK, *arguments)

    return call


def test_one_json_object_with_everything_that_was_asked_for(train, tmp_path):
    outcome = train("--json", "--epsilon", "2", "--delta", "1e-6", "--out", "run")
    assert outcome.code == 0, outcome.err
    told = json.loads(outcome.out)
    assert told.keys() >= REQUIRED
    assert told["owners"] == 3
    assert told["records"] == 2000
    assert told["guarantee"] == {"epsilon": 2.0, "delta": 1e-6, "unit": "record", "adjacency": "replace-one"}
    assert told["alone"].keys() >= {"median", "gaining"}
    for entry in told["spent"]:
        assert entry.keys() >= {"owner", "answers", "epsilon", "delta"}
        assert 0 < entry["epsilon"] <= 2.0
    assert sum(entry["answers"] for entry in told["spent"]) == 60 - told["refused"]


def test_the_run_folder_is_complete_and_the_ledgers_agree(finished):
    told, folder = finished[0], finished[1] / "run"
    assert {path.name for path in folder.iterdir()} == {
        "model.json",
        "run.json",
        "schedule.json",
        "convergence.png",
        "convergence.svg",
        "checkpoint.sqlite",
        "start.json",
        "privacy.json",
        "privacy.html",
        "report.html",
        "report.json",
        "report-internal.html",
        "inference.json",
        "ledgers",
    }
    assert (folder / "convergence.png").stat().st_size > 5000
    assert "</svg>" in (folder / "convergence.svg").read_text()
    assert json.loads((folder / "run.json").read_text()) == told
    ledgers = [SqliteLedger(path) for path in sorted((folder / "ledgers").glob("*.sqlite"))]
    assert [len(ledger.state().queries) for ledger in ledgers] == [entry["answers"] for entry in told["spent"]]
    for ledger in ledgers:
        assert ledger.state().spent <= ledger.state().budget.nano <= 2 * 10**9
        ledger.close()


def test_what_is_meant_to_be_passed_on_holds_no_figure_about_private_records(finished):
    told, folder = finished
    for file in ("model.json", "privacy.json", "privacy.html"):
        text = (folder / "run" / file).read_text()
        for name in ("relative_fitness", "best_fitness", '"alone"', '"path"', "cost_of_privacy", "ψ"):
            assert name not in text, (file, name)
        for figure in ("relative_fitness", "best_fitness", "fitness", "cost_of_privacy"):
            assert str(told[figure])[:8] not in text, (file, figure)
    assert "not differentially private" in told["not_private"]


def test_the_privacy_statement_says_what_an_officer_asks(finished, train, copriv, tmp_path):
    told, folder = finished
    statement = json.loads((folder / "run" / "privacy.json").read_text())
    assert (statement["unit"], statement["adjacency"], statement["private"]) == ("record", "replace-one", True)
    for owner, spent in zip(statement["owners"], told["spent"], strict=True):
        assert owner["epsilon"] == 2.0
        assert owner["epsilon_spent"] == spent["epsilon"] <= 2.0
        assert owner["mechanism"] == "laplace"
        path = next((folder / "run" / "ledgers").glob(f"{owner['owner']}-*.sqlite"))
        head = json.loads(copriv("ledger", "receipt", path, "--json").out)["head"]
        assert head not in (folder / "run" / "privacy.json").read_text()
    page = (folder / "run" / "privacy.html").read_text()
    for words in ("What is protected", "What is not", "honest but curious", "replace-one", "ε spent"):
        assert words in page
    assert "http" not in page
    train("--simulate", "--out", "simulated")
    assert "protects nobody" in (tmp_path / "simulated" / "privacy.html").read_text()


def test_a_newcomer_can_read_the_table(train):
    outcome = train("--out", "run")
    assert outcome.code == 0, outcome.err
    for words in (
        "joint, private",
        "alone, median owner",
        "ε spent",
        "replace-one",
        "run folder: run",
        "R²",
        "own + public",
        "pooled, no privacy",
        "on their own records",
    ):
        assert words in outcome.out
    assert "left out, web address: url" in outcome.err


def test_seeds_repeat_simulations_but_never_real_noise(train):
    def psi(*arguments):
        psi.count += 1
        told = json.loads(train("--json", "--seed", "5", "--out", f"run{psi.count}", *arguments).out)
        return told["relative_fitness"], [entry["answers"] for entry in told["spent"]]

    psi.count = 0
    assert psi("--simulate") == psi("--simulate")
    one, two = psi(), psi()
    assert one[1] == two[1]
    assert one[0] != two[0]


def test_a_simulation_keeps_no_ledger_and_says_that_it_protects_nobody(train, tmp_path):
    outcome = train("--simulate", "--out", "run")
    assert not (tmp_path / "run" / "ledgers").exists()
    assert "protects nobody" in outcome.out


def test_a_schedule_can_be_replayed(train, tmp_path):
    first = json.loads(train("--json", "--out", "one", "--simulate", "--seed", "1").out)
    again = train(
        "--json", "--out", "two", "--simulate", "--seed", "1", "--schedule", tmp_path / "one" / "schedule.json"
    )
    assert json.loads(again.out)["relative_fitness"] == first["relative_fitness"]


def test_an_interrupted_run_is_resumed_and_a_finished_one_is_not(train, copriv, tmp_path, monkeypatch):
    from copriv.runtime.local import Watch

    class Cut(Exception):
        """The power goes."""

    real, seen = Watch.see, []

    def see(watch, iteration, model):
        seen.append(iteration.number)
        if len(seen) == 25:
            raise Cut
        real(watch, iteration, model)

    monkeypatch.setattr(Watch, "see", see)
    assert train("--out", "run").code == 70
    assert not (tmp_path / "run" / "run.json").exists()
    outcome = copriv("train", "--resume", "run", "--json")
    assert outcome.code == 0, outcome.err
    told = json.loads(outcome.out)
    assert sum(entry["answers"] for entry in told["spent"]) == 60 - told["refused"]
    assert seen == list(range(1, 61))
    assert [k for k, _ in told["path"]] == list(range(1, 61))
    assert "may be passed on" in (tmp_path / "run" / "report.html").read_text()
    again = copriv("train", "--resume", "run")
    assert again.code == 2
    assert "is finished" in again.err
    assert copriv("train", "--resume", "nowhere").code == 2


def test_ledgers_can_be_shared_by_runs_until_the_budget_is_gone(train, copriv, tmp_path):
    spent = []
    for number in (1, 2):
        outcome = train("--ledgers", "shared", "--out", f"run{number}", "--seed", "1", "--answers", "5")
        spent.append(outcome.code)
        if number == 1:
            for path in (tmp_path / "shared").glob("*.sqlite"):
                copriv("ledger", "epoch", path, "--epsilon", "1.5", "--signed-off-by", "an officer")
    assert spent == [0, 2]
    assert "left, and this may take" in outcome.err
    assert "copriv ledger epoch" in outcome.err
    assert not (tmp_path / "run2").exists()


def test_every_owner_can_have_its_own_epsilon_and_rate(train, tmp_path):
    (tmp_path / "eps.csv").write_text("owner,epsilon\n2,4\n0,0.5\n1,1\n")
    (tmp_path / "rates.json").write_text("[1, 1, 6]")
    told = json.loads(train("--json", "--epsilons", "eps.csv", "--rates", "rates.json").out)
    assert [entry["promised"] for entry in told["spent"]] == [0.5, 1.0, 4.0]
    assert all(entry["epsilon"] <= entry["promised"] for entry in told["spent"])
    assert told["guarantee"]["epsilon"] == 4.0
    assert told["spent"][2]["most_answers"] > told["spent"][0]["most_answers"]


@pytest.mark.parametrize("loss", ["squared", "huber", "logistic"])
def test_every_loss_trains(train, loss):
    extra = ["--positive-above", "12"] if loss == "logistic" else []
    told = json.loads(train("--json", "--loss", loss, *extra).out)
    assert told["loss"] == loss
    assert told["relative_fitness"] >= 0


def test_an_ordinal_target_is_said_aloud(train):
    outcome = train("--json", "--ordinal", target=("--target", "grade"))
    assert outcome.code == 0
    assert "A = 1, B = 2" in outcome.err


def test_synthetic_hospitals(copriv):
    arguments = ("--synthetic", "hospital", "--owners", "3", "--records-per-owner", "500", *QUICK)
    outcome = copriv("train", "--json", *arguments)
    assert json.loads(outcome.out)["target"] == "Length of Stay"


def test_a_first_file_needs_no_number_of_public_rows(copriv, tmp_path):
    lending_like.generate(1000, np.random.default_rng(5)).write_parquet(tmp_path / "first.parquet")
    quick = ("--target", "int_rate", "--owners", "2", "--features", "3", "--rule", "statistics", "--json")
    outcome = copriv("train", "--data", "first.parquet", *quick)
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["public"]["rows"] == 200
    assert "the last 200 of 1,000 rows are taken as public" in outcome.err
    again = copriv("train", "--data", "first.parquet", *quick, "--public-rows", "200", "--out", "again")
    assert again.code == 0, again.err
    other = copriv("train", "--data", "first.parquet", *quick, "--public-rows", "300", "--out", "other")
    assert "rows stay what they were declared first" in other.err


def test_the_shuffle_has_a_seed_that_is_said_and_stays(train):
    first, second = (train("--simulate", "--shuffle", "--json", "--out", name) for name in ("one", "two"))
    assert "rows shuffled with seed 0" in first.err
    assert json.loads(first.out)["relative_fitness"] == json.loads(second.out)["relative_fitness"]
    assert json.loads(first.out)["seed"] == 0
    other = train("--simulate", "--shuffle", "--seed", "7", "--json", "--out", "three")
    assert "rows shuffled with seed 7" in other.err


def test_a_column_can_be_left_out(train, tmp_path):
    assert train("--simulate", "--skip", "grade", "--skip", "sub_grade", "--out", "run").code == 0
    columns = [
        column["name"] for column in json.loads((tmp_path / "run" / "model.json").read_text())["dictionary"]["columns"]
    ]
    assert columns
    assert not {"grade", "sub_grade"} & set(columns)
    refused = train("--skip", "grad", "--out", "never")
    assert refused.code == 2
    assert "'grad'" in refused.err


def test_epsilons_may_be_listed(train):
    told = json.loads(train("--simulate", "--epsilon", "0.5,1,4", "--json", "--out", "run").out)
    assert [entry["promised"] for entry in told["spent"]] == [0.5, 1, 4]
    refused = train("--epsilon", "1,2", "--out", "never")
    assert "2 values of epsilon for 3 owners" in refused.err


def test_one_owner_is_one_owner(train):
    outcome = train("--simulate", owners=("--owners", "1"))
    assert "1 owners" not in outcome.out + outcome.err


def test_a_run_of_the_version_before_is_resumed(train, copriv, tmp_path, monkeypatch):
    """Its start.json has neither the names of today nor a default for everything."""
    from copriv.runtime import local_run

    with monkeypatch.context() as patch:
        patch.setattr(local_run, "_train", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        assert train("--out", "run").code == 130
    path = tmp_path / "run" / "start.json"
    start = json.loads(path.read_text())
    for name in ("skip", "given_rates", "positive", "encoding", "delimiter", "decimal", "dates"):
        del start["options"][name]
    start["options"] |= {"as_json": False, "seed": None}
    path.write_text(json.dumps(start))
    outcome = copriv("train", "--resume", "run", "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["dataset"]["epsilon"] == pytest.approx(1)


def entries(folder):
    """How many entries each ledger below a folder has."""
    counts = {}
    for path in sorted(folder.rglob("*.sqlite")):
        with contextlib.closing(sqlite3.connect(path)) as connection:
            tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            if "entry" in tables:
                counts[path.name] = connection.execute("SELECT count(*) FROM entry").fetchone()[0]
    return counts


def test_a_run_that_would_go_on_with_another_study_writes_to_no_ledger(train, copriv, tmp_path, monkeypatch):
    from copriv.runtime import local_run

    with monkeypatch.context() as patch:
        patch.setattr(local_run, "_train", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        assert train("--out", "run").code == 130
    path = tmp_path / "run" / "start.json"
    start = json.loads(path.read_text())
    path.write_text(json.dumps(start | {"options": start["options"] | {"regularization": 0.01}}))
    before = entries(tmp_path)
    outcome = copriv("train", "--resume", "run")
    assert outcome.code == 2
    assert "of another study" in outcome.err
    assert before
    assert entries(tmp_path) == before
