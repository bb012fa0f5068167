"""What a loss promises, one check a promise. The losses of this project are held to the same list.

Privacy does not rest on these promises: whatever a loss returns is clipped or bounded record by record. Two of the
checks look at exactly that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from copriv.entropy import seeded
from copriv.losses.choose import NAMES, add_loss, choose
from copriv.losses.loss import Loss
from copriv.losses.outside import OutsideLoss
from copriv.losses.passes import (
    bounded_average_value,
    clipped_average_gradient,
    record_curvatures,
    record_slopes,
    record_values,
)
from copriv.losses.sample import Sample
from copriv.testing.result import CheckResult, go_through, raise_if_broken, require
from copriv.vectors import FloatArray, Norm

_THRESHOLD = 0.25
_WIDTH = 1e-5
_FAR = (1e3, 1e6, 1e12, 1e100)


@dataclass(frozen=True, slots=True)
class LossBench:
    """A loss, and a grid of margins and targets to look at it on."""

    loss: Loss
    margins: FloatArray
    targets: FloatArray

    @classmethod
    def of(cls, loss: Loss) -> LossBench:
        """Margins from −3 to 3 with targets from −1 to 1; labels where the loss is one for labels."""
        targets = (-1.0, 1.0) if loss.name == "logistic" else tuple(np.linspace(-1, 1, 9).tolist())
        margins, kinds = np.meshgrid(np.linspace(-3, 3, 241), targets)
        return cls(loss, margins.ravel(), kinds.ravel())

    def at(self, what: Callable[[Loss, Sample, FloatArray], FloatArray], shift: float = 0.0) -> FloatArray:
        """A function of the loss on the grid, moved along the margin."""
        return on_records(what, self.loss, self.margins + shift, self.targets)


def on_records(
    what: Callable[[Loss, Sample, FloatArray], FloatArray], loss: Loss, margins: FloatArray, targets: FloatArray
) -> FloatArray:
    """A function of the loss at these margins, by the very passes that owners use."""
    return what(loss, Sample.of_rows(margins[:, None], targets), np.ones(1))


def check_loss(loss: str | OutsideLoss) -> None:
    """Raise ContractBroken, which lists every broken promise, unless the loss keeps all of them.

    >>> check_loss("huber")
    """
    raise_if_broken(f"the loss {loss if isinstance(loss, str) else loss.name!r}", examine_loss(loss))


def examine_loss(loss: str | OutsideLoss) -> tuple[CheckResult, ...]:
    """What came of every check of a loss, by its name or as an object."""
    found: Loss = choose(loss, _THRESHOLD) if isinstance(loss, str) else add_loss(loss)
    return go_through(LOSS_CHECKS, lambda: LossBench.of(found))


def slope_of_value(bench: LossBench) -> None:
    """The slope is the derivative of the value in the margin."""
    steep = (bench.at(record_values, _WIDTH) - bench.at(record_values, -_WIDTH)) / (2 * _WIDTH)
    _require_near(bench.at(record_slopes), steep, 1e-4, "the slope is not the derivative of the value")


def curvature_of_slope(bench: LossBench) -> None:
    """The curvature is the derivative of the slope in the margin, but where the slope has a corner."""
    bent = (bench.at(record_slopes, _WIDTH) - bench.at(record_slopes, -_WIDTH)) / (2 * _WIDTH)
    off = np.abs(bench.at(record_curvatures) - bent) > 1e-3 * (1 + np.abs(bent))
    require(np.mean(off) < 0.05, f"the curvature is not the derivative of the slope at {np.mean(off):.0%} of places")


def convex(bench: LossBench) -> None:
    """The slope never falls as the margin grows, and no curvature is below 0."""
    falls = bench.at(record_slopes, 0.01) < bench.at(record_slopes) - 1e-12
    require(not np.any(falls), "the slope falls somewhere as the margin grows")
    require(np.all(bench.at(record_curvatures) >= 0), "a curvature is below 0")
    require(np.all(bench.at(record_values) >= 0), "a value is below 0")


def bounds(bench: LossBench) -> None:
    """No slope, value or curvature exceeds its bound."""
    margin, target = float(np.max(np.abs(bench.margins))), 1.0
    found = {
        "slope": (record_slopes, bench.loss.slope_bound(margin, target)),
        "value": (record_values, bench.loss.value_bound(margin, target)),
        "curvature": (record_curvatures, bench.loss.curvature_bound),
    }
    for name, (what, most) in found.items():
        largest = float(np.max(np.abs(bench.at(what))))
        require(math.isfinite(most) and most > 0, f"the bound of the {name} is {most:g}")
        require(largest <= most * (1 + 1e-12), f"a {name} of {largest:g} exceeds its bound {most:g}")


def far_away(bench: LossBench) -> None:
    """Margins of any size give a number or infinity, and never an error: an error would tell of a record."""
    far = np.asarray([sign * margin for margin in _FAR for sign in (1.0, -1.0)])
    for what in (record_values, record_slopes, record_curvatures):
        for target in (-1.0, 1.0):
            with np.errstate(all="ignore"):
                found = on_records(what, bench.loss, far, np.full(far.size, target))
            require(not np.any(np.isnan(found)), f"{what.__name__} gives no number far from the target")


def record_by_record(bench: LossBench) -> None:
    """What a record counts depends on no other record, and is the same when computed again."""
    half = bench.margins.size // 2
    for what in (record_values, record_slopes, record_curvatures):
        whole = bench.at(what)
        alone = on_records(what, bench.loss, bench.margins[half:], bench.targets[half:])
        require(whole[half:].tobytes() == alone.tobytes(), f"{what.__name__} of a record depends on the others")
        require(whole.tobytes() == bench.at(what).tobytes(), f"{what.__name__} says something else when asked again")


def offsets(bench: LossBench) -> None:
    """A record with an offset counts as one whose margin is larger by it."""
    moved = np.linspace(-1, 1, bench.margins.size)
    there = Sample.of_rows(bench.margins[:, None], bench.targets, moved)
    for what in (record_values, record_slopes, record_curvatures):
        wanted = on_records(what, bench.loss, bench.margins + moved, bench.targets)
        _require_near(what(bench.loss, there, np.ones(1)), wanted, 1e-9, f"{what.__name__} forgets an offset")


def clipped(bench: LossBench) -> None:
    """Replacing one record moves the clipped average gradient by at most two clips over the number of records."""
    chance = seeded(4, "rows")
    rows, targets = chance.normal(size=(40, 3)), np.where(np.arange(40) % 2, 1.0, -1.0)
    theta, clip = chance.normal(size=3), 0.3
    for norm in Norm:
        before = clipped_average_gradient(bench.loss, Sample.of_rows(rows, targets), theta, clip, norm)
        for scale in (1.0, 1e3, 1e150, 1e-200, 0.0):
            other = rows.copy()
            other[0] = scale * chance.normal(size=3)
            after = clipped_average_gradient(bench.loss, Sample.of_rows(other, targets), theta, clip, norm)
            moved = norm.of(after - before)
            require(moved <= 2 * clip / 40 * (1 + 1e-9), f"one record moves the average gradient by {moved:g}")


def bounded(bench: LossBench) -> None:
    """A bounded average loss lies between 0 and its bound, whatever the records."""
    for scale in (1.0, 1e3, 1e150):
        rows = Sample.of_rows(scale * seeded(5, "rows").normal(size=(40, 3)), np.where(np.arange(40) % 2, 1.0, -1.0))
        value = bounded_average_value(bench.loss, rows, np.ones(3), 0.5)
        require(0 <= value <= 0.5, f"an average loss bounded by 0.5 is {value:g}")


def named(bench: LossBench) -> None:
    """The loss of that name is this one, wherever terms name it."""
    name = bench.loss.name
    require(name in NAMES or choose(name) is bench.loss, f"another loss is called {name!r}")


LOSS_CHECKS: Mapping[str, Callable[[LossBench], None]] = {
    check.__name__.replace("_", " "): check
    for check in (
        named,
        slope_of_value,
        curvature_of_slope,
        convex,
        bounds,
        far_away,
        record_by_record,
        offsets,
        clipped,
        bounded,
    )
}


def _require_near(found: FloatArray, wanted: FloatArray, tolerance: float, problem: str) -> None:
    off = float(np.max(np.abs(found - wanted) / (1 + np.abs(wanted))))
    require(off <= tolerance, f"{problem}: off by {off:.2g}")
