"""What public Newton may be expected to cost, by clip and number of answers: worked out on the public rows alone.

If owners are like the public rows, then after K answers of each owner the expected f(θ) − f(θ*) has three parts:

- what clipping hides: tr A⁻¹(Σ_gg − B Σ_cg)/2 · (1/n_pub + 1/n), falling with the clip;
- what noise leaves open: Σ_j (Bu_j)ᵀA⁻¹(Bu_j)/2 · P_j q_j/(P_j + q_j), with P_j the variance of the pooled answers and
  q_j = s_j(1/n_pub + 1/n) that of the public rows, growing with the clip and with K;
- what the public Hessian gets wrong: owners are asked on the way, the first at the public model, about √(p/n_pub) away
  from where the model ends, the others nearer to it; a second answer, asked near the end, halves the distance.

Between trainings, and between draws of the public rows, what is left is taken for Gaussian: so the cost has the
deviation of a weighted sum of squares.

The smallest sum tells the clip and K without a look at private records. Beyond the longest public gradient nothing
would seem hidden, although longer ones exist: there the first part follows the exponential that it fell by last.
Short of it, the few rows beyond a clip say too little, as clips are placed by the same rows (`_hidden`).

Clips to choose from grow by equal factors. Quantiles would leave a gap below the longest gradient, where few rows are:
the noise of its two ends differs by up to four times in variance, and the few rows between decide which end is taken.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from copriv.errors import BadInput
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise
from copriv.losses.sample import Sample
from copriv.rules.evidence import Evidence, pool
from copriv.rules.few_rows import is_few
from copriv.rules.public_moments import PublicGradients, PublicMoments
from copriv.vectors import Axes, FloatArray, Norm

# How many answers of each owner are thought of.
ANSWERS = (1, 2)
# Clips go from this quantile of public gradients to two steps beyond the longest, at most so many, each so much longer.
_SHORTEST, STEP, _MOST_CLIPS = 0.8, 1.25, 30
# How fast the tail falls is seen between these quantiles; of fewer than 1,000 rows it is that of the longest ten,
# but of no more than this share of the rows.
_TAIL, _TAIL_ROWS, _WIDEST_TAIL = (0.99, 0.999), 10, 0.2
# The longest of few rows is not long: clips go two more steps beyond it for every factor of ten below so many rows.
_MANY = 1000
# What a clip blunts of a shift is mended by later answers, but for this share.
_BLUNT = 0.1
# A clip that is a little too long is safer under a shift than one that is too short.
_LONGER = 1.12
# So many clips to a step of the ladder may be chosen.
_RUNGS = 8


@dataclass(frozen=True, slots=True)
class NewtonPrediction:
    """A clip, a number of answers of each owner, the ψ to be expected of them, and its deviation between trainings."""

    clip: float
    answers: int
    cost: float
    deviation: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class ClipOutlook:
    """What a forecast needs of `PublicMoments`, and no more: many clips are looked at."""

    spread: FloatArray
    price: FloatArray
    unexplained: float
    staleness: float
    blunting: float

    @classmethod
    def of(cls, moments: PublicMoments) -> ClipOutlook:
        """Of the moments under a clip."""
        return cls(moments.spread, moments.price, moments.unexplained, moments.staleness, moments.blunting)


@dataclass(frozen=True, slots=True, eq=False)
class NewtonForecast:
    """What the public rows foretell under one clip after another; worked out once, for any owners.

    Args:
        clips: from short to long.
        outlooks: one a clip.
        hidden: what each clip hides, with the tail drawn out.
        records: n_pub.
        fitness: of the public model on the public rows.
    """

    clips: tuple[float, ...]
    outlooks: tuple[ClipOutlook, ...]
    hidden: tuple[float, ...]
    records: int
    fitness: float

    @classmethod
    def of(
        cls,
        public: Sample,
        objective: Objective,
        norm: Norm,
        start: FloatArray | None = None,
        clips: Sequence[float] | None = None,
        axes: Axes = (),
    ) -> NewtonForecast:
        """From public rows; `start` is the public model if it is known, `clips` those to look at if not all.

        `axes` are those along which gradients are told, if not along the features.
        """
        theta = minimise(objective, public) if start is None else objective.project(start)
        gradients = PublicGradients.of(public, objective, norm, theta, axes)
        return cls.under(gradients, objective.fitness(public, theta), clips)

    @classmethod
    def under(cls, gradients: PublicGradients, fitness: float, clips: Sequence[float] | None = None) -> NewtonForecast:
        """From public rows' gradients, and the fitness of their model."""
        found = _outlooks(gradients, clips)
        return cls(
            tuple(clip for clip, _, _ in found),
            tuple(outlook for _, outlook, _ in found),
            tuple(hidden for _, _, hidden in found),
            gradients.public.records,
            fitness,
        )

    def at(self, clip: float) -> NewtonForecast | None:
        """The same at one clip, if it is among those looked at."""
        if clip not in self.clips:
            return None
        place = self.clips.index(clip)
        kept = (self.clips[place],), (self.outlooks[place],), (self.hidden[place],)
        return NewtonForecast(*kept, self.records, self.fitness)

    def best(
        self, records: Sequence[int], deviations: Mapping[int, Sequence[float]], among: float = 0.0
    ) -> NewtonPrediction:
        """The clip and number of answers with the least expected ψ.

        Args:
            records: n_i of each owner.
            deviations: for every K to choose from, the deviation of each owner's noise on one answer for a clip of 1.
            among: κ, how much owners truly differ.
        """
        found = [
            self._at(place, answers, records, clip * np.asarray(units), among)
            for place, clip in enumerate(self.clips)
            for answers, units in deviations.items()
        ]
        if not found:
            raise BadInput("no number of answers to choose from", remedy="name at least one", value=len(deviations))
        return min(found, key=lambda prospect: prospect.cost)

    def public_cost(self, rows: int) -> float:
        """ψ of a model of so many public rows alone: tr A⁻¹Σ_gg/2n over the fitness, whatever the clip."""
        outlook = self.outlooks[-1]
        explained = float(np.diag(outlook.price) @ outlook.spread)
        return (explained + outlook.unexplained) / rows / self.fitness

    def best_clip(
        self, records: Sequence[int], units: Sequence[float], shifts: Mapping[float, float], *, laplace: bool = False
    ) -> float:
        """The clip with the least expected logarithm of ψ over shifts: their size α, and the chance of each.

        It may lie between those that were looked at, so that it moves little where little changes. With Laplace noise
        it is a little longer, unless it is chosen by few public rows: then it is long already.

        Args:
            records: n_i of each owner.
            units: the deviation of each owner's noise on one answer for a clip of 1.
            shifts: by how much gradients of another population differ, in units of one record's variance.
            laplace: whether the noise is Laplace noise.
        """
        sizes, chances = np.asarray(list(shifts)), np.asarray(list(shifts.values()))
        expected = [
            float(np.log(self._shifted_costs(place, records, clip * np.asarray(units), sizes)) @ chances)
            for place, clip in enumerate(self.clips)
        ]
        least = _lowest(np.log(self.clips), np.asarray(expected))
        longer = laplace and not is_few(self.records, self.outlooks[0].spread.size)
        return _digits(_rung(least * (_LONGER if longer else 1.0)))

    def _shifted_costs(
        self, place: int, records: Sequence[int], deviations: FloatArray, sizes: FloatArray
    ) -> FloatArray:
        """f(θ) − f(θ*) to be expected under shifts of every size, apart from what a wrong Hessian costs."""
        outlook = self.outlooks[place]
        variances = np.tile(deviations[:, None] ** 2 + np.finfo(float).tiny, outlook.spread.size)
        evidence = Evidence(np.zeros_like(variances), variances, np.asarray(records, dtype=np.float64), np.empty(0))
        _, noise = pool(evidence, outlook.spread, 0.0)
        sampling = 1 / self.records + 1 / evidence.total
        unknown = outlook.spread * (sampling + sizes[:, None])
        left = (noise * unknown / (noise + unknown)) @ np.diag(outlook.price)
        return np.asarray(left + self.hidden[place] * sampling + _BLUNT * outlook.blunting * sizes)

    def _at(
        self, place: int, answers: int, records: Sequence[int], deviations: FloatArray, among: float
    ) -> NewtonPrediction:
        cost, deviation = _cost(
            self.outlooks[place], self.hidden[place], self.records, records, deviations, answers, among
        )
        return NewtonPrediction(self.clips[place], answers, cost / self.fitness, deviation / self.fitness)


def best_prediction(
    public: Sample,
    objective: Objective,
    *,
    records: Sequence[int],
    deviations: Mapping[int, Sequence[float]],
    norm: Norm,
    start: FloatArray | None = None,
) -> NewtonPrediction:
    """The clip and number of answers with the least expected ψ, from public rows; see `NewtonForecast.best`."""
    return NewtonForecast.of(public, objective, norm, start).best(records, deviations)


def _lowest(places: FloatArray, values: FloatArray) -> float:
    """The exponential of where the parabola through the least value and its neighbours is lowest."""
    middle = int(np.argmin(values))
    if not 0 < middle < values.size - 1:
        return float(np.exp(places[middle]))
    below, above = (values[middle + way] - values[middle] for way in (-1, 1))
    left, right = (places[middle + way] - places[middle] for way in (-1, 1))
    bend = below / left - above / right
    shift = (below * right / left - above * left / right) / (2 * bend) if bend != 0 else 0.0
    return float(np.exp(places[middle] + np.clip(shift, left, right)))


def _rung(clip: float) -> float:
    """The nearest of clips that lie close to each other: few different ones have to be looked at."""
    return float(STEP ** (round(math.log(clip, STEP) * _RUNGS) / _RUNGS))


def _outlooks(gradients: PublicGradients, wanted: Sequence[float] | None) -> list[tuple[float, ClipOutlook, float]]:
    """Clips, what the public rows foretell under each, and what it hides, with the tail drawn out."""
    lengths = gradients.lengths
    clips = ladder(lengths) if wanted is None else wanted
    outlooks = {found.clip: ClipOutlook.of(found) for found in gradients.under_each(with_knots(clips, lengths))}
    hidden = draw_out({clip: outlook.unexplained for clip, outlook in outlooks.items()}, lengths)
    return [(clip, outlooks[clip], hidden[clip]) for clip in clips]


def with_knots(clips: Sequence[float], lengths: FloatArray) -> list[float]:
    """These clips, and with them those whose difference tells how fast the tail falls, if a clip lies in the tail."""
    knots = tail_knots(lengths)
    return sorted({*clips, *knots} if max(clips) >= knots[1] else {*clips})


def tail_knots(lengths: FloatArray) -> list[float]:
    """The two clips whose difference tells how fast what is hidden falls."""
    rows = lengths.size
    last = (min(_TAIL[0], 1 - min(_TAIL_ROWS / rows, _WIDEST_TAIL)), min(_TAIL[1], 1 - 1 / rows))
    return [_digits(float(clip)) for clip in np.quantile(lengths, last)]


def draw_out(unexplained: Mapping[float, float], lengths: FloatArray) -> dict[float, float]:
    """What each clip hides, from what it leaves unexplained, with the tail drawn out; see `with_knots`."""
    hidden = {clip: _hidden(left, int(np.sum(lengths > clip))) for clip, left in unexplained.items()}
    knots = tail_knots(lengths)
    if max(hidden) < knots[1]:
        return hidden
    tail = [hidden[knot] for knot in knots]
    return {clip: max(value, _extrapolate(clip, knots, tail)) for clip, value in hidden.items()}


def ladder(lengths: FloatArray, quantile: float = _SHORTEST) -> list[float]:
    """Clips from short to long, by equal factors; the shortest is about this quantile of the lengths."""
    shortest, longest = np.quantile(lengths, quantile), np.max(lengths)
    beyond = 2 + math.ceil(2 * math.log10(max(_MANY / lengths.size, 1)))
    clips = longest * STEP ** np.arange(beyond, beyond - _MOST_CLIPS, -1.0)
    return sorted({_digits(float(clip)) for clip in clips if clip * STEP >= shortest})


def _hidden(unexplained: float, beyond: int) -> float:
    """What a clip hides that leaves so many public rows beyond it.

    Clips are placed by the very rows that judge them. Beyond the (m + 1)-th longest of n gradients lie m of them, but
    a share of (m + 1)/(n + 1) of all others is expected there.
    """
    return unexplained * (beyond + 1) / max(beyond, 1)


def _extrapolate(clip: float, knots: Sequence[float], tail: Sequence[float]) -> float:
    """The exponential through the last two knots, from the last one on."""
    width = knots[1] - knots[0]
    if clip < knots[1] or not 0 < tail[1] < tail[0] or width <= 0:
        return 0.0
    return float(tail[1] * (tail[1] / tail[0]) ** ((clip - knots[1]) / width))


def _cost(
    outlook: ClipOutlook,
    hidden: float,
    public_records: int,
    records: Sequence[int],
    deviations: FloatArray,
    answers: int,
    among: float,
) -> tuple[float, float]:
    """f(θ) − f(θ*) to be expected, and its deviation."""
    sizes = np.asarray(records, dtype=np.float64)
    variances = np.tile((deviations**2 / answers)[:, None] + np.finfo(float).tiny, outlook.spread.size)
    evidence = Evidence(np.zeros_like(variances), variances, sizes, np.empty(0))
    _, variance = pool(evidence, outlook.spread, among)
    sampling = 1 / public_records + 1 / evidence.total
    public = outlook.spread * sampling
    left = variance * public / (variance + public)
    price = np.diag(outlook.price)
    mismatch = outlook.staleness / public_records
    noise = float(price @ left) * kept(hidden - outlook.unexplained, float(price @ outlook.spread))
    stale = _staleness(mismatch, noise, _distances(public_records, records), answers)
    # ½xᵀA⁻¹x with x Gaussian has twice the squared Frobenius length as its variance; what is hidden lies anywhere.
    spread = 2 * float(left @ outlook.price**2 @ left) + 2 * (hidden * sampling) ** 2 / left.size
    return hidden * sampling + noise + stale, float(np.sqrt(spread))


def kept(more: float, explained: float) -> float:
    """The share of what answers can explain that is left to them if more is hidden: the sum of both is what it is."""
    return max(1 - more / explained, 0.0) if explained > 0 else 1.0


def _distances(public_records: int, records: Sequence[int]) -> FloatArray:
    """Variance of the way from where each owner is asked first to where the model ends, in units of one record's.

    After m owners the model rests on n_pub + m n/N records: 1/(n_pub + m n/N) − 1/(n_pub + n).
    """
    owners, total = len(records), sum(records)
    return np.asarray(1 / (public_records + np.arange(owners) * total / owners) - 1 / (public_records + total))


def _staleness(mismatch: float, noise: float, distances: FloatArray, answers: int) -> float:
    """What it costs that first answers were taken elsewhere and the public Hessian is not the owners'.

    With one answer each, the same wrong Hessian acts on the average way; earlier ways contain the later ones, so that
    two have the covariance of the later: Σ (2m + 1)v_m/N². With more answers, an owner's first, of variance v + M_m,
    is weighed against the later ones, of variance v, taken near the end.
    """
    owners = distances.size
    if answers == 1:
        return mismatch * float((2 * np.arange(owners) + 1) @ distances) / owners**2
    one = answers * owners * noise + np.finfo(float).tiny
    first = one + mismatch * distances
    return float(np.sum(1 / (1 / first + (answers - 1) / one) - one / answers)) / owners**2


def _digits(value: float) -> float:
    return float(f"{max(value, 1e-9):.3g}")
