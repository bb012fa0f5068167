"""`copriv carry`: the models of months as one, from a study file and run folders."""

import json

import msgspec
import numpy as np
import pytest
from typer.testing import CliRunner

import copriv as cp
from copriv.api.carry import carry_runs
from copriv.api.plan import plan
from copriv.cli.main import app
from copriv.errors import BadInput, CoprivError
from copriv.planning.scenario import Scenario
from copriv.records import lending_like
from copriv.report.model_file import ModelFile, Promised, read_model, write_model
from copriv.report.months_file import MonthsFile, months_beside, read_months

RUNNER = CliRunner()


@pytest.fixture(scope="module")
def table():
    return lending_like.generate(400, np.random.default_rng(0))


@pytest.fixture(scope="module")
def found(table):
    return plan(table, Scenario([300] * 2), target="int_rate", months=3, window=1, features=2, rule="newton")


@pytest.fixture
def study(found, tmp_path):
    return found.save(tmp_path / "study.toml")


def write(found, place, theta, owner="a", noise="secure", promise=(0.5, 0.0)):
    promised = (Promised(owner, *promise),)
    write_model(ModelFile(tuple(theta), found.terms, found.dictionary, promised, noise), place)
    return place


def call(*words):
    told = RUNNER.invoke(app, [*map(str, words)])
    if isinstance(told.exception, CoprivError):
        raise told.exception
    assert told.exit_code == 0, told.output
    return told.output


def test_a_plan_keeps_its_months_beside_the_study(found, study):
    assert read_months(study) == MonthsFile.of(found.lifetime)
    assert read_months(study).combination(2) == found.lifetime.combination(2)
    with pytest.raises(BadInput, match="never overwritten"):
        found.save(study)


def test_months_are_one_model_of_all_their_owners(found, study, tmp_path):
    first = write(found, tmp_path / "1.json", [0.1, 0.2, 0.0], owner="gone")
    second = write(found, tmp_path / "2.json", [0.3, 0.0, 0.4])
    out = tmp_path / "carried.json"
    told = json.loads(call("carry", study, first, second, "--out", out, "--json"))
    carried = read_model(out)
    assert carried.theta == pytest.approx((0.2, 0.1, 0.2))
    assert [(each.owner, each.epsilon) for each in carried.promised] == [("gone", 1.0), ("a", 1.0)]
    assert told["weights"] == pytest.approx([0.5, 0.5])
    assert told["predicted"] == pytest.approx(found.lifetime.combination(2).predicted)
    assert (told["epsilon"], told["delta"], told["unit"], told["adjacency"]) == (1.0, 0.0, "record", "replace-one")
    assert told["private"]
    assert found.carry([cp.load(first), cp.load(second)]).file == carried
    with pytest.raises(BadInput, match="exists"):
        call("carry", study, first, "--out", out)
    said = call("carry", study, first, "--out", tmp_path / "one.json")
    assert "ε = 1, δ = 0 for any one record (replace-one) in all" in said
    with pytest.raises(BadInput, match="there is no folder"):
        call("carry", study, first, "--out", tmp_path / "nowhere" / "one.json")


def test_no_month_has_promised_more_than_the_mean_says(found, study, tmp_path):
    """Owners may promise more than a plan asks for, and the months file may have been written by anybody."""
    first = write(found, tmp_path / "1.json", [0.1, 0.2, 0.0], promise=(5.0, 1e-6))
    second = write(found, tmp_path / "2.json", [0.3, 0.0, 0.4])
    carried = carry_runs(study, [first, second]).model.file
    assert [(each.epsilon, each.delta) for each in carried.promised] == [(5.0, 1e-6)]
    told = msgspec.json.decode(months_beside(study).read_bytes())
    months_beside(study).write_bytes(msgspec.json.encode(told | {"epsilon": 0.01}))
    assert carry_runs(study, [second]).model.file.promised[0].epsilon == 0.5
    people = write(found, tmp_path / "3.json", [0.3, 0.0, 0.4], promise=(0.5, 0.0, "person"))
    with pytest.raises(BadInput, match="a mean of both would promise neither"):
        carry_runs(study, [first, people])
    for wrong in ({"keep": -1.0}, {"keep": 1.5}, {"window": -1}):
        months_beside(study).write_bytes(msgspec.json.encode(told | wrong))
        with pytest.raises(BadInput, match="is of format 1, with 3 months"):
            carry_runs(study, [first])


@pytest.mark.parametrize(("window", "in_all"), [(1, 1.0), (2, 2.0), (3, 3.0)])
def test_a_block_loses_what_every_month_that_reads_it_has_promised(table, tmp_path, window, in_all):
    """Owners that promise the whole lifetime ε in every month lose it in each month of the window."""
    asked = {"target": "int_rate", "months": 3, "window": window, "features": 2, "rule": "newton"}
    found = plan(table, Scenario([300] * 2), **asked)
    study = found.save(tmp_path / "study.toml")
    more = [write(found, tmp_path / f"{month}.json", [0.1, 0.2, 0.0], promise=(1.0, 0.0)) for month in range(3)]
    assert carry_runs(study, more).model.file.promised[0].epsilon == in_all
    assert carry_runs(study, more[:1]).model.file.promised[0].epsilon == 1.0
    share = found.lifetime.window.epsilon
    kept = [write(found, tmp_path / f"kept {month}.json", [0.1, 0.2, 0.0], promise=(share, 0.0)) for month in range(3)]
    assert carry_runs(study, kept).model.file.promised[0].epsilon == 1.0


def test_shares_of_gaussian_noise_add_up_as_planned_and_others_one_by_one(table, tmp_path):
    """Shares of ρ have ε that add up to more than the lifetime's, which they keep all the same."""
    who = Scenario([300] * 2, epsilon=1.0, delta=1e-6)
    found = plan(table, who, target="int_rate", months=3, window=2, features=2, rule="newton")
    share = found.lifetime.window.epsilon
    assert 2 * share > 1.0
    study = found.save(tmp_path / "study.toml")
    files = {}
    for name, promise in (("kept", (share, 1e-6)), ("more", (0.9, 1e-6)), ("surer", (share, 1e-5))):
        files[name] = write(found, tmp_path / f"{name}.json", [0.1, 0.2, 0.0], promise=promise)
    told = {name: carry_runs(study, [place] * 2).model.file.promised[0] for name, place in files.items()}
    assert (told["kept"].epsilon, told["kept"].delta) == (1.0, 1e-6)
    assert (told["more"].epsilon, told["more"].delta) == pytest.approx((1.8, 2e-6))
    assert (told["surer"].epsilon, told["surer"].delta) == pytest.approx((2 * share, 2e-5))


def test_what_is_told_of_a_mean_is_no_less_than_of_any_owner(found, study, tmp_path):
    first = write(found, tmp_path / "1.json", [0.1, 0.2, 0.0], promise=(5.0, 0.0))
    second = write(found, tmp_path / "2.json", [0.3, 0.0, 0.4], owner="b", promise=(0.5, 1e-6))
    told = json.loads(call("carry", study, first, second, "--out", tmp_path / "c.json", "--json"))
    assert (told["epsilon"], told["delta"]) == (5.0, 1e-6)


def test_months_that_tell_people_apart_otherwise_are_refused(found, study, tmp_path):
    """A person by one column may be many by another."""
    promised, files = (Promised("a", 0.5, 0.0, "person"),), []
    for column in ("patient", "visit"):
        of_people = {"unit": "person", "person": column, "rows_cap": 5, "weigh": "person"}
        terms = msgspec.structs.replace(found.terms, **of_people, fill=0.0, axes=())
        files.append(tmp_path / f"{column}.json")
        write_model(ModelFile((0.1, 0.2, 0.0), terms, found.dictionary, promised, "secure"), files[-1])
    with pytest.raises(BadInput, match="a mean of both would promise neither"):
        carry_runs(study, files)


def test_one_simulated_month_makes_the_mean_simulated(found, study, tmp_path):
    first = write(found, tmp_path / "1.json", [0.1, 0.2, 0.0], noise="seeded")
    second = write(found, tmp_path / "2.json", [0.3, 0.0, 0.4])
    assert not carry_runs(study, [first, second]).model.private
    assert "must not be passed on" in call("carry", study, first, second, "--out", tmp_path / "c.json")


def test_runs_of_the_study_are_carried(found, study, table, tmp_path):
    """From the study file to the mean, as a user would do it."""
    runs = []
    for month in (1, 2):
        rows = lending_like.generate(600, np.random.default_rng(month))
        data = cp.read(rows, target="int_rate", owners=2, public=table, dictionary=study)
        run = cp.train(data, 1.0, rule="newton", simulate=True, seed=month)
        runs.append(run.save(tmp_path / f"run-{month}"))
    carried = carry_runs(study, runs)
    both = [read_model(folder / "model.json").theta for folder in runs]
    assert carried.model.file.theta == pytest.approx(np.mean(both, axis=0))


def test_what_cannot_be_carried_is_refused(found, study, table, tmp_path):
    first = write(found, tmp_path / "1.json", [0.1, 0.2, 0.0])
    with pytest.raises(BadInput, match="4 models of 3 planned months"):
        call("carry", study, *[first] * 4)
    with pytest.raises(BadInput, match="holds no finished run"):
        call("carry", study, tmp_path)
    with pytest.raises(BadInput, match="there is no study"):
        call("carry", tmp_path / "none.toml", first)
    other = plan(table, Scenario([300] * 2), target="int_rate", features=1, rule="newton")
    without = other.save(tmp_path / "without.toml")
    with pytest.raises(BadInput, match="planned without months"):
        call("carry", without, first)
    months_beside(without).write_bytes(months_beside(study).read_bytes())
    with pytest.raises(BadInput, match="other features"):
        call("carry", without, first)
    for damaged in (b"[", msgspec.json.encode(MonthsFile((), 1.0, 1.0, 1.0)), b'{"fresh":[0],"public":1,"keep":1}'):
        months_beside(study).write_bytes(damaged)
        with pytest.raises(BadInput, match=r"holds no months|with 0 months"):
            call("carry", study, first)
