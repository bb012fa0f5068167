"""Features are chosen by the loss that is predicted on new records, never by ψ, and never by private rows."""

import numpy as np
import polars as pl
import pytest

from copriv.api.data import read
from copriv.api.forecast import forecast
from copriv.api.plan import plan
from copriv.errors import BadInput
from copriv.losses.sample import Sample
from copriv.owner.ledger_opening import begin
from copriv.owner.memory_ledger import MemoryLedger
from copriv.planning import entrant
from copriv.planning.feature_contest import FeatureContest, choose_features
from copriv.planning.feature_trade import trade
from copriv.planning.outline import wishes_in
from copriv.planning.scenario import Scenario
from copriv.planning.training_plan import design_ahead
from copriv.planning.training_spec import TrainingSpec
from copriv.records.boosting import FOLDS, Boosting, fit_grove, folds_of
from copriv.records.feature_spec import FeatureSpec
from copriv.records.fit_features import PublicRows
from copriv.records.load import Intake, OwnerSample
from copriv.records.public_cells import PublicCells
from copriv.records.target import TargetChoice
from copriv.runtime.events import silent
from copriv.runtime.local import assemble, run
from copriv.runtime.local_load import Held, Sources, read_records
from copriv.runtime.local_request import TrainRequest

WISHES = TrainingSpec(guarantees=(), rule="newton")


class FewCandidates(PublicRows):
    """Public rows with a short list of candidates, to be quick."""

    names: tuple[str, ...] = ("pls:2", "all")

    def candidates(self):
        return [FeatureSpec.parse(name) for name in self.names]


class MoreCandidates(FewCandidates):
    """Some that have no chance, too."""

    names = ("pls:1", "pls:2", "pls:3", "pls:5", "all")


def make_table(rows, seed=0, *, faint=0.0, columns=10):
    """One strong column, and directions of small variance that add `faint` each to the target."""
    chance = np.random.default_rng(seed)
    hidden = chance.normal(size=(rows, columns))
    mixing = np.linalg.qr(np.random.default_rng(9).normal(size=(columns, columns)))[0]
    seen = hidden * np.geomspace(1, 0.2, columns) @ mixing
    y = hidden[:, 0] + faint * hidden[:, 1:].sum(axis=1) + chance.normal(size=rows)
    return pl.DataFrame({f"x{k}": seen[:, k] for k in range(columns)} | {"y": y})


def choose(table, scenario, *, rows=FewCandidates, wishes=WISHES):
    return choose_from(rows(table, TargetChoice("y")), scenario, wishes)


def choose_from(rows, scenario, wishes=WISHES):
    promised = wishes_in(scenario, wishes)
    return FeatureContest(rows, promised).choose(scenario.records, promised)


@pytest.mark.parametrize("epsilon", [1, 10])
def test_features_that_lower_the_held_out_loss_are_taken_though_their_psi_is_larger(epsilon):
    """What is judged is the joint model on new rows, trained by the rule; a twin that minimises ψ takes the poorer."""
    table, fresh = make_table(1200, faint=0.4), make_table(4000, seed=1, faint=0.4)
    found = choose(table, Scenario([2000] * 5, epsilon))
    few, many = found.weighed
    assert many.relative_fitness > few.relative_fitness
    measured = {each.spec: _joint_loss(table, fresh, each.spec, epsilon) for each in found.weighed}
    assert measured[many.spec] < measured[few.spec]
    assert found.taken is min(found.weighed, key=lambda each: measured[each.spec])
    assert found.runner_up is few
    assert many.predicted.r2 > few.predicted.r2
    twin = min(found.weighed, key=lambda each: each.relative_fitness)
    assert measured[twin.spec] > 1.1 * measured[found.taken.spec]


def _joint_loss(public, fresh, features, epsilon):
    """The mean squared error on new rows of the model that five owners of 2,000 records train together."""
    fitted = PublicRows(public, TargetChoice("y")).fit(features)
    samples = [Sample.of_rows(*fitted.dictionary.records_of(make_table(2000, seed=k, faint=0.4))) for k in range(2, 7)]
    wishes = wishes_in(Scenario([2000] * 5, epsilon), WISHES)
    study = design_ahead(fitted.dictionary, fitted.public, (2000,) * 5, wishes)
    owners = tuple(OwnerSample(f"owner {k}", sample) for k, sample in enumerate(samples))
    intake = Intake(fitted.dictionary, fitted.public, owners, ())
    consortium = assemble(intake, study, noise="seeded", seed=0, make_ledger=_ledger)
    for iteration in run(consortium, study, "test"):
        theta = study.rule.model(iteration.state)
    rows, targets = fitted.dictionary.records_of(fresh)
    return float(np.mean((rows @ theta - targets) ** 2))


def _ledger(owner, commitment):
    calibration = commitment.calibration
    return MemoryLedger(begin(owner.name, "simulated", calibration.guarantee, calibration.accountant))


def test_a_tiny_epsilon_and_few_records_take_the_few():
    table = make_table(300, faint=0.12)
    rich, poor = choose(table, Scenario([20_000] * 10, 10)), choose(table, Scenario([40] * 2, 0.001))
    assert str(rich.taken.spec) == "all"
    assert str(poor.taken.spec) == "pls:2"
    assert [each.loss for each in rich.weighed] == [each.loss for each in poor.weighed]


def test_whoever_cannot_win_is_not_forecast_and_nothing_else_changes(monkeypatch):
    """A long model that loses by its few public rows alone may win once owners come: the twin that forgets it, errs."""
    table, scenario = make_table(60, 2, faint=0.3), Scenario([20_000] * 10, 10)
    rows = MoreCandidates(table, TargetChoice("y"))
    wishes = wishes_in(scenario, WISHES)
    contest = FeatureContest(rows, wishes)
    every, picked = contest.choose(scenario.records, wishes), contest.pick(scenario.records, wishes)
    assert len(picked.weighed) < len(every.weighed)
    assert picked.taken == every.taken
    assert picked.runner_up in every.weighed
    monkeypatch.setattr(entrant.Entrant, "floor", lambda each, _score: float(np.mean(each.losses)))
    assert contest.pick(scenario.records, wishes).taken != every.taken


@pytest.mark.parametrize("seed", [2])
def test_a_coin_toss_takes_the_fewest(seed):
    chance = np.random.default_rng(seed)
    table = pl.DataFrame({f"x{k}": chance.normal(size=200) for k in range(6)} | {"y": chance.normal(size=200)})
    found = choose(table, Scenario([2000] * 5), rows=PublicRows)
    assert len(found.weighed) > 2
    assert found.taken.predicted.explained < 0.02
    assert all(each.predicted.explained < 0.05 for each in found.weighed)
    assert found.taken is found.weighed[0]
    assert str(found.taken.spec) == "pls:3"
    assert "hardly anything to learn" in found.notices[-1]


def test_scores_that_have_seen_the_fold_are_flattered(monkeypatch):
    """The broken twin of the coin toss: scores of the other rows by trees that know the targets of the fold."""
    chance = np.random.default_rng(2)
    table = pl.DataFrame({f"x{k}": chance.normal(size=200) for k in range(6)} | {"y": chance.normal(size=200)})

    def leaking(self):
        folds, known = folds_of(self.usable), self.boosting
        return tuple(Boosting(known.trees, known.out_of_fold[folds != fold]) for fold in range(FOLDS))

    monkeypatch.setattr(PublicCells, "_boosted_without", property(leaking))
    found = choose(table, Scenario([2000] * 5), rows=PublicRows)
    assert str(found.taken.spec) == "all+score"


def test_an_owner_of_few_records_keeps_long_models_out():
    found = choose(make_table(300), Scenario([2000, 8]))
    assert [str(spec) for spec in found.too_long] == ["all"]
    assert str(found.taken.spec) == "pls:2"
    assert "too few records for them: all" in found.notices[1]
    with pytest.raises(BadInput, match="an owner of 2 records"):
        choose(make_table(300), Scenario([2000, 2]))


@pytest.fixture
def quick(monkeypatch):
    """Short lists of candidates everywhere."""
    monkeypatch.setattr(PublicRows, "candidates", FewCandidates.candidates)
    monkeypatch.setattr(PublicRows, "names", FewCandidates.names, raising=False)


@pytest.mark.usefixtures("quick")
def test_plan_and_forecast_choose_alike():
    table, who = make_table(600, faint=0.4), Scenario([2000] * 5)
    found = plan(table, who, target="y", features="auto", rule="newton")
    assert found.features is not None
    named = plan(table, who, target="y", features=str(found.features.taken.spec), rule="newton")
    assert (found.terms, found.dictionary, named.features) == (named.terms, named.dictionary, None)
    assert found.to_dict()["feature_choice"]["taken"] == str(found.features.taken.spec)
    assert found.predicted == found.features.taken.relative_fitness
    told = forecast(table, who, target="y", features="auto", rule="newton")
    assert told.relative_fitness == found.predicted
    assert found.features.notices[0] in told.told.notices


def _read(private, public, epsilon="1"):
    request = TrainRequest(target="y", owner_column="bank", features="auto", epsilon=epsilon, rule="newton")
    return read_records(request, Sources(Held(private.lazy()), Held(public.lazy())), silent)


@pytest.mark.usefixtures("quick")
def test_private_rows_do_not_shape_the_choice(monkeypatch):
    seen = []

    def listening(rows, sizes, wishes, tell):
        seen.append((tuple(sizes), [guarantee.epsilon for guarantee in wishes.guarantees]))
        return choose_features(rows, sizes, wishes, tell)

    monkeypatch.setattr("copriv.runtime.local_load.choose_features", listening)
    public = make_table(400, faint=0.4).with_columns(bank=pl.lit("a"))
    banks = pl.Series("bank", ["a", "b", "a"] * 100)
    first = _read(make_table(300, seed=2).with_columns(banks), public)
    other = _read(make_table(300, seed=3).select(pl.all() * 7 - 2).with_columns(banks.reverse()), public)
    assert first.dictionary == other.dictionary
    assert first.notices[0] == other.notices[0]
    assert first.notices[0].startswith("features chosen")
    assert seen == [((200, 100), [1.0, 1.0])] * 2
    # Public rows do.
    assert first.dictionary != _read(make_table(300, seed=2).with_columns(banks), public.head(350)).dictionary


@pytest.mark.usefixtures("quick")
def test_records_are_read_for_what_owners_promise():
    data = read(make_table(300), target="y", owners=2, features="auto")
    assert data.intake() is data.intake(epsilon=1)
    assert "features chosen" in data.intake().notices[0]
    with pytest.raises(BadInput, match="what owners promise"):
        data.sources().intake(data.loading(), silent)


def test_cross_validation_is_not_flattered(monkeypatch):
    """On rows that supervised components were fitted on, longer models look better; folds say what is so."""
    table, hushed = make_table(60, columns=20), Scenario([40] * 2, 0.001)
    honest = choose(table, hushed)
    assert str(honest.taken.spec) == "pls:2"

    def flattered(self, specs, folds):
        samples = [self.fit(spec).public for spec in specs]
        return [[(sample, sample) for sample in samples]] * len(folds)

    monkeypatch.setattr(PublicRows, "folds_of_all", flattered)
    monkeypatch.setattr(entrant, "best_ridge", lambda _sample, objective: objective.regularization)
    twin = choose(table, hushed)
    assert str(twin.taken.spec) == "all"


class WithLeaves(FewCandidates):
    """A score, and leaves beside it."""

    names = ("all+score", "all+score+leaves:20")


def make_steps(rows, seed=0, *, steps=1.0):
    """A target of four steps in each of six columns, which no line follows, and of a line."""
    chance = np.random.default_rng(seed)
    seen = chance.uniform(size=(rows, 6))
    heights = np.random.default_rng(5).normal(size=(6, 4))
    y = steps * heights[np.arange(6), (4 * seen).astype(int)].sum(axis=1) + seen[:, 0] + 0.3 * chance.normal(size=rows)
    return pl.DataFrame({f"x{k}": seen[:, k] for k in range(6)} | {"y": y})


@pytest.fixture(scope="module")
def steps():
    """Public rows of steps; leaves are grown once."""
    return WithLeaves(make_steps(1000), TargetChoice("y"))


def test_leaves_that_pay_are_taken_and_others_are_not_even_fitted(steps):
    rich = Scenario([50_000] * 10, 100)
    assert str(choose_from(steps, rich).taken.spec) == "all+score+leaves:20"
    # Where a line tells everything and noise costs something, the first folds show that leaves cannot win.
    line = choose(make_steps(1000, steps=0.0), Scenario([2000] * 5), rows=WithLeaves)
    assert [str(each.spec) for each in line.weighed] == ["all+score"]


def test_leaves_that_were_grown_on_the_fold_are_flattered(monkeypatch):
    """The twin judges leaves on rows that they have seen, and takes them where there is little but chance."""
    chance = np.random.default_rng(1)
    table = pl.DataFrame({f"x{k}": chance.normal(size=700) for k in range(6)})
    table = table.with_columns(y=pl.col("x0") + pl.Series(2 * chance.normal(size=700)))
    rich = Scenario([50_000] * 10, 100)
    assert str(choose(table, rich, rows=WithLeaves).taken.spec) == "all+score"
    cells = WithLeaves(table, TargetChoice("y")).cells
    grown = fit_grove(cells.inputs, cells.responses, 20, labels=False)
    monkeypatch.setattr("copriv.records.public_cells.fit_grove", lambda *_given, **_more: grown)
    assert str(choose(table, rich, rows=WithLeaves).taken.spec) == "all+score+leaves:20"


def test_leaves_are_too_long_for_small_owners(steps):
    found = choose_from(steps, Scenario([2000, 120], 10))
    assert [str(spec) for spec in found.too_long] == ["all+score+leaves:20"]


def test_the_trade_shows_leaves_at_both_promises(steps):
    scenario = Scenario([50_000] * 10, 100)
    wishes = wishes_in(scenario, WISHES)
    contest = FeatureContest(steps, wishes)
    shown = trade(contest, contest.choose(scenario.records, wishes), scenario, WISHES)
    assert [each.features for each in shown] == ["all+score", "all+score+leaves:20"]
    assert all(value is not None for each in shown for value in each.predicted)
