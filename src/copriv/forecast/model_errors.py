"""How far a trained model may lie from the best one of the population: by owners' noise, and by who was sampled.

A rule is a function of answers. To first order an error e_k of the answers to question k moves the model by −Q_k e_k,
with what the rule has settled (how much owners differ, whether populations do) held as it is. Three errors are known:

- owners' noise, exactly: its deviation is part of what owners promise;
- of the private records, the covariance S/n of an average clipped gradient, S being that of one public row;
- of the public rows, with which answers are compared and from whose model θ_0 the rule starts: −A⁻¹e_g + Q e_c, where
  e_g and e_c are the errors of their full and clipped average gradients and Q = Σ_k Q_k.

Nothing here looks at a private record. All of it holds if public and private records are of one population; where the
answers say that they are not, or the rule does not know its own errors, there are none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from copriv.losses.moments import unpack_moments
from copriv.losses.sample import Sample
from copriv.rules.adaptive_inference import inferred
from copriv.rules.adaptive_newton import AdaptiveNewton
from copriv.rules.adaptive_state import AdaptiveState
from copriv.rules.difference import ALPHAS, Difference, Scales, kernel
from copriv.rules.evidence import Evidence, Posterior, pool, weigh
from copriv.rules.few_rows import is_few
from copriv.rules.geometry import PublicGeometry
from copriv.rules.left_out import clipped_gradients, covariance
from copriv.rules.newton import NewtonRule, NewtonState
from copriv.rules.rule import AnyRule
from copriv.rules.statistics import StatisticsRule, StatisticsState
from copriv.vectors import FloatArray

# A model that comes so near to the box's limit is held by it, and does not move as errors would have it.
_EDGE = 0.99
# Beyond this chance of another population, the public rows are not taken for the same one.
_LIKELY = 0.5
_NEGLIGIBLE = 1e-6

SHIFTED = "the owners' answers say that the public rows are of another population"
AT_THE_EDGE = "the model lies at the edge of its box, where noise cannot move it freely"
LEANING = "a long model leans on a ridge where answers tell too little, which pulls coefficients to 0"
SILENT = "nobody has answered"


@dataclass(frozen=True, slots=True, eq=False)
class ModelErrors:
    """Covariances of a model's numbers around the best ones of the population in these features.

    Args:
        noise: by the owners' noise.
        private: by the private records being a sample.
        public: by the public rows being one.
    """

    noise: FloatArray
    private: FloatArray
    public: FloatArray

    @property
    def sampling(self) -> FloatArray:
        """By all records being samples."""
        return self.private + self.public


# Or why there are none.
Errors: TypeAlias = ModelErrors | str


def model_errors(rule: AnyRule[Any], state: object, public: Sample | None) -> Errors:
    """How far the model of a state may be off; a text says why that is not known.

    Args:
        rule: the learner's.
        state: after the last answer.
        public: the public rows; rules that start from them have their own.
    """
    if isinstance(rule, AdaptiveNewton) and isinstance(state, AdaptiveState):
        geometry, theta = rule.setting.geometry, rule.model(state)
        known, errors, limit = geometry.public, _of_adaptive(rule, state), geometry.objective.limit
    elif isinstance(rule, NewtonRule) and isinstance(state, NewtonState):
        theta = rule.model(state)
        known, errors, limit = rule.public, _of_newton(rule, state), rule.objective.limit
    elif public is None:
        return "there are no public rows to tell how much records vary"
    elif isinstance(rule, StatisticsRule) and isinstance(state, StatisticsState):
        theta = rule.model(state)
        known, errors, limit = public, _of_statistics(rule, state, public), rule.limit
    else:
        return f"the rule {rule.name!r} does not say how noise moves its model"
    if isinstance(errors, str):
        return errors
    if is_few(known.records, known.parameters):
        return f"{known.records:,} public rows are too few to tell how much {known.parameters} numbers vary"
    at_edge = float(np.max(np.abs(theta))) > _EDGE * limit
    return AT_THE_EDGE if at_edge else errors


def _of_adaptive(rule: AdaptiveNewton, state: AdaptiveState) -> Errors:
    """In the coordinates of the geometry, and then of the model."""
    if not any(told.ask.kind == "gradient" for told in state.told):
        return SILENT
    setting = rule.setting
    geometry, records = setting.geometry, float(sum(setting.records))
    found, _ = inferred(setting, state)
    sampled = 1 / geometry.public.records + 1 / records
    if found.exceeds(sampled) > _LIKELY:
        return SHIFTED
    moves = np.linalg.solve(found.hessian, _prediction(found, geometry, sampled, geometry.place(rule.model(state))))
    by_question = np.split(moves, len(found.observations), axis=1)
    noise = sum(move @ one.noise @ move.T for move, one in zip(by_question, found.observations, strict=True))
    whole = np.sum(by_question, axis=0)
    private = whole @ geometry.spread @ whole.T / records
    for move, one in zip(by_question, found.observations, strict=True):
        for twin, other in zip(by_question, found.observations, strict=True):
            private = private + float(one.aside @ other.aside) * (move @ geometry.spread @ twin.T)
    model = (geometry.start, geometry.curvature)
    full, _, _ = clipped_gradients(geometry.public, geometry.objective, model, geometry.clip, geometry.norm)
    public = geometry.whiten.T @ covariance(full, full) @ geometry.whiten
    across = geometry.restoring @ geometry.spread @ whole.T
    public = (public - across - across.T + whole @ geometry.spread @ whole.T) / geometry.public.records
    return ModelErrors(*(geometry.whiten @ part @ geometry.whiten.T for part in (np.asarray(noise), private, public)))


def _prediction(found: Difference, geometry: PublicGeometry, sampled: float, place: FloatArray) -> FloatArray:
    """What the expected difference at a place gains for each unit of each observation (p × all observations)."""
    total = np.zeros((geometry.parameters, geometry.parameters * len(found.observations)))
    for scale, chances in zip(found.scales, found.chances.T, strict=True):
        total += _prediction_at(found, geometry, sampled, place, (scale, chances))
    return total


def _prediction_at(
    found: Difference,
    geometry: PublicGeometry,
    sampled: float,
    place: FloatArray,
    scale: tuple[Scales, FloatArray],
) -> FloatArray:
    """The same for one β: Σ_α chance · cov(d(u), answers) C⁻¹."""
    at, chances = scale
    bend = np.hstack([kernel(at.variance, place, one.place) for one in found.observations])
    total = np.zeros_like(bend)
    for alpha, chance, whole in zip(ALPHAS, chances, at.covariance, strict=True):
        if chance < _NEGLIGIBLE:
            continue
        apart = alpha / (alpha + sampled)
        restored = (1 - apart) * geometry.restoring @ geometry.spread + apart * geometry.spread
        across = np.tile((sampled + alpha) * restored, (1, len(found.observations))) + bend
        total += chance * np.linalg.solve(whole, across.T).T
    return total


def _of_newton(rule: NewtonRule, state: NewtonState) -> Errors:
    """One direction at a time, in the basis of the public moments."""
    if rule.leaning is not None:
        return LEANING
    if state.owners.size == 0:
        return SILENT
    outlook, evidence, public = rule.outlook, rule.evidence(state), rule.public.records
    known = weigh(evidence, outlook.spread, public)
    if known.apart > _LIKELY:
        return SHIFTED
    weights, trust = _weights(evidence, outlook.spread, known)
    restored = (1 - known.apart) * outlook.sampled + known.apart * outlook.basis
    moves = outlook.inverse @ (restored * trust)
    noise = np.sum(weights**2 * evidence.variances, axis=0)
    everybody = np.append(evidence.records, evidence.silent)
    off = np.vstack([weights, np.zeros((evidence.silent.size, noise.size))]) - (everybody / evidence.total)[:, None]
    private = outlook.spread * (1 / evidence.total + (1 / everybody + known.among) @ off**2)
    full, _, _ = clipped_gradients(
        rule.public, rule.objective, (outlook.start, outlook.curvature), rule.clip, rule.norm
    )
    across = outlook.inverse @ (outlook.sampled * outlook.spread) @ moves.T
    of_public = outlook.inverse @ covariance(full, full) @ outlook.inverse
    of_public = of_public - across - across.T + (moves * outlook.spread) @ moves.T
    return ModelErrors((moves * noise) @ moves.T, (moves * private) @ moves.T, of_public / public)


def _weights(evidence: Evidence, spread: FloatArray, known: Posterior) -> tuple[FloatArray, FloatArray]:
    """How much each owner heard from counts in the pooled answer, and how much that counts against the public rows."""
    own = spread * (1 / evidence.records[:, None] + known.among)
    precise = 1 / (own + evidence.variances)
    kept = evidence.records[:, None] / evidence.total * own * precise
    weights = precise / precise.sum(axis=0) * (1 - kept.sum(axis=0)) + kept
    mean, _ = pool(evidence, spread, known.among)
    trust = np.divide(known.deviation, mean, out=np.ones_like(mean), where=mean != 0)
    return weights, trust


def _of_statistics(rule: StatisticsRule, state: StatisticsState, public: Sample) -> Errors:
    """Of (M + λI)⁻¹v: the noise on every moment, and the gradients of the public rows at the model."""
    records = float(state.told @ np.asarray(rule.records))
    if records == 0:
        return SILENT
    theta, size = rule.model(state), rule.answer_size
    matrix, _ = unpack_moments(state.total / records, rule.parameters, rule.norm)
    whole = matrix + rule.regularization * np.eye(rule.parameters)
    if float(np.linalg.eigvalsh(whole)[0]) < 2 * rule.noise_level(state) / records:
        return "the noise is too strong for the second moments that owners have told"
    variance = float(state.told @ np.asarray(rule.noise_std) ** 2) / records**2
    moved = np.empty((rule.parameters, size))
    one = np.zeros(size)
    for place in range(size):
        one[place] = 1.0
        bend, pull = unpack_moments(one, rule.parameters, rule.norm)
        moved[:, place], one[place] = pull - bend @ theta, 0.0
    gradients = public.by_record(public.columns * (public.targets - theta @ public.columns))
    inverse = np.linalg.inv(whole)
    spread = covariance(gradients, gradients) / records
    by_noise = variance * inverse @ moved @ moved.T @ inverse
    return ModelErrors(by_noise, inverse @ spread @ inverse, np.zeros_like(spread))
