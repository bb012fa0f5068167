"""Algorithm 1 against an independent transcription of the paper's equations, and what it must do on easy problems."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copriv.entropy import seeded
from copriv.errors import BadInput
from copriv.losses.choose import choose
from copriv.losses.objective import Objective, relative_fitness
from copriv.losses.optimum import minimise
from copriv.losses.passes import average_gradient
from copriv.losses.sample import Sample
from copriv.rules.paper import CentralStep, PaperRule, rho_from_step, step_from_rho
from copriv.schedule.poisson import availability, draw


def transcribe(datasets, owners_met, gammas, rho, horizon, lam, theta_max, printed):
    """Eqs. (4) to (7) and Algorithm 1, line by line in plain NumPy: squared loss, g(θ) = λ θᵀθ, no noise.

    With unequal rates the owner's step Nρ/(T²σ) becomes ρ/(γ_i T²σ).
    """
    N = len(datasets)
    n = sum(len(y) for _, y in datasets)
    sigma = 2 * lam
    theta = [np.zeros(datasets[0][0].shape[1]) for _ in range(N)]
    theta_L = np.zeros(datasets[0][0].shape[1])
    path = []
    for i in owners_met:
        X, y = datasets[i]
        theta_bar = 0.5 * (theta_L + theta[i])
        Q = np.mean([2 * (x @ theta_bar - t) * x for x, t in zip(X, y, strict=True)], axis=0)
        grad_g = 2 * lam * theta_bar
        alpha_i = rho / (gammas[i] * horizon**2 * sigma)
        theta[i] = np.clip(theta_bar - alpha_i * (grad_g / (2 * N) + len(y) / n * Q), -theta_max, theta_max)
        factor = (N - 1) / N if printed else 1 / 2
        theta_L = np.clip(theta_bar - factor * rho / (horizon**2 * sigma) * grad_g, -theta_max, theta_max)
        path.append((theta_L.copy(), theta[i].copy()))
    return path


def _datasets(sizes, parameters, generator):
    return [(generator.normal(size=(n, parameters)) / 2, generator.normal(size=n)) for n in sizes]


@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=6),
    parameters=st.integers(1, 5),
    rates=st.data(),
    printed=st.booleans(),
    theta_max=st.sampled_from([0.05, 1.0, 50.0]),
    step=st.floats(1e-3, 1.0),
    seed=st.integers(0, 2**32),
)
def test_every_iterate_is_the_papers(sizes, parameters, rates, printed, theta_max, step, seed):
    clocks = rates.draw(st.lists(st.floats(0.1, 10), min_size=len(sizes), max_size=len(sizes)))
    generator = np.random.default_rng(seed)
    datasets, horizon, lam = _datasets(sizes, parameters, generator), 40, 1e-2
    gammas = availability(clocks)
    trace = draw(clocks, horizon, generator)
    rule = PaperRule(
        parameters=parameters,
        records=tuple(sizes),
        availability=tuple(gammas.tolist()),
        step=step,
        regularization=lam,
        limit=theta_max,
        central=CentralStep.PRINTED if printed else CentralStep.PROOF,
    )
    rho = rho_from_step(step, horizon=horizon, strong_convexity=2 * lam)
    expected = transcribe(datasets, [m.owner for m in trace], gammas, rho, horizon, lam, theta_max, printed)
    samples = [Sample.of_rows(*dataset) for dataset in datasets]
    state = rule.begin()
    for meeting, (central, copy) in zip(trace, expected, strict=True):
        answer = average_gradient(choose("squared"), samples[meeting.owner], rule.question(state, meeting.owner))
        state = rule.absorb(state, meeting.owner, answer)
        np.testing.assert_allclose(rule.model(state), central, atol=1e-12, rtol=0)
        np.testing.assert_allclose(state.copies[meeting.owner], copy, atol=1e-12, rtol=0)
    assert state.meetings == horizon


def test_the_comparison_has_teeth():
    """The printed and the proof's central step differ for N ≠ 2, and so do other rates: it would be seen."""
    generator = np.random.default_rng(0)
    datasets, met = _datasets([5, 5, 5], 3, generator), [0, 1, 2, 0, 1]
    arguments = {"rho": 4.0, "horizon": 5, "lam": 1e-2, "theta_max": 9.0}
    equal, unequal = [1 / 3] * 3, [0.5, 0.25, 0.25]
    base = transcribe(datasets, met, equal, printed=True, **arguments)[-1][0]
    assert np.max(np.abs(transcribe(datasets, met, equal, printed=False, **arguments)[-1][0] - base)) > 1e-6
    assert np.max(np.abs(transcribe(datasets, met, unequal, printed=True, **arguments)[-1][0] - base)) > 1e-6


def _train(samples, rule, horizon, rates, seed=0):
    state = rule.begin()
    for meeting in draw(rates, horizon, seeded(seed, "schedule")):
        answer = average_gradient(choose("squared"), samples[meeting.owner], rule.question(state, meeting.owner))
        state = rule.absorb(state, meeting.owner, answer)
    return rule.model(state)


@pytest.mark.parametrize("rates", [[1.0, 1.0, 1.0], [1.0, 2.0, 4.0]])
def test_it_converges_without_noise(make_sample, rates):
    """Owners with records of one population but other sizes, a good step: ψ falls below 1e-6."""
    samples = [make_sample(records=n, seed=seed) for seed, n in enumerate([3000, 6000, 2000])]
    objective = Objective(choose("squared"), 1e-5, 5.0)
    joint = Sample.join(samples)
    best = objective.fitness(joint, minimise(objective, joint))
    rule = PaperRule(4, (3000, 6000, 2000), tuple(availability(rates).tolist()), 0.02, 1e-5, 5.0)
    theta = _train(samples, rule, 15_000, rates)
    assert relative_fitness(objective.fitness(joint, theta), best) < 1e-6
    crossed = PaperRule(4, (2000, 3000, 6000), rule.availability, 0.02, 1e-5, 5.0)
    assert np.max(np.abs(_train(samples, crossed, 15_000, rates) - theta)) > 1e-5


def test_a_fixed_rho_fails_for_large_horizons(make_sample):
    """Where the paper says "for large T": with ρ fixed, more iterations leave the model nearer to 0."""
    samples = [make_sample(records=500, seed=seed) for seed in range(3)]
    objective, joint = Objective(choose("squared"), 1e-5, 5.0), Sample.join(samples)
    best = objective.fitness(joint, minimise(objective, joint))
    costs = []
    for horizon in (100, 1000, 10_000):
        step = step_from_rho(0.3, horizon=horizon, strong_convexity=2e-5)
        theta = _train(samples, PaperRule(4, (500,) * 3, (1 / 3,) * 3, step, 1e-5, 5.0), horizon, [1.0] * 3)
        costs.append(relative_fitness(objective.fitness(joint, theta), best))
    assert costs[0] < costs[1] < costs[2]
    assert costs[2] > 0.5 * relative_fitness(objective.fitness(joint, np.zeros(4)), best)


def test_states_are_never_changed():
    rule = PaperRule(2, (1, 1), (0.5, 0.5), 0.1, 1e-5, 1.0)
    before = rule.begin()
    after = rule.absorb(before, 0, np.ones(2))
    assert not before.central.any()
    assert not before.copies.any()
    assert after.copies[0].any()
    with pytest.raises(ValueError, match="read-only"):
        after.central[0] = 1.0


def test_one_owner_is_enough():
    rule = PaperRule(1, (10,), (1.0,), 0.1, 1e-5, 1.0)
    assert rule.absorb(rule.begin(), 0, np.array([1.0])).copies[0, 0] == pytest.approx(-0.1)
    assert CentralStep.PRINTED.factor(1) == 0


@pytest.mark.parametrize(
    ("records", "probabilities", "step"),
    [
        ((), (), 0.1),
        ((1,), (0.5, 0.5), 0.1),
        ((0,), (1.0,), 0.1),
        ((1,), (0.0,), 0.1),
        ((1,), (1.0,), 0.0),
        ((1,), (1.0,), float("nan")),
    ],
)
def test_nonsense_is_refused(records, probabilities, step):
    with pytest.raises(BadInput):
        PaperRule(1, records, probabilities, step, 1e-5, 1.0)
