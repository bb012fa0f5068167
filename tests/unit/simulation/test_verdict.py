"""Join or stay alone: the advice agrees with what is measured when everybody's records are at hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from copriv.losses.optimum import minimise
from copriv.losses.sample import Sample
from copriv.privacy.guarantee import Guarantee
from copriv.records import lending_like
from copriv.records.dictionary import fit_dictionary
from copriv.records.target import TargetChoice
from copriv.simulation.cost import Scene, newton_costs, promised
from copriv.simulation.study import design_ahead
from copriv.simulation.verdict import Alone, BreakEven, Verdict, _break_even_epsilon, _break_even_owners, explain, judge
from copriv.simulation.wishes import Wishes


@pytest.fixture(scope="module")
def loans():
    """A dictionary, 4,000 public loans and many private ones."""
    frame = lending_like.generate(90_000, np.random.default_rng(3)).sample(fraction=1, shuffle=True, seed=3)
    dictionary, _ = fit_dictionary(frame.head(4000), TargetChoice("int_rate"), 6)
    rows, targets = dictionary.features_of(frame), dictionary.targets_of(frame)
    return dictionary, Sample.of_rows(rows[:4000], targets[:4000]), rows[4000:], targets[4000:]


def verdicts(loans, size, owners, epsilon):
    """The advice of every owner, and whether joining does pay, measured on all records."""
    dictionary, public, rows, targets = loans
    samples = [
        Sample.of_rows(rows[i * size : (i + 1) * size], targets[i * size : (i + 1) * size]) for i in range(owners)
    ]
    guarantee = Guarantee.of(epsilon)
    wishes = Wishes(guarantees=(guarantee,) * owners, seed=0)
    found = [judge(dictionary, public, sample, wishes) for sample in samples]
    design = design_ahead(dictionary, public, (size,) * owners, replace(wishes, rule="newton"))
    objective = design.terms.objective()
    scene = Scene.of(objective, samples, public)
    joint = float(np.mean(newton_costs(scene, promised(guarantee, dictionary.parameters), runs=10, seed=1)[0]))
    return [(verdict, joint < scene.psi(minimise(objective, own))) for verdict, own in zip(found, samples, strict=True)]


@pytest.mark.parametrize(("size", "owners", "epsilon"), [(400, 5, 1), (20_000, 3, 0.02), (20_000, 3, 5)])
def test_the_advice_agrees_with_what_is_measured(loans, size, owners, epsilon):
    found = verdicts(loans, size, owners, epsilon)
    decided = [(verdict.advice == "join") == pays for verdict, pays in found if verdict.advice != "either"]
    assert sum(decided) >= 0.9 * len(decided)


def test_small_owners_are_told_to_join_and_large_ones_at_a_tiny_epsilon_are_not(loans):
    assert {verdict.advice for verdict, _ in verdicts(loans, 400, 5, 1)} == {"join"}
    assert "join" not in {verdict.advice for verdict, _ in verdicts(loans, 20_000, 3, 0.001)}


def test_break_even_points_are_found():
    assert _break_even_epsilon(lambda epsilon: epsilon > 0.5) == pytest.approx(0.5, rel=0.1)
    assert _break_even_epsilon(lambda _epsilon: False) is None
    for truth in (2, 3, 7, 50, 999, 1000):
        assert _break_even_owners(lambda owners, truth=truth: owners >= truth) == truth
    assert _break_even_owners(lambda _owners: False) is None
    assert _break_even_owners(lambda _owners: True) == 2


@pytest.mark.parametrize(("joint", "advice"), [(1e-4, "join"), (1e-2, "stay"), (1e-3, "either")])
def test_the_words_say_what_to_do(joint, advice):
    verdict = Verdict(Alone(1e-3, 1e-4, 2e-3), joint)
    assert verdict.advice == advice
    words = explain(verdict, BreakEven(0.5, None), Guarantee.of(1), 10)
    assert "ε = 0.5" in words
    assert "no number of owners" in words
    assert math.isclose(verdict.interval[1] / verdict.interval[0], 1.25**2)
    public = explain(Verdict(Alone(1e-3, 1e-4, 1e-4), joint), BreakEven(0.5, 3), Guarantee.of(1), 10)
    assert "public rows alone" in public
