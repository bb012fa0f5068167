"""Charts as SVG, drawn on the server: no more points than a screen has columns, whatever there is to draw.

Colours, widths and fonts are in the style sheet, by class: so that a chart follows light and dark.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from markupsafe import Markup, escape

from copriv.vectors import FloatArray

WIDTH, HEIGHT = 480, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 18, 10, 40
# Screens have up to two pixels for a unit of a chart.
COLUMNS = 2 * (WIDTH - _LEFT - _RIGHT)
_STRIP_COLUMNS, _STRIP_HEIGHT = 180, 16
_TICKS = 5
_SMALLEST, _LARGEST = 1e-300, 1e300
_LONG_LABEL = 7


class Line(NamedTuple):
    """Points of one line, and what it is; `style` is a class of the style sheet."""

    name: str
    x: Sequence[float] | FloatArray
    y: Sequence[float] | FloatArray
    style: str = "a"


class Band(NamedTuple):
    """Between which values something lies."""

    name: str
    x: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """What is drawn.

    Args:
        title: what one sees, in a sentence, also for those that do not see it.
        x_label: of the horizontal axis.
        y_label: of the vertical axis.
        lines: what is drawn.
        band: drawn behind the lines.
        upright: vertical lines, by name.
        log_x: whether the horizontal axis is logarithmic.
        log_y: whether the vertical axis is.
        heights: values that the vertical axis has in any case.
    """

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    band: Band | None = None
    upright: Sequence[tuple[str, float]] = field(default_factory=tuple)
    log_x: bool = False
    log_y: bool = False
    heights: Sequence[float] = ()

    def svg(self) -> Markup:
        """The chart; a sentence instead if there is nothing to draw."""
        drawn = [_usable(line, log_x=self.log_x, log_y=self.log_y) for line in self.lines]
        xs, ys = (
            np.concatenate([np.asarray(line[axis], dtype=float) for line in drawn] or [np.empty(0)]) for axis in (1, 2)
        )
        if not xs.size:
            return Markup('<p class="nothing">Nothing to draw yet.</p>')
        if self.band is not None:
            ys = np.concatenate([ys, _kept(self.band.low, log=self.log_y), _kept(self.band.high, log=self.log_y)])
        ys = np.concatenate([ys, np.asarray(self.heights, dtype=float)])
        across = Axis.over(xs, _LEFT, WIDTH - _RIGHT, log=self.log_x)
        up = Axis.over(ys, HEIGHT - _BOTTOM, _TOP, log=self.log_y)
        return Markup("").join(
            [
                Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(
                    WIDTH, HEIGHT, self.title
                ),
                *_grid(across, up, self.x_label, self.y_label),
                *([] if self.band is None else [_band(self.band, across, up)]),
                *(_path(line, across, up) for line in drawn),
                *(_upright(name, x, across) for name, x in self.upright if across.low <= x <= across.high),
                Markup("</svg>"),
                self._legend(),
            ]
        )

    def _legend(self) -> Markup:
        names = [(line.style, line.name) for line in self.lines]
        names += [] if self.band is None else [("band", self.band.name)]
        names += [("upright", name) for name, _ in self.upright]
        entries = Markup("").join(
            Markup('<li><span class="key {}" aria-hidden="true"></span>{}</li>').format(*entry) for entry in names
        )
        return Markup('<ul class="legend">{}</ul>').format(entries)


@dataclass(frozen=True, slots=True)
class Axis:
    """From values to places."""

    low: float
    high: float
    start: float
    end: float
    log: bool
    whole: bool = False

    @classmethod
    def over(cls, values: FloatArray, start: float, end: float, *, log: bool) -> Axis:
        """An axis on which all these values have a place."""
        low, high = (_measurable(float(value), log=log) for value in (values.min(), values.max()))
        if log:
            low, high = (low / 1.5, high * 1.5) if low == high else (low, high)
        elif low == high:
            low, high = low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2
        return cls(low, high, start, end, log, whole=bool((values == np.round(values)).all()))

    def place(self, values: Sequence[float] | FloatArray) -> FloatArray:
        """Where values are."""
        given = np.asarray(values, dtype=float)
        with np.errstate(divide="ignore"):
            found, low, high = (
                (np.log(given), math.log(self.low), math.log(self.high)) if self.log else (given, self.low, self.high)
            )
        placed: FloatArray = self.start + (np.clip(found, low, high) - low) / (high - low) * (self.end - self.start)
        return placed

    def ticks(self) -> list[float]:
        """Round values on the axis; whole ones, if everything on it is counted."""
        if self.log:
            return _log_ticks(self.low, self.high)
        size = 10 ** math.floor(math.log10((self.high - self.low) / _TICKS))
        size = max(size, 1) if self.whole and self.high - self.low >= 1 else size
        step = next(step for step in (size, 2 * size, 5 * size, 10 * size) if (self.high - self.low) / step <= _TICKS)
        first = math.ceil(self.low / step)
        return [round(place * step, 12) for place in range(first, math.floor(self.high / step) + 1)]


def _measurable(value: float, *, log: bool) -> float:
    """The nearest value between which and any other a distance can be worked out."""
    if log:
        return min(max(value, _SMALLEST), _LARGEST)
    return 0.0 if abs(value) < _SMALLEST else min(max(value, -_LARGEST), _LARGEST)


def _log_ticks(low: float, high: float) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    skip = max(1, (last - first) // _TICKS)
    factors = (1,) if last - first > 2 else (1, 2, 5)
    found = [factor * 10.0**power for power in range(first, last + 1, skip) for factor in factors]
    return [value for value in found if low <= value <= high] or [low, high]


def decimate(x: FloatArray, y: FloatArray, columns: int = COLUMNS) -> tuple[FloatArray, FloatArray]:
    """Of sorted points those that show: in every column of the screen the first, lowest, highest and last.

    >>> x = np.arange(1e6)
    >>> few, values = decimate(x, np.sin(x / 1e4), 100)
    >>> few.size <= 400, bool(values.max() > 0.9999)
    (True, True)
    """
    if x.size <= 4 * columns:
        return x, y
    width = x[-1] - x[0]
    column = (
        np.minimum(((x - x[0]) / width * columns).astype(np.int64), columns - 1) if width else np.zeros(x.size, int)
    )
    starts = np.flatnonzero(np.r_[True, np.diff(column) != 0])
    ends = np.r_[starts[1:], x.size] - 1
    order = np.lexsort((y, column))
    chosen = np.unique(np.concatenate([starts, ends, order[starts], order[ends]]))
    return x[chosen], y[chosen]


def strip(times: FloatArray, answered: FloatArray, end: float) -> Markup:
    """When an owner was met: a mark in every column in which it answered, and another below where it did not."""
    parts = []
    for style, chosen, top in (("yes", answered.astype(bool), 1), ("no", ~answered.astype(bool), 10)):
        columns = np.unique((times[chosen] / (end or 1.0) * (_STRIP_COLUMNS - 1)).astype(int))
        height = 9 if style == "yes" else 5
        path = "".join(f"M{first} {top}h{length}v{height}h-{length}z" for first, length in _runs(columns))
        parts.append(Markup('<path class="{}" d="{}"/>').format(style, path) if path else Markup(""))
    return Markup(
        '<svg class="strip" viewBox="0 0 {} {}" preserveAspectRatio="none" aria-hidden="true">{}</svg>'
    ).format(_STRIP_COLUMNS, _STRIP_HEIGHT, Markup("").join(parts))


def _runs(columns: FloatArray) -> Iterator[tuple[int, int]]:
    """Neighbouring columns together: the first, and how many."""
    if columns.size:
        for run in np.split(columns, np.flatnonzero(np.diff(columns) > 1) + 1):
            yield int(run[0]), int(run.size)


def _usable(line: Line, *, log_x: bool, log_y: bool) -> Line:
    x, y = np.asarray(line.x, dtype=float), np.asarray(line.y, dtype=float)
    kept = np.isfinite(x) & np.isfinite(y) & ((x > 0) | (not log_x)) & ((y > 0) | (not log_y))
    return Line(line.name, *decimate(x[kept], y[kept]), line.style)


def _kept(values: Sequence[float], *, log: bool) -> FloatArray:
    given = np.asarray(values, dtype=float)
    kept: FloatArray = given[np.isfinite(given) & ((given > 0) | (not log))]
    return kept


def _points(x: FloatArray, y: FloatArray) -> str:
    return "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))


def _path(line: Line, across: Axis, up: Axis) -> Markup:
    x, y = across.place(line.x), up.place(line.y)
    if x.size == 1:
        return Markup('<circle class="dot {}" cx="{:.1f}" cy="{:.1f}" r="4"/>').format(line.style, x[0], y[0])
    return Markup('<path class="line {}" d="M{}"/>').format(line.style, _points(x, y)) if x.size else Markup("")


def _band(band: Band, across: Axis, up: Axis) -> Markup:
    x, low, high = across.place(band.x), up.place(band.low), up.place(band.high)
    there, back = _points(x, low), _points(x[::-1], high[::-1])
    return Markup('<path class="band" d="M{}L{}Z"/>').format(there, back)


def _upright(name: str, x: float, across: Axis) -> Markup:
    place = float(across.place([x])[0])
    return Markup('<path class="upright" d="M{:.1f} {}V{}"><title>{}</title></path>').format(
        place, _TOP, HEIGHT - _BOTTOM, name
    )


def _grid(across: Axis, up: Axis, x_label: str, y_label: str) -> Iterator[Markup]:
    foot = HEIGHT - _BOTTOM
    for value, place in zip(up.ticks(), up.place(up.ticks()).tolist(), strict=True):
        yield Markup('<path class="grid" d="M{} {:.1f}H{}"/><text x="{}" y="{:.1f}" class="tick end">{}</text>').format(
            _LEFT, place, WIDTH - _RIGHT, _LEFT - 5, place + 4, short(value)
        )
    for value, place in zip(across.ticks(), across.place(across.ticks()).tolist(), strict=True):
        yield Markup('<text x="{:.1f}" y="{}" class="tick middle">{}</text>').format(place, foot + 15, short(value))
    yield Markup('<path class="axis" d="M{} {}H{}"/>').format(_LEFT, foot, WIDTH - _RIGHT)
    yield Markup('<text x="{}" y="{}" class="name middle">{}</text>').format(
        (_LEFT + WIDTH - _RIGHT) / 2, HEIGHT - 6, escape(x_label)
    )
    yield Markup('<text transform="translate(12 {}) rotate(-90)" class="name middle">{}</text>').format(
        (_TOP + foot) / 2, escape(y_label)
    )


def short(value: float) -> str:
    """A number that fits beside an axis.

    >>> short(1000000.0), short(0.25), short(12.0), short(25000.0), short(0.00002)
    ('1M', '0.25', '12', '25k', '2e-5')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    shown = f"{value:g}"
    mantissa, _, power = f"{value:.3g}".partition("e")
    return f"{mantissa}e{int(power)}" if power else shown[:_LONG_LABEL]
