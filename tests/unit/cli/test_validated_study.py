"""Validation from the command line: over real links, on one machine, and what it will cost."""

import json
import threading

import numpy as np
import pytest

from copriv.cli.owner import run_serve
from copriv.records import lending_like
from copriv.report.dossier import Sources, verify
from copriv.report.dossier_sections import make_dossier
from copriv.runtime.rehearsal import free_port

PUBLIC = ("--public", "public.parquet", "--target", "int_rate", "--features", 5)


@pytest.fixture
def tables(tmp_path):
    for seed, name, rows in ((0, "public", 1000), (1, "east", 400), (2, "north", 300)):
        lending_like.generate(rows, np.random.default_rng(seed)).write_parquet(tmp_path / f"{name}.parquet")
    return tmp_path


def test_owners_on_their_own_machines_validate_a_model(copriv, tables):
    validating = ("--validate", 0.3, "--held-back", 0.4)
    drafted = copriv("learner", "draft", *PUBLIC, "--owners", 2, "--records", 350, "--answers", 1, *validating)
    assert drafted.code == 0, drafted.err
    assert copriv("learner", "init", "study.toml", "--port", free_port()).code == 0
    for name in ("east", "north"):
        assert copriv("learner", "invite", name).code == 0
        joined = copriv("owner", "join", f"{name}.invitation", "--data", f"{name}.parquet",
                        "--folder", f"home-{name}", "--epsilon", "2", "--yes", "--json")  # fmt: skip
        assert joined.code == 0, joined.err
    serving = [
        threading.Thread(
            target=run_serve, args=(tables / f"home-{name}", tables / f"{name}.jsonl", None), kwargs={"as_json": True}
        )
        for name in ("east", "north")
    ]
    for thread in serving:
        thread.start()
    outcome = copriv("learner", "run", "--json")
    for thread in serving:
        thread.join()
    assert outcome.code == 0, outcome.err
    folder = tables / "learner" / "run"
    found = json.loads((folder / "report.json").read_bytes())["validation"]
    assert set(found["figures"]) == {"r2", "rmse"}
    assert [owner["owner"] for owner in found["owners"]] == ["east", "north"]
    assert [owner["paid"] for owner in found["owners"]] == [pytest.approx(0.6), pytest.approx(0.6)]
    told = json.loads(outcome.out.splitlines()[-1])
    assert [entry["epsilon"] for entry in told["spent"]] == [pytest.approx(2), pytest.approx(2)]
    assert told["records"] < 0.75 * 700  # those that train
    assert "Validated on records that did not train" in (folder / "report.html").read_text(encoding="utf-8")
    assert verify(make_dossier(Sources(folder)), folder) == []


def test_a_training_tells_its_validation(copriv, tables):
    read = ("--data", "east.parquet", "--target", "int_rate", "--owners", 2, "--features", 3)
    arguments = (*read, "--simulate", "--epsilon", 50)
    outcome = copriv("train", *arguments, "--validate", 0.3, "--out", "run", "--json")
    assert outcome.code == 0, outcome.err
    told = json.loads(outcome.out)
    assert told["validation"]["figures"]["r2"]["of_records"][0] <= told["held_back"]["r2"]
    for wrong in (("--validate", 1), ("--validate", 0.2, "--held-back", 0.95)):
        refused = copriv("train", *arguments, *wrong, "--out", "other")
        assert refused.code != 0
        assert "Traceback" not in refused.err
    assert not (tables / "other").exists()


def test_what_a_figure_costs(copriv, tables):
    who = ("--owners", 10, "--records", 2000)
    found = copriv("forecast", *PUBLIC, *who, "--within", "r2=0.1", "--json")
    assert found.code == 0, found.err
    cost = json.loads(found.out)
    assert (cost["records"], cost["unit"], cost["adjacency"]) == (4000, "record", "replace-one")
    assert cost["epsilon"] > 0
    words = copriv("forecast", *PUBLIC, *who, "--within", "r2=0.0001").out
    assert "out of reach" in words
    for wrong in ("auc=0.1", "r2", "r2=-1"):
        assert copriv("forecast", *PUBLIC, *who, "--within", wrong).code != 0
