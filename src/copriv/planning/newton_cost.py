"""What public Newton costs at the setting that the public rows recommend: ψ over many simulated runs on records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from copriv.forecast.newton import ANSWERS, NewtonForecast, NewtonPrediction, best_prediction
from copriv.losses.logistic import LogisticLoss
from copriv.losses.optimum import minimise
from copriv.losses.turned import turn
from copriv.rules.adaptive_newton import KINDS, KINDS_OF_LABELS, MOST_PARAMETERS, SHARES, AdaptiveNewton
from copriv.rules.adaptive_questions import MOST_ANSWERS
from copriv.rules.axes import choose_axes
from copriv.rules.difference import chances_of_shifts
from copriv.rules.newton import NewtonRule
from copriv.rules.room import choose_fill
from copriv.rules.rule import AnyRule
from copriv.rules.setting import NoiseModel
from copriv.simulation.cost import Protection, Scene, SimulatedNoise, simulate_rule
from copriv.vectors import FloatArray, Norm


def newton_prediction(
    scene: Scene, protection: Protection, start: FloatArray, choices: Sequence[int] = ANSWERS
) -> NewtonPrediction:
    """The clip and number of answers at one price that the public rows recommend."""
    return best_prediction(
        scene.public,
        scene.objective,
        records=scene.records,
        deviations={k: _units(scene, protection, k) for k in choices},
        norm=protection.norm,
        start=start,
    )


def menu_prediction(scene: Scene, protection: Protection, start: FloatArray) -> NewtonPrediction:
    """The clip that the public rows recommend under a menu, and ψ if there is no shift."""
    axes = choose_axes(scene.public, scene.objective, protection.norm, start)
    ahead = NewtonForecast.of(scene.public, scene.objective, protection.norm, start, axes=axes)
    units = _units(scene, protection, 1)
    clip = ahead.best_clip(scene.records, units, chances_of_shifts(), laplace=protection.norm is Norm.L1)
    known = NewtonForecast.of(scene.public, scene.objective, protection.norm, start, (clip,), axes)
    return replace(known.best(scene.records, {1: units}), answers=MOST_ANSWERS)


def newton_costs(scene: Scene, protection: Protection, *, runs: int, seed: int) -> tuple[FloatArray, NewtonPrediction]:
    """ψ of public Newton in every run, and the clip, number of answers and ψ that were predicted.

    It chooses from a menu where the noise allows one and the model is not too long, as it does where it is planned.
    """
    start = minimise(scene.objective, scene.public)
    chooses = protection.second_moments is not None and start.size <= MOST_PARAMETERS
    plan = (menu_prediction if chooses else newton_prediction)(scene, protection, start)
    rule = (menu_rule if chooses else _rule)(scene, protection, start, plan)
    return _costs(rule, scene, protection, plan, (runs, seed)), plan


def fixed_costs(scene: Scene, protection: Protection, *, runs: int, seed: int) -> tuple[FloatArray, NewtonPrediction]:
    """The same with answers of one price, as many as the public rows recommend."""
    start = minimise(scene.objective, scene.public)
    plan = newton_prediction(scene, protection, start)
    return _costs(_rule(scene, protection, start, plan), scene, protection, plan, (runs, seed)), plan


def _costs(
    rule: AnyRule[Any], scene: Scene, protection: Protection, plan: NewtonPrediction, chance: tuple[int, int]
) -> FloatArray:
    """ψ of every run; `chance` is how many, and their seed."""
    runs, seed = chance
    states = simulate_rule(rule, scene, protection, clip=plan.clip, answers=plan.answers, runs=runs, seed=seed)
    return np.asarray([scene.psi(rule.model(state)) for state in states])


def menu_rule(scene: Scene, protection: Protection, start: FloatArray, plan: NewtonPrediction) -> AdaptiveNewton:
    """Public Newton with a menu, at the clip of a plan."""
    squares = _stds(scene, protection.second_moments)
    axes = choose_axes(scene.public, scene.objective, protection.norm, start)
    labels = isinstance(scene.objective.loss, LogisticLoss)
    positives = _stds(scene, protection.positives) if labels and squares else ()
    noise = NoiseModel(
        noise_std=tuple(noise.noise_std for noise in protection.of(scene.records, plan.clip, 1)),
        clip=plan.clip,
        norm=protection.norm,
        public=scene.public,
        shares=SHARES,
        kinds=KINDS_OF_LABELS if positives else KINDS if squares else KINDS[:1],
        second_moments_std=squares,
        positives_std=positives,
        fill=choose_fill(turn(scene.public, axes), plan.clip, protection.norm),
        axes=axes,
    )
    return AdaptiveNewton.of(scene.public, scene.objective, records=scene.records, noise=noise, start=start)


def _stds(scene: Scene, of_size: Callable[[int], SimulatedNoise] | None) -> tuple[float, ...]:
    """The deviation of each owner's noise for the whole budget; nothing if such answers are not protected."""
    if of_size is None:
        return ()
    made = {size: of_size(size).noise_std for size in set(scene.records)}
    return tuple(made[size] for size in scene.records)


def _rule(scene: Scene, protection: Protection, start: FloatArray, plan: NewtonPrediction) -> AnyRule[Any]:
    """Public Newton at one price."""
    return NewtonRule.of(
        scene.public,
        scene.objective,
        records=scene.records,
        noise_std=[noise.noise_std for noise in protection.of(scene.records, plan.clip, plan.answers)],
        clip=plan.clip,
        norm=protection.norm,
        start=start,
    )


def _units(scene: Scene, protection: Protection, answers: int) -> list[float]:
    """The deviation of each owner's noise if the clip were 1."""
    return [noise.noise_std for noise in protection.of(scene.records, 1.0, answers)]
