"""Fits that the figures need: the paper's bound with its one constant, and slopes on logarithmic axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from copriv.vectors import FloatArray

# ψ counts as noise where it exceeds what is left without noise by this factor.
_DOMINATES = 10.0


@dataclass(frozen=True, slots=True)
class BoundFit:
    """ψ ≈ c · (1/n²) Σ 1/ε², eq. (12) with its first constant 0, fitted by least squares on log ψ."""

    constant: float
    r_squared: float


@dataclass(frozen=True, slots=True)
class SlopeFit:
    """A slope on logarithmic axes with its 95 % interval."""

    slope: float
    low: float
    high: float
    points: int

    def within(self, low: float, high: float) -> bool:
        """Whether the slope lies in a range."""
        return low <= self.slope <= high

    def words(self) -> str:
        """The slope as it is told."""
        return f"{self.slope:.2f} (95 %: {self.low:.2f} to {self.high:.2f}, {self.points} points)"


def fit_bound(psi: FloatArray, shape: FloatArray) -> BoundFit:
    """The constant c and the share of the variation of log ψ that c · shape explains.

    >>> fit = fit_bound(np.array([2.0, 20.0, 200.0]), np.array([1.0, 10.0, 100.0]))
    >>> round(fit.constant, 6), round(fit.r_squared, 6)
    (2.0, 1.0)
    """
    observed, offset = np.log(psi), np.log(shape)
    constant = float(np.mean(observed - offset))
    residual = float(np.sum((observed - offset - constant) ** 2))
    total = float(np.sum((observed - observed.mean()) ** 2))
    return BoundFit(float(np.exp(constant)), 1 - residual / total if total > 0 else float("nan"))


def fit_slope(x: FloatArray, y: FloatArray) -> SlopeFit:
    """Least squares of log y on log x."""
    from scipy.stats import linregress, t

    found = linregress(np.log(x), np.log(y))
    margin = float(t.ppf(0.975, max(len(x) - 2, 1)) * found.stderr)
    slope = float(found.slope)
    return SlopeFit(slope, slope - margin, slope + margin, len(x))


def noise_dominates(psi: FloatArray, floor: float) -> FloatArray:
    """Which values of ψ are noise and not what is left without it."""
    return np.asarray(psi > _DOMINATES * floor)
