"""Rules that cannot win are seen by a bound that what they cost does not fall below."""

from dataclasses import replace

import numpy as np
import pytest

from copriv.losses.sample import Sample
from copriv.planning import screen, search
from copriv.planning.outline import gather_evidence, outline_of
from copriv.planning.scenario import Scenario
from copriv.planning.screen import optimistic_cost, outclassed
from copriv.planning.search import work_out
from copriv.planning.training_spec import TrainingSpec

SPEC = TrainingSpec(guarantees=(), rule="auto", regularization=1e-4, horizon=100)


@pytest.fixture(scope="module")
def public():
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(800, 4)) / 3
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    return Sample.of_rows(rows, np.clip(rows @ [0.5, -0.4, 0.3, 0.1] + 0.2 * generator.standard_t(4, 800), -1, 1))


def ratios(public, loss):
    """The bound over what is forecast at the rule's own best setting."""
    spec = replace(SPEC, loss=loss, threshold=0.3)
    evidence = gather_evidence(public, spec)
    for epsilon, delta in ((0.5, 0.0), (20.0, 0.0), (2.0, 1e-6)):
        outline = outline_of(Scenario((500, 200, 900), epsilon, delta), evidence, spec)
        for rule in ("averaged", "paper"):
            yield optimistic_cost(outline, evidence, rule) / work_out(outline, rule).relative_fitness


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_what_a_rule_costs_is_not_below_the_bound(public, loss):
    margin = screen._MARGINS.get(loss, screen._WIDE_MARGIN)
    assert max(ratios(public, loss)) < margin


def test_a_bound_at_a_longer_clip_is_none(public, monkeypatch):
    """The twin that takes a clip of four times the longest gradient."""
    for name in ("averaged_clips", "paper_clips"):
        sound = getattr(screen, name)
        monkeypatch.setattr(screen, name, lambda *given, sound=sound: [4 * max(sound(*given))])
    assert max(ratios(public, "squared")) > screen._MARGINS["squared"]


def test_nothing_is_screened_without_a_rival_and_newton_never(public):
    evidence = gather_evidence(public, SPEC)
    outline = outline_of(Scenario((500,) * 3, 0.1), evidence, SPEC)
    assert outclassed(outline, ["newton", "statistics", "paper"], 1e-6) == {"paper"}
    assert not outclassed(outline, ["paper"], 0.0)


def test_second_moments_of_long_models_are_given_up_after_a_glance(monkeypatch):
    """With 70 numbers and little ε noise drowns them. The glance is not far above what all trials say."""
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(1500, 70)) / 12
    sample = Sample.of_rows(rows, np.clip(rows @ generator.normal(size=70) / 4, -1, 1))
    evidence, worked, sound = gather_evidence(sample, SPEC), set(), search._work_out
    outline = outline_of(Scenario((500,) * 3, 0.1), evidence, SPEC)
    monkeypatch.setattr(search, "_work_out", lambda wanted: worked.update(rule for _, rule in wanted) or sound(wanted))
    first = search.glance(outline)
    assert (first.rule, "statistics" in worked) == ("newton", False)
    told = work_out(outline, "statistics").relative_fitness
    assert not outclassed(outline, ["statistics"], told)
    assert outclassed(outline, ["statistics"], first.relative_fitness) == {"statistics"}
