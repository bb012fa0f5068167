"""Leaning on a ridge: the posterior it is said to be, and long models of few public rows that gain by it."""

from dataclasses import replace

import numpy as np
import pytest

from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise
from copriv.losses.passes import average_value, clipped_average_gradient, gradient_norms
from copriv.losses.sample import Sample
from copriv.rules import leaning as module
from copriv.rules.evidence import Evidence
from copriv.rules.leaning import Leaning
from copriv.rules.newton import NewtonRule
from copriv.vectors import Norm

OBJECTIVE = Objective(choose("squared"), 1e-5, 50.0)
PARAMETERS, OWNERS = 80, 4


def population(records, seed, parameters=PARAMETERS, *, signs=False):
    """Many weak effects, and an intercept."""
    chance = np.random.default_rng(seed)
    rows = chance.normal(size=(records, parameters)) / np.sqrt(2 * parameters)
    rows[:, -1] = 0.7
    margins = rows @ np.random.default_rng(0).normal(size=parameters) * 0.5 + 0.3 * chance.normal(size=records)
    return Sample.of_rows(rows, np.where(margins > 0, 1.0, -1.0) if signs else np.clip(margins, -1, 1))


def make_rule(public, objective=OBJECTIVE, noise_std=0.0):
    theta = minimise(objective, public)
    clip = 1.5 * float(np.max(gradient_norms(objective.loss, public, theta, Norm.L1)))
    return NewtonRule.of(
        public, objective, records=[2000] * OWNERS, noise_std=[noise_std] * OWNERS, clip=clip, norm=Norm.L1
    )


def train(rule, samples, seed):
    state, chance = rule.begin(), np.random.default_rng(seed)
    for owner, sample in enumerate(samples):
        asked = rule.question(state, owner)
        exact = clipped_average_gradient(rule.objective.loss, sample, asked, rule.clip, rule.norm)
        state = rule.absorb(state, owner, exact + rule.noise_std[owner] * chance.normal(size=exact.size))
    return rule.model(state)


@pytest.mark.parametrize("answer", [-0.3, 0.02, 0.4])
@pytest.mark.parametrize("belief", [0.5, 0.9], ids=["as it is", "twin that believes the ridge"])
def test_the_expected_difference_is_that_of_the_whole_model(answer, belief, monkeypatch):
    monkeypatch.setattr(module, "_BELIEF", belief)
    spread, noise, public_records, records = 2.0, 0.01, 200, 1000
    evidence = Evidence(np.asarray([[answer]]), np.asarray([[noise]]), np.asarray([float(records)]), np.empty(0))
    leaning = Leaning(np.asarray([0.3]), np.asarray([0.4]))
    known, ridge = leaning.weigh(evidence, np.asarray([spread]), public_records)
    sampling = 1 / public_records + 1 / records
    prior = 1 / (1 + module._APART / sampling)
    prior[0] = prior[1:].sum()
    places = np.linspace(-30, 30, 600_001)
    density = np.zeros_like(places)
    for chance, apart in zip(prior, module._APART, strict=True):
        for middle, inverse in ((0.0, sampling), (0.3, 0.4 / public_records + 1 / records)):
            variance = spread * (inverse + apart)
            density += chance / 2 * np.exp(-((places - middle) ** 2) / (2 * variance)) / np.sqrt(variance)
    density *= np.exp(-((places - answer) ** 2) / (2 * noise))
    expected = float(density @ places / density.sum())
    assert (float(known.deviation[0] + ridge[0]) == pytest.approx(expected, abs=1e-6)) is (belief == 0.5)


def test_drowned_answers_leave_the_model_halfway_and_clear_ones_decide():
    leaning = Leaning(np.asarray([0.3, -0.1]), np.asarray([0.4, 0.9]))
    spread, told = np.asarray([2.0, 1.0]), np.asarray([[0.2, 0.5]])
    for noise, news, ridge in ((1e12, 0.0, leaning.beforehand), (1e-12, told[0], 0.0)):
        evidence = Evidence(told, np.full((1, 2), noise), np.asarray([1000.0]), np.empty(0))
        known, held = leaning.weigh(evidence, spread, 200)
        assert known.deviation == pytest.approx(news, abs=1e-6)
        assert held == pytest.approx(ridge, abs=1e-6)


@pytest.mark.parametrize("name", ["squared", "logistic"])
def test_long_models_of_few_public_rows_gain_where_noise_leaves_room(name):
    signs, objective = name == "logistic", replace(OBJECTIVE, loss=choose(name))
    others = population(4000, 99, signs=signs)
    losses = []
    for seed in range(3):
        public = population(300, seed, signs=signs)
        samples = [population(2000, 10 * seed + owner + 1, signs=signs) for owner in range(OWNERS)]
        rule = make_rule(public, objective, noise_std=0.03)
        assert rule.leaning is not None
        models = [train(each, samples, seed) for each in (rule, replace(rule, leaning=None))]
        losses.append([average_value(objective.loss, others, theta) for theta in models])
    leaning, plain = np.mean(losses, axis=0)
    assert leaning < 0.98 * plain


def test_without_noise_the_answers_decide():
    public, samples = population(300, 1), [population(2000, owner + 2) for owner in range(OWNERS)]
    rule = make_rule(public)
    models = [train(each, samples, 0) for each in (rule, replace(rule, leaning=None))]
    best = minimise(OBJECTIVE, Sample.join(samples))
    fitness = [OBJECTIVE.fitness(Sample.join(samples), theta) for theta in (*models, rule.begin().central, best)]
    assert fitness[0] - fitness[3] < 0.4 * (fitness[2] - fitness[3])
    assert fitness[0] < 1.01 * fitness[1]


def test_short_models_and_rows_that_want_no_ridge_do_not_lean():
    assert make_rule(population(100, 1, parameters=20)).leaning is None
    stiff = replace(OBJECTIVE, regularization=2.0)
    assert make_rule(population(300, 1), stiff).leaning is None
    rule = make_rule(population(300, 1), stiff)
    assert rule.begin().central is rule.outlook.start
