"""An estimate that is not drawn towards the public rows: one Newton step from the trained model, by the answers alone.

Owner i has answered a at models θ_k. With c_pub the clipped average gradient of the public rows and J its derivative
at the trained model θ_r, its own estimate is

    θ̂_i = θ_r − A⁻¹∇f_pub(θ_r) − J⁻¹ Σ_k ω_ik (a_ik − c_pub(θ_k)):

the public rows' best model, and how far the owner's is from it: if best models differ by D, and nothing else, clipped
gradients differ by −JD. A in place of J would take a clipped difference for a full one, and so draw the estimate
towards the public rows. The step is linear in the answers, so noise does not bend it. There is no ridge, and no
weighing against the public rows. All owners together are weighed by their records, n_i/n: an estimate of the best model
of all records.

What it may be off by, in covariances: the sampling of private records, J⁻¹Σ_cc J⁻ᵀ/n; the owners' noise, known; and
the public rows' part. These are a sample: their best model and the one that clipped gradients say differ by the mean of
A⁻¹g − J⁻¹c, and J is so far off that the step from the places δ = Σω θ_k − θ* errs by A⁻¹(A − H)δ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from copriv.forecast.told_gradients import ToldGradients, told_gradients
from copriv.losses.clipped_curvature import clipped_curvature
from copriv.losses.loss import Loss
from copriv.losses.passes import (
    average_curvature,
    average_gradient,
    clipped_average_gradient,
    gradient_lengths,
    record_curvatures,
    record_slopes,
    weighted_outer,
)
from copriv.losses.sample import Sample
from copriv.losses.turned import turn, turned_model
from copriv.rules.few_rows import is_few
from copriv.rules.left_out import covariance, quadratic_forms
from copriv.rules.rule import AnyRule
from copriv.vectors import Axes, FloatArray, IntArray, Norm

# Beyond this chance of another population, what public rows say of clip and Hessian is not relied on.
LIKELY = 0.2
# If the clip takes more than this share of the variance, most of a coefficient would be what public rows say.
MOST_TAKEN = 0.5
# If so little of the Hessian is left of the records that the clip spares, clipped gradients hardly tell models apart.
LEAST_LEFT = 0.25
# Rows with the rarer label, for every number of a model: below, a category may have a handful of them.
FEWEST_LABELS = 30
# Longer models have no coefficients that people read, and their Hessians take long.
MOST_NUMBERS = 200
# A direction that bends by less than this share of the most curved one is flat.
_FLAT = 1e-10
# Losses under which intervals were shown to hold (`python -m benchmarks inference`).
COVERED = ("squared", "huber", "logistic", "poisson", "gamma")
FLAT = "the public rows do not tell some columns apart: one hardly varies, or is a sum of others"
SHIFTED = (
    "the owners' answers say that the public rows may be of another population, so that these do not tell how steep "
    "the fitness is, nor what the clip takes"
)
TAKEN = (
    "the clip takes most of what records say of some coefficient, and only public rows tell how much: promise a larger "
    "ε, find more records, or leave out columns with rare large values"
)


@dataclass(frozen=True, slots=True, eq=False)
class PublicSandwich:
    """What public rows say of how records vary around a model.

    Gradients are clipped, and have noise, along the axes that the study tells them along.

    Args:
        inverse: A⁻¹, without a ridge.
        response: J⁻¹: how far apart models are whose clipped gradients, along these axes, differ by so much.
        clipped: Σ_cc, the covariance of one record's clipped gradient along these axes.
        taken: Σ_tt, of what the clip takes from it.
        full: Σ_gg, of its whole gradient.
        unseen: the covariance of A⁻¹g − J⁻¹c, one record's part in the best model that its clipped gradient misses.
        left: the least share of the Hessian that is left in J, over directions.
        flat: whether the fitness does not bend in some direction.
        back: from a gradient along these axes to one along the features.
    """

    inverse: FloatArray
    response: FloatArray
    clipped: FloatArray
    taken: FloatArray
    full: FloatArray
    unseen: FloatArray
    left: float
    flat: bool
    back: FloatArray

    @classmethod
    def of(
        cls, public: Sample, loss: Loss, theta: FloatArray, clip: float, norm: Norm, axes: Axes = ()
    ) -> PublicSandwich:
        """At a model; the model may have been fitted to these very rows, so p degrees of freedom are taken off."""
        slopes = record_slopes(loss, public, theta)
        full = public.by_record(public.columns * slopes)
        there = turn(public, axes)
        along = np.asarray(axes) if axes else np.eye(theta.size)
        back = np.asarray(np.linalg.inv(along))
        lengths = gradient_lengths(there, slopes, norm)
        kept = clip / np.maximum(lengths, clip)
        clipped, taken = along @ full * kept, full * (1 - kept)
        free = public.records / max(public.records - public.parameters, 1)
        curvature = average_curvature(loss, public, theta)
        bends = np.linalg.eigvalsh(curvature)
        inverse = np.asarray(np.linalg.pinv(curvature, rcond=_FLAT, hermitian=True))
        derivative = back @ clipped_curvature(loss, there, turned_model(theta, axes), clip, norm) @ back.T
        response = np.asarray(np.linalg.pinv(derivative, rcond=_FLAT)) @ back
        missed = inverse @ full - response @ clipped
        return cls(
            inverse,
            response,
            free * covariance(clipped, clipped),
            free * covariance(taken, taken),
            free * covariance(full, full),
            free * covariance(missed, missed),
            float(np.min(np.linalg.eigvals(inverse @ derivative).real)),
            bool(bends[0] <= _FLAT * bends[-1]),
            back,
        )

    @property
    def share_taken(self) -> float:
        """The largest share of a number's variance, over records, that the clip takes."""
        taken, full = (np.diag(self.inverse @ each @ self.inverse) for each in (self.taken, self.full))
        return float(np.max(taken / np.maximum(full, np.finfo(float).tiny)))

    def model_covariance(self, records: float, noise: float = 0.0) -> FloatArray:
        """Of a model of so many records, whose average gradient has noise of this variance on every number."""
        inside = self.full / records + noise * self.back @ self.back.T
        return np.asarray(self.inverse @ inside @ self.inverse)


@dataclass(frozen=True, slots=True, eq=False)
class OneStep:
    """The estimate of every owner heard from and of all together, and what they may be off by.

    Args:
        theta: of all together, owners weighed by their records.
        each: of each owner, one a row.
        heard: which owners.
        records: n_i of them.
        sandwich: of the public rows.
        noise: variance of the noise in each owner's gradient, on every number.
        public: covariance by the public rows being a sample; all owners share it.
        pulled: by how much the study's ridge moves a model; the estimate has no ridge.
        none: why intervals would not hold; empty if they should.
    """

    theta: FloatArray
    each: FloatArray
    heard: IntArray
    records: FloatArray
    sandwich: PublicSandwich
    noise: FloatArray
    public: FloatArray
    pulled: FloatArray
    none: str = ""

    @property
    def weights(self) -> FloatArray:
        """n_i/n of the owners heard from."""
        return np.asarray(self.records / self.records.sum())

    def sampling_of(self, effects: FloatArray) -> FloatArray:
        """Variance of each effect, a row of numbers that models are multiplied by, by one record."""
        return _variances(effects @ self.sandwich.response, self.sandwich.clipped)

    def noise_of(self, effects: FloatArray) -> FloatArray:
        """Variance of each effect if the noise on a gradient's numbers has variance 1."""
        return np.asarray(np.sum((effects @ self.sandwich.response) ** 2, axis=1))

    def public_of(self, effects: FloatArray) -> FloatArray:
        """Variance of each effect by the public rows."""
        return _variances(effects, self.public)


# Or why there is none.
Unshrunk: TypeAlias = OneStep | str


def unshrunk(rule: AnyRule[Any], state: object) -> Unshrunk:
    """The estimate by the answers of a state; a text says why there is none."""
    told = told_gradients(rule, state)
    if isinstance(told, str):
        return told
    if told.near.size > MOST_NUMBERS:
        return f"a model of {told.near.size:,} numbers is too long: name the columns that you ask about, at most a few"
    return one_step(told)


def one_step(told: ToldGradients) -> OneStep:
    """From all answers."""
    public, loss = told.public, told.objective.loss
    sandwich = PublicSandwich.of(public, loss, told.near, told.clip, told.norm, told.axes)
    heard, place = np.unique(told.owners, return_inverse=True)
    weights = _weights(told, sandwich, place)
    news = told.values - _public_answers(told)
    differences = np.zeros((heard.size, told.near.size))
    np.add.at(differences, place, weights[:, None] * news)
    noise = np.zeros(heard.size)
    np.add.at(noise, place, weights**2 * told.noise_std**2)
    records = np.asarray(told.records, dtype=np.float64)[heard]
    sized = records / records.sum()
    best = told.near - sandwich.inverse @ average_gradient(loss, public, told.near)
    each = best - differences @ sandwich.response.T
    centre = (sized[place] * weights) @ told.places
    answered = sandwich.model_covariance(records.sum(), float(sized**2 @ noise))
    pulled = 2 * told.objective.regularization * sandwich.inverse @ told.near
    away = centre - told.near - pulled
    spread = np.outer(away, away) + _both(sandwich.model_covariance(public.records), answered)
    doubt = doubt_by_public_rows(public, loss, sandwich, told.near, spread)
    return OneStep(sized @ each, each, heard, records, sandwich, noise, doubt, pulled, _why_not(told, sandwich))


def _both(one: FloatArray, other: FloatArray) -> FloatArray:
    """Covariance of what two independent estimates say together: the trained model is about as good as that."""
    return np.asarray(one @ np.linalg.pinv(one + other, hermitian=True) @ other)


def _why_not(told: ToldGradients, sandwich: PublicSandwich) -> str:
    """Why intervals would not hold; empty if they should."""
    if told.objective.loss.name not in COVERED:
        return f"whether intervals hold under the {told.objective.loss.name} loss has not been measured"
    if few := too_few(told.public, told.objective.loss):
        return few
    if sandwich.flat:
        return FLAT
    if takes_most(sandwich):
        return TAKEN
    return SHIFTED if told.shifted > LIKELY else ""


def takes_most(sandwich: PublicSandwich) -> bool:
    """Whether the clip takes so much that a coefficient would mostly be what public rows say."""
    return sandwich.share_taken > MOST_TAKEN or sandwich.left < LEAST_LEFT


def too_few(public: Sample, loss: Loss) -> str:
    """Why public rows do not tell how steep the fitness is; empty if they do. Of labels the rarer one counts."""
    rows, numbers = public.records, public.parameters
    if is_few(rows, numbers):
        return f"{rows:,} public rows are too few to tell how steep the fitness is in {numbers} numbers"
    if loss.name != "logistic":
        return ""
    rarer = int(min(np.sum(public.targets > 0), np.sum(public.targets <= 0)))
    if rarer >= FEWEST_LABELS * numbers:
        return ""
    return (
        f"{rarer:,} public rows with the rarer label are too few to tell how steep the fitness is in {numbers} "
        f"numbers: it takes {FEWEST_LABELS * numbers:,}"
    )


def doubt_by_public_rows(
    public: Sample, loss: Loss, sandwich: PublicSandwich, near: FloatArray, spread: FloatArray
) -> FloatArray:
    """Covariance of an estimate by the public rows being a sample, if owners were asked δ away from it.

    `spread` is the expected δδᵀ, `near` a model near by, which `sandwich` is of.
    """
    inverse, records = sandwich.inverse, public.records
    curvatures = record_curvatures(loss, public, near)
    # Of rows: people, who are means of rows, vary less.
    strays = public.weights * curvatures**2 * quadratic_forms(spread, public.columns)
    uneven = weighted_outer(public.columns, strays) / records
    whole = weighted_outer(public.columns, public.weights * curvatures) / records
    mismatch = uneven - whole @ spread @ whole
    return np.asarray((sandwich.unseen + inverse @ mismatch @ inverse) / records)


def _weights(told: ToldGradients, sandwich: PublicSandwich, place: IntArray) -> FloatArray:
    """Of each answer among its owner's: by its noise, and by how far from the trained model it was asked."""
    public, loss = told.public, told.objective.loss
    squares = public.weights * record_curvatures(loss, public, told.near) ** 2
    lengths = np.sum((sandwich.inverse @ public.columns) ** 2, axis=0)
    margins = (told.places - told.near) @ public.columns
    stale = (margins**2) @ (squares * lengths) / public.records**2 / np.sum((sandwich.inverse @ sandwich.back) ** 2)
    precise = 1 / np.maximum(told.noise_std**2 + stale, np.finfo(float).tiny)
    total = np.zeros(int(place.max()) + 1)
    np.add.at(total, place, precise)
    return np.asarray(precise / total[place])


def _public_answers(told: ToldGradients) -> FloatArray:
    """What the public rows answer to the same questions."""
    known: dict[bytes, FloatArray] = {}
    loss, there = told.objective.loss, turn(told.public, told.axes)
    for at in told.places:
        if at.tobytes() not in known:
            place = turned_model(at, told.axes)
            known[at.tobytes()] = clipped_average_gradient(loss, there, place, told.clip, told.norm)
    return np.stack([known[at.tobytes()] for at in told.places])


def _variances(effects: FloatArray, matrix: FloatArray) -> FloatArray:
    return np.asarray(np.maximum(np.einsum("ij,ij->i", effects @ matrix, effects), 0.0))
