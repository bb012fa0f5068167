"""Features are chosen by the loss that is predicted on new records, never by ψ, and never by private rows."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from copriv.api.data import read
from copriv.api.forecast import forecast
from copriv.api.plan import plan
from copriv.errors import BadInput
from copriv.losses.metrics import Metrics
from copriv.planning import feature_choice
from copriv.planning.feature_choice import FeatureChoice, WeighedFeatures, choose_features, take
from copriv.planning.outline import wishes_in
from copriv.planning.scenario import Scenario
from copriv.planning.training_spec import TrainingSpec
from copriv.records.boosting import FOLDS, Boosting, folds_of
from copriv.records.feature_spec import FeatureSpec
from copriv.records.fit_features import PublicRows
from copriv.records.public_cells import PublicCells
from copriv.records.target import TargetChoice
from copriv.runtime.events import silent
from copriv.runtime.local_load import Held, Sources, read_records
from copriv.runtime.local_request import TrainRequest

WISHES = TrainingSpec(guarantees=(), rule="newton")


class FewCandidates(PublicRows):
    """Public rows with a short list of candidates, to be quick."""

    names: tuple[str, ...] = ("pls:2", "all")

    def candidates(self):
        return [FeatureSpec.parse(name) for name in self.names]


def make_table(rows, seed=0, *, faint=0.0, columns=10):
    """One strong column, and directions of small variance that add `faint` each to the target."""
    chance = np.random.default_rng(seed)
    hidden = chance.normal(size=(rows, columns))
    mixing = np.linalg.qr(np.random.default_rng(9).normal(size=(columns, columns)))[0]
    seen = hidden * np.geomspace(1, 0.2, columns) @ mixing
    y = hidden[:, 0] + faint * hidden[:, 1:].sum(axis=1) + chance.normal(size=rows)
    return pl.DataFrame({f"x{k}": seen[:, k] for k in range(columns)} | {"y": y})


def choose(table, scenario, *, rows=FewCandidates, wishes=WISHES):
    return choose_features(rows(table, TargetChoice("y")), scenario.records, wishes_in(scenario, wishes))


def test_features_that_lower_the_loss_are_taken_though_their_psi_is_larger():
    found = choose(make_table(1200, faint=0.4), Scenario([2000] * 5))
    few, many = found.weighed
    assert many.relative_fitness > few.relative_fitness
    assert found.taken is many
    assert found.runner_up is few
    assert many.predicted.r2 > few.predicted.r2
    # A choice by ψ, the broken twin, takes the poorer model.
    assert min(found.weighed, key=lambda each: each.relative_fitness) is few
    fresh = make_table(4000, seed=1, faint=0.4)
    assert _held_out(make_table(1200, faint=0.4), fresh, "all") < _held_out(make_table(1200, faint=0.4), fresh, "pls:2")


def _held_out(public, fresh, features):
    """The mean squared error on new rows of the public model in these features."""
    fitted = PublicRows(public, TargetChoice("y")).fit(features)
    theta = np.linalg.lstsq(fitted.public.columns.T, fitted.public.targets, rcond=None)[0]
    rows, targets, _ = fitted.dictionary.read(fresh)
    return float(np.mean((rows @ theta - targets) ** 2))


def test_a_tiny_epsilon_and_few_records_take_the_few():
    table = make_table(300, faint=0.12)
    rich, poor = choose(table, Scenario([20_000] * 10, 10)), choose(table, Scenario([40] * 2, 0.001))
    assert str(rich.taken.spec) == "all"
    assert str(poor.taken.spec) == "pls:2"
    assert [each.loss for each in rich.weighed] == [each.loss for each in poor.weighed]


@pytest.mark.parametrize("seed", [2])
def test_a_coin_toss_takes_the_fewest(seed):
    chance = np.random.default_rng(seed)
    table = pl.DataFrame({f"x{k}": chance.normal(size=200) for k in range(6)} | {"y": chance.normal(size=200)})
    found = choose(table, Scenario([2000] * 5), rows=PublicRows)
    assert len(found.weighed) > 2
    assert all(each.predicted.explained < 0.02 for each in found.weighed)
    assert found.taken is found.weighed[0]
    assert str(found.taken.spec) == "pls:3"


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


def _weighed(parameters, losses, psi):
    r2 = 1 - float(np.mean(losses))
    return WeighedFeatures(FeatureSpec(pls=parameters - 1), parameters, losses, psi, "newton", Metrics(100, r2=r2))


def test_of_those_as_good_the_fewest_are_taken():
    best = _weighed(31, (0.50, 0.48, 0.52, 0.49, 0.51), 0.0)
    near = _weighed(11, (0.51, 0.48, 0.53, 0.48, 0.51), 0.0)
    assert take([near, best]) is near
    assert "better by no more than chance, is pls:30 (30 features): R²" in FeatureChoice((near, best), near).notices[0]
    # A small difference that every fold has is none of chance.
    behind = replace(near, losses=tuple(loss + 0.01 for loss in best.losses))
    assert take([behind, best]) is best
    # What noise costs the longer model counts as well as its loss.
    assert take([behind, replace(best, relative_fitness=0.05)]) is behind
    unknown = replace(best, relative_fitness=float("nan"))
    assert take([behind, unknown]) is behind


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


def test_records_cannot_be_read_before_owners_promise_anything():
    data = read(make_table(300), target="y", owners=2, features="auto")
    with pytest.raises(BadInput, match="what owners promise"):
        data.intake()


def test_cross_validation_is_not_flattered(monkeypatch):
    """On rows that supervised components were fitted on, longer models look better; folds say what is so."""
    table = make_table(60, columns=20)
    honest = choose(table, Scenario([2000] * 5))
    assert str(honest.taken.spec) == "pls:2"

    def flattered(self, features):
        sample = self.fit(features).public
        return [(sample, sample)] * 5

    monkeypatch.setattr(PublicRows, "folds", flattered)
    monkeypatch.setattr(feature_choice, "best_ridge", lambda _sample, objective: objective.regularization)
    twin = choose(table, Scenario([20_000] * 50, 100))
    assert str(twin.taken.spec) == "all"
