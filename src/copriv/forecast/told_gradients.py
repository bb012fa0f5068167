"""The gradients that owners have told, out of the state of a rule: whose, at which model, with how much noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from copriv.losses.objective import Objective
from copriv.losses.passes import clipped_average_gradient
from copriv.losses.sample import Sample
from copriv.rules.adaptive_inference import inferred
from copriv.rules.adaptive_newton import AdaptiveNewton
from copriv.rules.adaptive_state import AdaptiveState, settled
from copriv.rules.evidence import weigh
from copriv.rules.newton import NewtonRule, NewtonState
from copriv.rules.rule import AnyRule
from copriv.vectors import Axes, FloatArray, IntArray, Norm

SILENT = "nobody has answered"


@dataclass(frozen=True, slots=True, eq=False)
class ToldGradients:
    """Answers about gradients, one row each, and what they are compared with.

    Args:
        public: the public rows.
        objective: the loss, the regularizer and the box.
        clip: the most that one record's gradient counts.
        norm: in which norm.
        records: n_i of every owner, heard from or not.
        owners: whose answer it is.
        places: the models that were asked at.
        axes: along which they were told; none if along the features.
        values: clipped average gradients with noise, along these axes.
        noise_std: deviation of the noise on every number of each answer.
        near: a model that is near the best one: the one that was trained.
        shifted: the chance that the public rows are of another population, as far as the answers tell.
    """

    public: Sample
    objective: Objective
    clip: float
    norm: Norm
    records: tuple[int, ...]
    owners: IntArray
    places: FloatArray
    axes: Axes
    values: FloatArray
    noise_std: FloatArray
    near: FloatArray
    shifted: float


def told_gradients(rule: AnyRule[Any], state: object) -> ToldGradients | str:
    """All answers about gradients so far; a text says why there are none to go by."""
    if isinstance(rule, AdaptiveNewton) and isinstance(state, AdaptiveState):
        return _of_adaptive(rule, state)
    if isinstance(rule, NewtonRule) and isinstance(state, NewtonState):
        return _of_newton(rule, state) if state.owners.size else SILENT
    return f"the rule {rule.name!r} does not ask for gradients that public rows can be compared with"


def _of_adaptive(rule: AdaptiveNewton, state: AdaptiveState) -> ToldGradients | str:
    setting, noise = rule.setting, rule.setting.noise
    geometry = setting.geometry
    told = [one for one in settled(state.told, noise.norm) if one.ask.kind == "gradient"]
    if not told:
        return SILENT
    found, _ = inferred(setting, state)
    return ToldGradients(
        public=geometry.public,
        objective=geometry.objective,
        clip=geometry.clip,
        norm=geometry.norm,
        records=setting.records,
        owners=np.asarray([one.owner for one in told], dtype=np.int64),
        places=np.stack([one.ask.theta for one in told]),
        axes=geometry.axes,
        values=np.stack([one.values[: geometry.parameters] for one in told]),
        noise_std=np.asarray([noise.std_of(one.owner, one.ask) for one in told]),
        near=rule.model(state),
        shifted=found.exceeds(1 / geometry.public.records + 1 / sum(setting.records)),
    )


def _of_newton(rule: NewtonRule, state: NewtonState) -> ToldGradients:
    """The state has differences from the public rows' answers, in the basis of the public moments."""
    loss, basis = rule.objective.loss, rule.outlook.basis
    public = [clipped_average_gradient(loss, rule.public, at, rule.clip, rule.norm) for at in state.questions]
    return ToldGradients(
        public=rule.public,
        objective=rule.objective,
        clip=rule.clip,
        norm=rule.norm,
        records=rule.records,
        owners=state.owners,
        places=state.questions,
        axes=(),
        values=np.stack(public) + state.deviations @ basis.T,
        noise_std=np.asarray(rule.noise_std)[state.owners],
        near=rule.model(state),
        shifted=weigh(rule.evidence(state), rule.outlook.spread, rule.public.records).apart,
    )
