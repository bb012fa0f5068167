"""One answer at several levels of noise, told one after the other at the price of the finest (gradual release).

Laplace noise of a larger scale is Laplace noise of a smaller one plus an independent increment. So whoever draws the
finest answer first, and adds increments, may tell the coarse answer today and the fine one tomorrow: the coarse one is
made from the fine one and from chance, and both together cost what the fine one costs. The increment from scale b to
a larger scale c is 0 with probability (b/c)², else Laplace(c): its characteristic function is that of Laplace(c) over
that of Laplace(b),

    (1 + b²t²)/(1 + c²t²) = (b/c)² + (1 − (b/c)²)/(1 + c²t²).

For records everything is drawn exactly, in whole units of one grid: that of the finest level, so that no level is
rounded more coarsely than its price allows for. With α = e^(−1/b) for a scale of b units the noise has
P(k) ∝ α^|k|, and an increment is G − H, both independent, each 0 with probability (1 − α_c)/(1 − α_b), else k ≥ 1 with
P(k) = (1 − α_c) α_c^(k−1). The noise itself and the lengths k, which are |X| of such noise where X is not 0, are
OpenDP's. docs/theory/accounts.md has the proofs.

Koufogiannis, Han, Pappas: Gradual release of sensitive data under differential privacy, JPC 2016.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from copriv.errors import BadInput
from copriv.privacy.exact import PrivateVector, unseal
from copriv.privacy.mechanism import grid_exponent
from copriv.privacy.opendp_call import invoke_integers
from copriv.vectors import FloatArray

# So many random bytes, from where nobody can foresee them.
DrawBytes: TypeAlias = Callable[[int], bytes]

_BITS = 64
_MOST_UNITS = 2.0**56
_BYTES = _BITS // 8


def release_levels(exact: PrivateVector, scales: Sequence[float], draw: DrawBytes) -> tuple[FloatArray, ...]:
    """The exact numbers with Laplace noise of every scale, drawn exactly over the operating system's randomness.

    Whoever tells one of them has paid for its scale, and may tell finer ones for the difference.

    Args:
        exact: computed from records.
        scales: the finest first.
        draw: the operating system's randomness (`entropy.secure`), for the coins; all other chance is OpenDP's.

    Returns:
        In the order of the scales; each is the one before it plus an independent increment.
    """
    _require_ascending(scales)
    exponent = grid_exponent(scales[0])
    units = [math.ldexp(scale, -exponent) for scale in scales]
    _require_room(units[-1])
    told = [_add(_on_grid(unseal(exact), exponent), _noise(units[0], len(exact)))]
    for fine, coarse in pairwise(units):
        told.append(_add(told[-1], _increments(fine, coarse, len(exact), draw)))
    return tuple(np.array([math.ldexp(float(value), exponent) for value in values]) for values in told)


def _require_room(units: float) -> None:
    """Refuse noise that 64 bits could cut off: e⁻⁶⁴ of it would lie beyond their half."""
    if units > _MOST_UNITS:
        raise BadInput(
            f"noise of {units:.3g} units of the finest grid",
            remedy="promise a larger epsilon, or take the smallest shares off the menu",
            value=units,
        )


def _on_grid(values: FloatArray, exponent: int) -> list[int]:
    """Rounded to the nearest point of the grid, in its units: off by at most a half."""
    with np.errstate(over="ignore"):
        scaled = np.rint(np.ldexp(values, -exponent))
    if not bool(np.all(np.isfinite(scaled))):
        raise BadInput(
            "an exact answer that is too large for the grid of its noise",
            remedy="promise a smaller epsilon, or clip gradients to a shorter length",
        )
    return [int(value) for value in scaled.tolist()]


def _add(one: Sequence[int], other: Sequence[int]) -> list[int]:
    return [left + right for left, right in zip(one, other, strict=True)]


def _noise(scale: float, count: int) -> list[int]:
    """Discrete Laplace noise: P(k) ∝ e^(−|k|/scale)."""
    drawn: list[int] = invoke_integers(_measurement(scale), count).tolist()
    return drawn


def _increments(fine: float, coarse: float, count: int, draw: DrawBytes) -> list[int]:
    """What makes noise of a fine scale noise of a coarse one, number by number: G − H."""
    if fine == coarse:
        return [0] * count
    stays = _toss(_probability(fine, coarse), 2 * count, draw)
    lengths = iter(_lengths(coarse, stays.count(False)))
    drawn = [0 if stay else next(lengths) for stay in stays]
    return [one - other for one, other in zip(drawn[:count], drawn[count:], strict=True)]


def _lengths(scale: float, count: int) -> list[int]:
    """Whole numbers from 1 on with P(k) ∝ e^(−k/scale): |X| of noise that is not 0."""
    found: list[int] = []
    while len(found) < count:
        found += [abs(value) for value in _noise(scale, count - len(found)) if value]
    return found


class _Probability:
    """(1 − e^(−1/coarse))/(1 − e^(−1/fine)) for scales of at least 1: below 1 and irrational, known to any precision.

    1 − e^(−x) = x − x²/2! + x³/3! − … has falling terms for x ≤ 1. So it lies between any two neighbouring partial
    sums, which are rational and computed exactly.
    """

    def __init__(self, fine: float, coarse: float) -> None:
        self._fine, self._coarse = 1 / Fraction(fine), 1 / Fraction(coarse)
        self.low, self.high = self.bounds(_BITS)

    def bounds(self, bits: int) -> tuple[int, int]:
        """Whole numbers at most two apart between which the probability lies, in units of 2^−bits."""
        terms = 2
        while True:
            (low, high), (least, most) = (_one_minus_exp(x, terms) for x in (self._coarse, self._fine))
            below, above = math.floor((low / most) * (1 << bits)), math.ceil((high / least) * (1 << bits))
            if above - below <= 2:
                return below, above
            terms += 2


def _one_minus_exp(x: Fraction, terms: int) -> tuple[Fraction, Fraction]:
    """Bounds of 1 − e^(−x) for 0 < x ≤ 1: the partial sums of an even number of terms, and of one less."""
    term, total = Fraction(1), Fraction(0)
    for place in range(1, terms):
        term *= x / place
        total += term if place % 2 else -term
    return total - term * x / terms, total


@lru_cache(maxsize=4096)
def _probability(fine: float, coarse: float) -> _Probability:
    return _Probability(fine, coarse)


def _toss(probability: _Probability, count: int, draw: DrawBytes) -> list[bool]:
    """Independent coins, each True with exactly this probability: is a uniform number below it?

    Its first 64 bits nearly always tell; where they do not, more are drawn.
    """
    drawn = draw(_BYTES * count)
    words = (int.from_bytes(drawn[at : at + _BYTES]) for at in range(0, _BYTES * count, _BYTES))
    return [_is_below(word, probability, draw) for word in words]


def _is_below(word: int, probability: _Probability, draw: DrawBytes) -> bool:
    """Whether a uniform number that begins with these bits lies below the probability."""
    bits, low, high = _BITS, probability.low, probability.high
    while low <= word < high:
        bits += _BITS
        word = word << _BITS | int.from_bytes(draw(_BYTES))
        low, high = probability.bounds(bits)
    return word < low


@lru_cache(maxsize=4096)
def _measurement(scale: float) -> Any:  # noqa: ANN401
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_laplace
    from opendp.metrics import l1_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    return make_laplace(vector_domain(atom_domain(T="i64")), l1_distance(T="i64"), scale)


def simulate_levels(exact: FloatArray, scales: Sequence[float], generator: np.random.Generator) -> FloatArray:
    """The exact numbers with Laplace noise of every scale, from a seeded stream: never for records.

    Args:
        exact: any array of numbers.
        scales: the finest first.
        generator: of the simulation.

    Returns:
        One more axis in front: entry i has noise of `scales[i]`, and is entry i − 1 plus an independent increment.

    >>> from copriv.entropy import seeded
    >>> told = simulate_levels(np.zeros(3), [1.0, 2.0], seeded(1, "levels"))
    >>> told.shape
    (2, 3)
    """
    _require_ascending(scales)
    finest = exact + generator.laplace(scale=scales[0], size=exact.shape)
    each = np.asarray(scales).reshape(-1, *(1 for _ in exact.shape))
    increments = simulate_increment(each[:-1], each[1:], (len(scales) - 1, *exact.shape), generator)
    return np.concatenate([finest[None], finest + np.cumsum(increments, axis=0)])


def simulate_increment(
    fine: float | FloatArray, coarse: float | FloatArray, shape: tuple[int, ...], generator: np.random.Generator
) -> FloatArray:
    """What makes Laplace noise of a fine scale noise of a coarse one, from a seeded stream.

    Scales may be arrays that broadcast to the shape; equal scales need no increment.
    """
    stays = generator.random(shape) < np.square(np.divide(fine, coarse))
    return np.where(stays, 0.0, generator.laplace(scale=coarse, size=shape))


def _require_ascending(scales: Sequence[float]) -> None:
    if not scales or not 0 < scales[0] <= scales[-1] < math.inf or any(one > two for one, two in pairwise(scales)):
        raise BadInput(
            f"levels of noise at the scales {list(scales)}",
            remedy="give finite numbers above 0, the smallest first",
            value=tuple(scales),
        )
