"""Public Newton: start at the model of the public rows, and move only by what owners' answers teach beyond them.

The learner asks owner i at some model θ_q, and compares the answer with the clipped average gradient of the public rows
at the very same θ_q. Averaged over owners, weighed against the noise and turned back into full gradients
(`rules.evidence`, `rules.public_moments`), these differences say by how much the gradient of all private records
differs from that of the public rows: d. The model is where the tilted public fitness is stationary,

    ∇f_pub(θ) + d = 0,

so an answer taken at any θ_q stays of use wherever the model goes; for the squared loss this is the linear model
ĝ_i + A(θ − θ_q) of each owner's gradient. What clipping takes from a gradient it takes from public rows too. One or two
answers of each owner suffice, so the whole budget goes into them. Everything after the answers is post-processing.

The linear model errs by (H_i − A)(θ_q − θ). So it is best to ask near where the model will end: at the present one,
once owners look alike, or together unlike the public rows. While they differ from each other around the public rows,
everyone is first asked at the public model: the H_i differ too, and asked at one place their errors cancel in the
sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from copriv.errors import BadInput
from copriv.losses.objective import Objective
from copriv.losses.passes import clipped_average_gradient
from copriv.losses.sample import Sample
from copriv.losses.squared import SquaredLoss
from copriv.protocol.terms import Terms
from copriv.rules.adaptive_newton import KINDS, KINDS_OF_LABELS, MOST_PARAMETERS, SHARES, AdaptiveNewton
from copriv.rules.adaptive_questions import MOST_ANSWERS
from copriv.rules.entry import RuleEntry
from copriv.rules.evidence import Evidence, Posterior, weigh
from copriv.rules.leaning import Leaning
from copriv.rules.public_moments import PublicMoments
from copriv.rules.setting import NoiseModel, Owners
from copriv.rules.unevenness import Unevenness
from copriv.vectors import FloatArray, IntArray, Norm, freeze, read_only

_MOST_STEPS = 20
_STILL = 1e-12
# Noise of 0 is taken for this share of what the records themselves leave open, so that nothing is divided by 0.
_SILENCE = 1e-15
# Beyond this, owners together are taken for another population than the public rows.
_APART = 0.9


@dataclass(frozen=True, slots=True, eq=False)
class NewtonState:
    """The model, where to ask newcomers, and a row for each answer: whose, asked where, how far from the public one."""

    central: FloatArray
    newcomer: FloatArray
    owners: IntArray
    questions: FloatArray
    deviations: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class NewtonRule:
    """Public Newton for owners with their own sizes and noise.

    Args:
        public: the public rows.
        objective: the loss, the regularizer and the box.
        records: n_i of each owner.
        noise_std: standard deviation of each owner's noise on every coordinate of one answer.
        clip: the most that one record's gradient may count; the owners' and the public rows'.
        norm: in which norm.
        outlook: what the public rows foretell, from `PublicMoments.of` with the same rows, objective, clip and norm.
        leaning: what a ridge says that the public rows want; None if there is none.
        unevenness: how wrong the public Hessian may be.
    """

    public: Sample
    objective: Objective
    records: tuple[int, ...]
    noise_std: tuple[float, ...]
    clip: float
    norm: Norm
    outlook: PublicMoments
    leaning: Leaning | None = None
    unevenness: Unevenness = field(init=False)
    name = "newton"
    asks: ClassVar[Literal["gradient"]] = "gradient"

    def __post_init__(self) -> None:
        found = Unevenness.of(self.public, self.outlook.spared, self.outlook.basis)
        object.__setattr__(self, "unevenness", found)

    @classmethod
    def of(
        cls,
        public: Sample,
        objective: Objective,
        *,
        records: Sequence[int],
        noise_std: Sequence[float],
        clip: float,
        norm: Norm,
        start: FloatArray | None = None,
    ) -> NewtonRule:
        """The rule for these public rows and owners; `start` is the public model, if it is known already.

        Long models lean on a ridge. Short ones have rows enough, or look first (`rules.adaptive_newton`).
        """
        _require_owners(records, noise_std)
        outlook = PublicMoments.of(public, objective, clip, norm, start)
        leaning = Leaning.of(public, objective, outlook) if public.parameters > MOST_PARAMETERS else None
        return cls(public, objective, tuple(records), tuple(noise_std), clip, norm, outlook, leaning)

    @property
    def parameters(self) -> int:
        """Length of a model (p)."""
        return self.public.parameters

    @property
    def answer_size(self) -> int:
        """A gradient's."""
        return self.parameters

    @property
    def owners(self) -> int:
        """How many owners there are (N)."""
        return len(self.records)

    def begin(self) -> NewtonState:
        """The public model, or what is expected instead, and no answers."""
        none, first = np.empty((0, self.parameters)), self._first()
        return NewtonState(first, first, np.empty(0, dtype=np.int64), none, none)

    def question(self, state: NewtonState, owner: int) -> FloatArray:
        """The present model; at a first meeting, perhaps the public one."""
        return state.central if owner in state.owners else state.newcomer

    def absorb(
        self, state: NewtonState, owner: int, answer: FloatArray, asked: FloatArray | None = None
    ) -> NewtonState:
        """Note the difference from the public rows' answer to the same question, and move."""
        asked = self.question(state, owner) if asked is None else asked
        public = clipped_average_gradient(self.objective.loss, self.public, asked, self.clip, self.norm)
        owners = np.append(state.owners, owner)
        questions = np.vstack([state.questions, asked])
        deviations = np.vstack([state.deviations, (answer - public) @ self.outlook.basis])
        central, newcomer = self._estimate(owners, questions, deviations, state.central)
        for array in (central, newcomer, owners, questions, deviations):
            array.flags.writeable = False
        return NewtonState(central, newcomer, owners, questions, deviations)

    def model(self, state: NewtonState) -> FloatArray:
        """The model after the last answer."""
        return state.central

    def evidence(self, state: NewtonState) -> Evidence:
        """What the answers say of each owner heard from, seen from the model they have led to."""
        return self._gather(state.owners, state.questions, state.deviations, state.central)

    def pack(self, state: NewtonState) -> bytes:
        """The number of answers, the two models and the answers, as bytes."""
        parts = (state.central, state.newcomer, state.owners.astype("<i8"), state.questions, state.deviations)
        return len(state.owners).to_bytes(8, "little") + b"".join(part.tobytes() for part in parts)

    def unpack(self, data: bytes) -> NewtonState:
        """The state again, to the last bit."""
        answers, p = int.from_bytes(data[:8], "little"), self.parameters
        if len(data) < 8 or len(data) != 8 * (1 + 2 * p + answers * (1 + 2 * p)):
            raise BadInput(
                f"{len(data)} bytes are not a state of this rule",
                remedy="use the checkpoint of this study",
                value=len(data),
            )
        central, newcomer = np.frombuffer(data, dtype="<f8", offset=8, count=2 * p).reshape(2, p)
        owners = np.frombuffer(data, dtype="<i8", offset=8 * (1 + 2 * p), count=answers).astype(np.int64)
        owners.flags.writeable = False
        questions, deviations = np.frombuffer(data, "<f8", offset=8 * (1 + 2 * p + answers)).reshape(2, answers, p)
        models = read_only(central), read_only(newcomer)
        return NewtonState(*models, owners, read_only(questions), read_only(deviations))

    def _estimate(
        self, owners: IntArray, questions: FloatArray, deviations: FloatArray, central: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The model and where to ask newcomers; twice, as only the first model tells how far from it questions were."""
        _, tilt = self._weigh(owners, questions, deviations, central)
        verdict, tilt = self._weigh(owners, questions, deviations, self._tilt(tilt))
        central = self._tilt(tilt)
        settled = verdict.among <= 1 / self.public.records or verdict.apart > _APART
        return central, central if settled else self._first()

    def _first(self) -> FloatArray:
        """The model before any answer."""
        if self.leaning is None:
            return self.outlook.start
        return freeze(self._tilt(self.outlook.basis @ self.leaning.beforehand))

    def _weigh(
        self, owners: IntArray, questions: FloatArray, deviations: FloatArray, central: FloatArray
    ) -> tuple[Posterior, FloatArray]:
        """What the answers say, and by how much all private records' gradient differs from the public rows'."""
        evidence = self._gather(owners, questions, deviations, central)
        if self.leaning is None:
            known = weigh(evidence, self.outlook.spread, self.public.records)
            return known, self.outlook.restore(known.deviation, known.apart)
        known, ridge = self.leaning.weigh(evidence, self.outlook.spread, self.public.records)
        return known, self.outlook.restore(known.deviation, known.apart) + self.outlook.basis @ ridge

    def _gather(self, owners: IntArray, questions: FloatArray, deviations: FloatArray, central: FloatArray) -> Evidence:
        """One deviation for each owner heard from: its answers, each weighed by its noise and its staleness."""
        heard, place = np.unique(owners, return_inverse=True)
        sizes = np.asarray(self.records, dtype=np.float64)
        mismatch = self.unevenness.variances(questions - central)
        noise = np.asarray(self.noise_std)[owners, None] ** 2 + _SILENCE * self.outlook.spread / sum(self.records)
        weights = 1 / (noise + mismatch * (1 / self.public.records + 1 / sizes[owners])[:, None])
        total, weighted, variances = np.zeros((3, heard.size, self.parameters))
        np.add.at(total, place, weights)
        np.add.at(weighted, place, weights * deviations)
        np.add.at(variances, place, weights**2 * noise)
        return Evidence(weighted / total, variances / total**2, sizes[heard], np.delete(sizes, heard))

    def _tilt(self, tilt: FloatArray) -> FloatArray:
        """The θ in the box at which ∇f_pub(θ) + d vanishes, by Newton's method from the public model."""
        theta = self.outlook.start - self.outlook.inverse @ tilt
        if isinstance(self.objective.loss, SquaredLoss):
            return self.objective.project(theta)
        for _ in range(_MOST_STEPS):
            theta = self.objective.project(theta)
            gradient = self.objective.gradient(self.public, theta) + tilt
            step = np.linalg.solve(self.objective.curvature(self.public, theta), gradient)
            theta = theta - step
            if float(np.max(np.abs(step))) < _STILL:
                break
        return self.objective.project(theta)


def _require_owners(records: Sequence[int], noise_std: Sequence[float]) -> None:
    if not records or len(records) != len(noise_std):
        raise BadInput(
            f"{len(records)} sizes and {len(noise_std)} standard deviations of noise",
            remedy="give one of each for every owner, and at least one owner",
            value=(len(records), len(noise_std)),
        )
    for size in records:
        if size < 1:
            raise BadInput(f"an owner with {size} records", remedy="leave empty owners out", value=size)
    for deviation in noise_std:
        if not (math.isfinite(deviation) and deviation >= 0):
            raise BadInput(f"noise of deviation {deviation}", remedy="give finite numbers from 0", value=deviation)


def _build(
    terms: Terms, owners: Owners, noise: NoiseModel | None, public: Sample | None
) -> NewtonRule | AdaptiveNewton:
    """With a menu, the rule that looks first; without one, so many answers of each owner at one price."""
    if noise is None or public is None:
        raise BadInput("public Newton without public rows", remedy="keep those that `copriv learner draft` has written")
    if noise.shares:
        return AdaptiveNewton.of(public, terms.objective(), records=owners.records, noise=noise)
    return NewtonRule.of(
        public,
        terms.objective(),
        records=owners.records,
        noise_std=noise.noise_std,
        clip=noise.clip,
        norm=noise.norm,
    )


ENTRY = RuleEntry(
    "newton",
    _build,
    needs=frozenset({"noise", "public"}),
    answers=MOST_ANSWERS,
    chooses=True,
    shares=SHARES,
    kinds=KINDS,
    kinds_of_labels=KINDS_OF_LABELS,
    fills=True,
    turns=True,
    most_parameters=MOST_PARAMETERS,
)
