"""The search: ranked candidates, of which whatever is outclassed is never the best."""

from dataclasses import replace

import numpy as np
import pytest

from copriv.errors import BadInput
from copriv.losses.sample import Sample
from copriv.planning import search
from copriv.planning.outline import Outline, gather_evidence, outline_of
from copriv.planning.scenario import Scenario
from copriv.planning.search import RULES, choose, rank, work_out
from copriv.planning.training_spec import TrainingSpec
from copriv.privacy.guarantee import Guarantee

SPEC = TrainingSpec(guarantees=(), rule="auto", regularization=1e-4, horizon=60, answers=None)


@pytest.fixture(scope="module")
def public():
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(600, 3)) / 3
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    return Sample.of_rows(rows, np.clip(rows @ [0.5, -0.4, 0.3] + 0.1 * generator.normal(size=600), -1, 1))


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 20.0, 2000.0])
def test_the_best_is_forecast_as_if_it_were_the_only_one(public, epsilon):
    """What is skipped of rules that cannot win changes nothing about the one that does."""
    spec = replace(SPEC, limit=1.0)
    outline = outline_of(Scenario((300,) * 4, epsilon), gather_evidence(public, spec), spec)
    best, ranked = choose(outline), rank(outline)
    assert best == ranked[0]
    alone = outline_of(Scenario((300,) * 4, epsilon), gather_evidence(public, spec), replace(spec, rule=best.rule))
    assert choose(alone) == replace(best, outclassed=False)
    costs = [candidate.relative_fitness for candidate in ranked]
    assert costs == sorted(costs)
    assert {candidate.rule for candidate in ranked} == set(RULES)


def test_nothing_outclassed_is_chosen_and_a_broken_screen_is_seen(public, monkeypatch):
    outline = outline_of(Scenario((300,) * 4, 20.0), gather_evidence(public, SPEC), SPEC)
    sound = rank(outline)
    assert any(candidate.outclassed for candidate in sound)
    monkeypatch.setattr(search, "outclassed", lambda *_given: {sound[0].rule})
    assert rank(outline)[0].rule != sound[0].rule
    assert choose(outline).rule == rank(outline)[0].rule


def test_with_delta_the_stronger_promise_is_thought_of_too(public):
    outline = outline_of(Scenario((300,) * 4, 1.0, delta=1e-6), gather_evidence(public, SPEC), SPEC)
    ways = {(candidate.rule, candidate.mechanism) for candidate in rank(outline)}
    assert ways == {(rule, noise) for rule in RULES for noise in ("laplace", "gaussian")}
    for candidate in rank(outline):
        assert (candidate.mechanism == "laplace") == all(each.pure for each in candidate.setting.guarantees)


def test_whoever_gives_a_step_means_the_paper(public):
    outline = outline_of(Scenario((300,) * 4), gather_evidence(public, SPEC), replace(SPEC, step=0.1))
    assert [candidate.rule for candidate in rank(outline)] == ["paper"]


def test_what_is_settled_stays_so(public):
    evidence = gather_evidence(public, SPEC)
    for rule in ("newton", "averaged", "paper"):
        spec = replace(SPEC, rule=rule, clip=0.3, answers=3, limit=5.0, step=None if rule == "newton" else 0.2)
        found = work_out(outline_of(Scenario((300,) * 4), evidence, spec), rule)
        assert (found.clip, found.answers, found.box) == (0.3, 3, 5.0)
        assert found.step == (None if rule == "newton" else 0.2)


def test_without_public_rows_the_curvature_is_learnt_or_statistics_are_told_once():
    spec = replace(SPEC, guarantees=(Guarantee.of(1),) * 2)
    outline = Outline(spec, (300, 300), 3, None)
    [only] = rank(outline)
    assert (only.rule, only.clip) == ("newton", 2.0)
    assert rank(Outline(replace(spec, answers=1), (300, 300), 3, None))[0].rule == "statistics"
    assert np.isnan(only.relative_fitness)
    steps = Outline(replace(spec, rule="averaged", clip=1.0, step=0.1), (300, 300), 3, None)
    assert choose(steps).rule == "averaged"
    [other] = rank(Outline(replace(spec, loss="huber", threshold=0.2), (300, 300), 3, None))
    assert (other.rule, other.clip) == ("newton", pytest.approx(0.4 * 3**0.5))
    with pytest.raises(BadInput, match="without public rows"):
        rank(Outline(replace(spec, loss="huber", threshold=0.2, answers=2), (300, 300), 3, None))
    with pytest.raises(BadInput, match="'paper' without public rows"):
        rank(Outline(replace(spec, rule="paper"), (300, 300), 3, None))
