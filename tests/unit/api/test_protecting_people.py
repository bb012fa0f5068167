"""People instead of rows, from `read` to the statement: one budget, one unit, and only the number of people is told."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rich.console import Console

import copriv as cp
from copriv.errors import BadInput, LedgerRefusal
from copriv.owner.registry import Registry
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.protocol.study_file import read_study
from copriv.report.dossier_files import write_dossier
from copriv.report.lifetime import show_lifetime
from copriv.report.network_sheets import owner_lines
from copriv.runtime.events import Warned
from copriv.runtime.owner_status import OwnerStatus

UNIT = "person (all of its rows at this owner)"


@pytest.fixture(scope="module")
def visits():
    """Visits of 400 patients of three wards, from 1 to 6 each."""
    chance = np.random.default_rng(4)
    sizes = chance.integers(1, 7, 400)
    who = np.repeat(np.arange(400), sizes)
    age, dose = chance.normal(50, 10, 400)[who], chance.normal(4, 1, who.size)
    stay = age / 20 + dose + chance.normal(0, 0.5, 400)[who] + chance.normal(0, 0.5, who.size)
    wards = np.array(["east", "north", "west"])[who % 3]
    return pl.DataFrame({"patient": who, "age": age, "dose": dose, "ward": wards, "stay": stay})


@pytest.fixture(scope="module")
def public(visits):
    some = visits.filter(pl.col("patient") < 380)
    return some.with_columns(pl.col("patient") + 5000, pl.col("dose") * 1.01).drop("ward")


def _read(visits, public, **reading):
    return cp.read(visits, target="stay", owners="ward", public=public, features=2, **reading)


def test_a_run_protects_people_and_says_so(visits, public, tmp_path):
    run = cp.train(_read(visits, public, person="patient"), 1.0, out=tmp_path / "run", rule="newton")
    assert sorted(run.spent["records"].to_list()) == [133, 133, 134]
    terms = run.model.file.terms
    assert (terms.unit, terms.person, terms.rows_cap, terms.weigh) == ("person", "patient", 100, "person")
    assert "patient" not in run.model.file.dictionary.required_columns()
    assert f"unit: one {UNIT}" in run.statement
    assert "A person at several owners: what is lost at each of them adds up." in run.statement
    assert "people by 'patient', at most 100 rows of each" in run.statement
    assert f"per {UNIT}" in repr(run)
    kept = json.loads((tmp_path / "run" / "privacy.json").read_text())
    assert kept["unit"] == UNIT
    assert kept["deployment"]["privacy_loss"]["privacy_unit"] == "person"
    page = (tmp_path / "run" / "report.html").read_text()
    assert "400 people" in page
    assert "400 records" not in page
    dossier = Path(write_dossier(tmp_path / "run").dossier).read_text()
    assert "people that trained" in dossier
    assert "A person at several owners: the promises of all of them add up." in dossier
    rows = [visits.height, *visits["ward"].value_counts()["count"]]
    for name in ("privacy.json", "privacy.html", "report.html", "model.json"):
        text = (tmp_path / "run" / name).read_text().replace(",", "")
        assert not [number for number in rows if re.search(rf"(?<![\d.]){number}(?![\d.])", text)]


def test_the_same_records_under_another_unit_have_no_other_budget(visits, public, tmp_path):
    cp.train(_read(visits, public, person="patient"), 1.0, out=tmp_path / "people", rule="newton")
    with pytest.raises(LedgerRefusal, match="counts what one person has lost, and this study is about one record"):
        cp.train(_read(visits, public, skip=["patient"]), 1.0, out=tmp_path / "rows", rule="newton")
    again = cp.train(_read(visits, public, person="patient"), 0.5, out=tmp_path / "again", rule="newton")
    with Registry() as registry:
        [dataset] = registry.datasets()
    ledger = SqliteLedger(dataset.ledger)
    state = ledger.state()
    ledger.close()
    assert (state.unit, state.accounts["epsilon"].spent) == ("person", 1_500_000_000)
    assert again.figures.dataset.unit == UNIT


def test_records_that_have_spent_as_rows_pay_for_no_person(visits, public, tmp_path):
    cp.train(_read(visits, public), 1.0, out=tmp_path / "rows", rule="newton")
    with pytest.raises(LedgerRefusal, match="counts what one record has lost, and this study is about one person"):
        cp.train(_read(visits, public, person="patient"), 1.0, out=tmp_path / "people", rule="newton")
    assert not (tmp_path / "people").exists()


def test_a_repeated_id_is_pointed_out_where_nobody_said_that_it_names_people(visits, public):
    told = []
    cp.train(_read(visits, public), 0.5, simulate=True, rule="newton", tell=told.append)
    [words] = [event.words for event in told if isinstance(event, Warned) and "patient" in event.words]
    assert "(at most 6): ε = 0.5 for one record is ε = 3 for that person" in words
    told.clear()
    cp.train(_read(visits, public, person="patient"), 0.5, simulate=True, rule="newton", tell=told.append)
    assert not any(isinstance(event, Warned) and "patient" in event.words for event in told)


@pytest.mark.parametrize("weigh", ["person", "row"])
def test_forecast_plan_train_and_verdict_speak_of_the_same_people(visits, public, weigh, tmp_path):
    who = cp.Scenario([133] * 3, epsilon=1.0)
    settings = {"target": "stay", "features": 2, "rule": "newton", "person": "patient", "weigh": weigh}
    told = cp.forecast(public, who, **settings)
    assert told.to_dict()["unit"] == UNIT
    assert told.to_dict()["public"]["rows"] == 380
    plan = cp.plan(public, who, **settings)
    assert plan.candidates[0].relative_fitness == told.relative_fitness
    study = plan.save(tmp_path / "study.toml")
    terms = read_study(study.read_text()).terms
    assert (terms.unit, terms.weigh) == ("person", weigh)
    assert terms.rows_cap == (100 if weigh == "person" else 6)
    data = cp.read(visits, owners="ward")
    run = cp.train(data, study=study, simulate=True)
    assert run.model.file.terms.digest() == terms.digest()
    mine = visits.filter(pl.col("ward") == "east")
    found = cp.verdict(mine, public, cp.Scenario([134] * 3), **settings)
    assert found.to_dict()["records"] == mine["patient"].n_unique()
    assert found.to_dict()["unit"] == UNIT


def test_what_contradicts_a_study_about_people_is_refused(public, tmp_path):
    settings = {"target": "stay", "features": 2, "rule": "newton"}
    study = cp.plan(public, cp.Scenario([133] * 3), person="patient", **settings).save(tmp_path / "study.toml")
    with pytest.raises(BadInput, match="--person"):
        cp.forecast(public, cp.Scenario([133] * 3), study=study, person="age")
    with pytest.raises(BadInput, match="without --person"):
        cp.forecast(public, cp.Scenario([133] * 3), rows_cap=3, **settings)


def test_rows_of_people_are_not_shuffled(visits, public):
    """How many rows one person has would decide who is public, and where everybody is."""
    data = cp.read(visits, target="stay", owners="ward", public=public, person="patient", shuffle=True)
    with pytest.raises(BadInput, match="--shuffle with --person"):
        cp.train(data, epsilon=1.0, simulate=True)


def test_people_that_weigh_alike_and_rows_that_do_have_other_best_models(visits, public):
    """Frequent patients that differ count more where rows weigh alike."""
    often = visits.with_columns(
        pl.when(pl.len().over("patient") > 4).then(pl.col("stay") + 2).otherwise(pl.col("stay")).alias("stay")
    )
    models = {
        weigh: cp.train(_read(often, public, person="patient", weigh=weigh), 1e4, simulate=True, rule="newton").model
        for weigh in ("person", "row")
    }
    means = {weigh: float(np.mean(model.predict(visits))) for weigh, model in models.items()}
    assert means["row"] > means["person"] + 0.1


def test_months_and_status_say_whom_they_are_about(public, capsys):
    found = cp.plan(
        public, cp.Scenario([130] * 3), target="stay", person="patient", months=2, features=2, rule="newton"
    )
    assert found.to_dict()["lifetime"]["lifetime"]["unit"] == UNIT
    show_lifetime(found.lifetime, Console(width=300), found.terms.unit_words)
    assert f"no {UNIT} loses more than ε = 1" in capsys.readouterr().out
    numbers = {"epsilon": 1.0, "epsilon_spent": 0.5, "epsilon_left": 0.5, "delta": 0.0, "answers": 1, "answers_left": 1}
    names = dict.fromkeys(("owner", "study", "terms", "broker", "learner"), "x")
    nothing = {"last_contact": None, "last_word": None, "model": False, "weakness": None, "certificates": []}
    status = OwnerStatus(**numbers, **names, **nothing, approved=True, unit=UNIT, adjacency="replace-one")
    assert f"promised  ε = 1, δ = 0 for any one {UNIT} (replace-one)" in "\n".join(owner_lines(status))


def test_forecasts_are_less_sure_where_few_people_have_nearly_all_rows():
    chance = np.random.default_rng(3)
    who = np.concatenate([np.repeat(np.arange(40), 40), np.arange(40, 400)])
    age = chance.normal(50, 10, who.size)
    table = pl.DataFrame({"patient": who, "age": age, "stay": age / 20 + chance.normal(0, 1, who.size)})
    widths = []
    for weigh in ("person", "row"):
        settings = {"target": "stay", "person": "patient", "weigh": weigh, "features": 1, "rule": "newton"}
        low, high = cp.forecast(table, cp.Scenario([300] * 3, epsilon=10.0), **settings).interval
        widths.append(np.log(high / low))
    assert widths[1] > 1.2 * widths[0]
