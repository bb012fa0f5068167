"""Small pictures as SVG text, made by pure functions.

They need no script and no file. Their colours are those of the page around them (classes `one`, `two`, `three`), told
apart by dashes and shapes as well, and each has a title and a description to be read aloud. However many points there
are, a picture has at most four a column.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TypeAlias

import numpy as np

from copriv.protocol.text import plain

Point: TypeAlias = tuple[float, float]

WIDTH, HEIGHT = 520, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 14, 12, 44
_NAMES_LEFT, _ROW = 150, 18
_COLUMNS = 220
_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_DECADE = 10.0
_LONGEST_NAME = 20
_LEGEND_ROW = 18


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a picture: its points, what it is called, and which of the page's three styles it has."""

    name: str
    points: Sequence[Point]
    style: str = "one"
    dots: bool = False


@dataclass(frozen=True, slots=True)
class Axes:
    """What a picture shows, in words, and how it is measured."""

    title: str
    description: str
    across: str
    along: str
    logarithmic: bool = False


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its ends, if they are known."""

    name: str
    value: float
    ends: tuple[float, float] | None = None


def decimate(points: Sequence[Point], columns: int = _COLUMNS) -> list[Point]:
    """The first, lowest, highest and last point of every column, in order; all of them if there are few.

    >>> len(decimate([(float(k), float(k % 7)) for k in range(100_000)], columns=50)) <= 200
    True
    """
    if len(points) <= 4 * columns:
        return list(points)
    across, along = np.asarray(points, dtype=np.float64).T
    low, high = float(across.min()), float(across.max())
    column = np.minimum(((across - low) / ((high - low) or 1.0) * columns).astype(int), columns - 1)
    kept = set[int]()
    for place in np.unique(column):
        members = np.flatnonzero(column == place)
        kept.update(
            (
                int(members[0]),
                int(members[-1]),
                int(members[along[members].argmin()]),
                int(members[along[members].argmax()]),
            )
        )
    return [(float(across[place]), float(along[place])) for place in sorted(kept)]


def line_picture(lines: Sequence[Line], axes: Axes, band: Sequence[tuple[float, float, float]] = ()) -> str:
    """Lines over numbered meetings or answers, with a band (across, low, high) behind them if there is one."""
    shown = [Line(line.name, decimate(_drawable(line.points, axes)), line.style, line.dots) for line in lines]
    edges = _drawable([point for x, low, high in band for point in ((x, low), (x, high))], axes)
    points = [point for line in shown for point in line.points] + edges
    if not points:
        return ""
    frame = _Frame.around(points, axes)
    parts = [*frame.grid(axes)]
    if edges:
        upper, lower = [(x, high) for x, _, high in band], [(x, low) for x, low, _ in reversed(band)]
        parts.append(f'<path class="band" d="{frame.path([*upper, *lower])}Z"/>')
    for line in shown:
        parts.append(f'<path class="line {line.style}" d="{frame.path(line.points)}"/>')
        if line.dots and len(line.points) <= _COLUMNS:
            parts.append(f'<path class="dot {line.style}" d="{frame.dots(line.points)}"/>')
    height = HEIGHT
    if len(shown) > 1 or band:
        names = [*((line.name, f"line {line.style}") for line in shown), *([("95 %", "band")] if band else [])]
        legend, height = _legend(names, HEIGHT)
        parts.append(legend)
    return _picture(axes.title, axes.description, height, parts)


def interval_picture(rows: Sequence[Interval], axes: Axes, zero: float | None = None) -> str:
    """One row a value, with its ends as whiskers; `zero` is where a line stands that nothing should cross."""
    values = [end for row in rows for end in (row.value, *(row.ends or ()))]
    values += [] if zero is None else [zero]
    values = [value for value in values if _fits(value, axes)]
    if not values:
        return ""
    height = _TOP + _ROW * len(rows) + _BOTTOM
    frame = _Frame.wide(values, axes, height)
    parts = [*frame.columns(axes, height)]
    if zero is not None:
        parts.append(f'<path class="axis" d="M{frame.x(zero):.1f} {_TOP}V{height - _BOTTOM}"/>')
    for place, row in enumerate(rows):
        y = _TOP + _ROW * (place + 0.5)
        parts.append(_name(row.name, y))
        if row.ends is not None and all(_fits(end, axes) for end in row.ends):
            low, high = (frame.x(end) for end in row.ends)
            parts.append(
                f'<path class="whisker" d="M{low:.1f} {y}H{high:.1f}M{low:.1f} {y - 3}v6M{high:.1f} {y - 3}v6"/>'
            )
        if _fits(row.value, axes):
            parts.append(f'<circle class="mark" cx="{frame.x(row.value):.1f}" cy="{y}" r="3.5"/>')
    return _picture(axes.title, axes.description, height, parts)


def rows_picture(names: Sequence[str], rows: Sequence[str], meetings: int, axes: Axes) -> str:
    """One row an owner over columns of meetings: a tall mark where it answered (a, b), a low one where not (r, b)."""
    height = _TOP + _ROW * len(names) + _BOTTOM
    columns = max((len(row) for row in rows), default=0) or 1
    wide = (WIDTH - _NAMES_LEFT - _RIGHT) / columns
    marks: dict[str, list[str]] = {"answer": [], "refusal": []}
    parts = []
    for place, (name, row) in enumerate(zip(names, rows, strict=True)):
        y = _TOP + _ROW * (place + 0.5)
        parts += [_name(name, y), f'<path class="grid" d="M{_NAMES_LEFT} {y}H{WIDTH - _RIGHT}"/>']
        for kind, letters, at in (("answer", "ab", y - 2), ("refusal", "rb", y + 5.5)):
            marks[kind] += [
                f"M{_NAMES_LEFT + wide * (first + 0.1):.1f} {at:g}h{max(wide * (count - 0.2), 1):.1f}"
                for first, count in _runs(row, letters)
            ]
    frame = _Frame(0.5, meetings + 0.5, 0.0, 1.0, height, left=_NAMES_LEFT)
    parts += [*frame.columns(axes, height, whole=True)]
    parts += [f'<path class="{kind}" d="{"".join(path)}"/>' for kind, path in marks.items() if path]
    legend, height = _legend([("answer", "answer"), ("no answer", "refusal")], height)
    return _picture(axes.title, axes.description, height, [*parts, legend])


def columns_picture(answers: Sequence[int], refusals: Sequence[int], meetings: int, axes: Axes) -> str:
    """How many meetings of a column had an answer, and on top of them how many had none."""
    total = [one + other for one, other in zip(answers, refusals, strict=True)]
    frame = _Frame(0.5, meetings + 0.5, 0.0, float(max(total, default=0) or 1), HEIGHT)
    wide = (WIDTH - _LEFT - _RIGHT) / max(len(total), 1)
    parts = [*frame.grid(axes)]
    for kind, low, high in (("answer", [0] * len(total), answers), ("refusal", answers, total)):
        bars = [
            f"M{_LEFT + wide * place:.1f} {frame.y(bottom):.1f}V{frame.y(top):.1f}h{wide:.2f}V{frame.y(bottom):.1f}Z"
            for place, (bottom, top) in enumerate(zip(low, high, strict=True))
            if top > bottom
        ]
        parts += [f'<path class="area {kind}" d="{"".join(bars)}"/>'] if bars else []
    legend, height = _legend([("answers", "area answer"), ("no answer", "area refusal")], HEIGHT)
    return _picture(axes.title, axes.description, height, [*parts, legend])


@dataclass(frozen=True, slots=True)
class _Frame:
    """From numbers to places in a picture."""

    left_end: float
    right_end: float
    low: float
    high: float
    height: int = HEIGHT
    logarithmic: bool = False
    left: int = _LEFT
    of_values: bool = field(default=False)

    @classmethod
    def around(cls, points: Sequence[Point], axes: Axes) -> _Frame:
        """With room for all points."""
        across, along = [x for x, _ in points], [_scaled(y, logarithmic=axes.logarithmic) for _, y in points]
        low, high = _room(along) if axes.logarithmic else _room([0.0, *along])
        return cls(min(across), max(across), low, high, logarithmic=axes.logarithmic)

    @classmethod
    def wide(cls, values: Sequence[float], axes: Axes, height: int) -> _Frame:
        """With values across, beside names."""
        low, high = _room([_scaled(value, logarithmic=axes.logarithmic) for value in values])
        return cls(low, high, 0.0, 1.0, height, logarithmic=axes.logarithmic, left=_NAMES_LEFT, of_values=True)

    def x(self, value: float) -> float:
        """How far to the right; with values across, on their scale."""
        value = _scaled(value, logarithmic=self.logarithmic and self.of_values)
        share = (value - self.left_end) / ((self.right_end - self.left_end) or 1.0)
        return self.left + share * (WIDTH - self.left - _RIGHT)

    def y(self, value: float) -> float:
        """How far down."""
        value = _scaled(value, logarithmic=self.logarithmic)
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        return self.height - _BOTTOM - share * (self.height - _TOP - _BOTTOM)

    def path(self, points: Iterable[Point]) -> str:
        """A line through points."""
        return "M" + "L".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in points)

    def dots(self, points: Iterable[Point]) -> str:
        """A line of no length at every point, which round ends make a dot of."""
        return "".join(f"M{self.x(x):.1f} {self.y(y):.1f}h0" for x, y in points)

    def grid(self, axes: Axes) -> list[str]:
        """Horizontal lines with their values, and the numbers below."""
        values = _decades(self.low, self.high) if self.logarithmic else ticks(self.low, self.high)
        parts = []
        for value, label in values:
            y = self.y(_DECADE**value if self.logarithmic else value)
            parts.append(f'<path class="grid" d="M{self.left} {y:.1f}H{WIDTH - _RIGHT}"/>')
            parts.append(f'<text class="end" x="{self.left - 6}" y="{y + 4:.1f}">{label}</text>')
        middle = (self.height - _BOTTOM + _TOP) / 2
        parts.append(f'<text class="mid" transform="translate(12 {middle:.0f}) rotate(-90)">{_text(axes.along)}</text>')
        return [*parts, *self.columns(axes, self.height, whole=True)]

    def columns(self, axes: Axes, height: int, *, whole: bool = False) -> list[str]:
        """The axis below, with its numbers and what they are."""
        bottom = height - _BOTTOM
        log = self.logarithmic and self.of_values
        values = _decades(self.left_end, self.right_end) if log else ticks(self.left_end, self.right_end, whole=whole)
        parts = [f'<path class="axis" d="M{self.left} {bottom}H{WIDTH - _RIGHT}"/>']
        for value, label in values:
            x = self.x(_DECADE**value if log else value)
            parts.append(f'<path class="axis" d="M{x:.1f} {bottom}v4"/>')
            parts.append(f'<text class="mid" x="{x:.1f}" y="{bottom + 18}">{label}</text>')
        middle = (self.left + WIDTH - _RIGHT) / 2
        return [*parts, f'<text class="mid" x="{middle:.0f}" y="{bottom + 36}">{_text(axes.across)}</text>']


def ticks(low: float, high: float, most: int = 5, *, whole: bool = False) -> list[tuple[float, str]]:
    """Round numbers between two, and how they are written; whole ones only if they count something.

    >>> [label for _, label in ticks(0, 1)], [label for _, label in ticks(1, 3, whole=True)]
    (['0', '0.2', '0.4', '0.6', '0.8', '1'], ['1', '2', '3'])
    """
    span = high - low
    if not span > 0:
        return [(low, f"{low:g}")]
    rough = span / most
    unit = _DECADE ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough * (1 - 1e-9))
    step = max(1.0, step) if whole else step
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    values = [float(f"{place * step:.10g}") for place in range(first, last + 1)]
    return [(value, f"{value:,.0f}" if whole else f"{value:.6g}") for value in values]


def _decades(low: float, high: float) -> list[tuple[float, str]]:
    """Powers of ten between two exponents; where there are fewer than two, twos and fives as well."""
    first, last = math.ceil(low), math.floor(high)
    if last - first >= 1:
        every = max(1, math.ceil((last - first + 1) / 6))
        return [(float(k), "10" + str(k).translate(_SUPERSCRIPT)) for k in range(first, last + 1, every)]
    finer = [
        (math.log10(factor) + k, f"{factor * _DECADE**k:.3g}")
        for k in range(first - 1, last + 2)
        for factor in (1, 2, 5)
    ]
    return [(value, label) for value, label in finer if low <= value <= high]


def _runs(row: str, letters: str) -> list[tuple[int, int]]:
    """Where marks of these letters begin, and how many follow each other."""
    found: list[tuple[int, int]] = []
    for place, letter in enumerate(row):
        if letter not in letters:
            continue
        if found and sum(found[-1]) == place:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((place, 1))
    return found


def _drawable(points: Sequence[Point], axes: Axes) -> list[Point]:
    return [point for point in points if _fits(point[1], axes)]


def _fits(value: float, axes: Axes) -> bool:
    return math.isfinite(value) and (value > 0 or not axes.logarithmic)


def _scaled(value: float, *, logarithmic: bool) -> float:
    return math.log10(value) if logarithmic else value


def _room(values: Sequence[float]) -> tuple[float, float]:
    """Ends with a little room beyond the values."""
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 0.5 * abs(high) or 0.5
    return (low - room if low != 0 else 0.0), high + room


def _name(name: str, y: float) -> str:
    return f'<text class="end name" x="{_NAMES_LEFT - 8}" y="{y + 4}">{_text(plain(name, _LONGEST_NAME))}</text>'


def _legend(names: Sequence[tuple[str, str]], height: int) -> tuple[str, int]:
    """What each style is, in rows of two below the picture; and how high the picture is with it."""
    parts = []
    for place, (name, style) in enumerate(names):
        x, y = 24 + 250 * (place % 2), height + 8 + _LEGEND_ROW * (place // 2)
        shape = f'<path class="{style}" d="M{x} {y}h24"/>' if "line" in style or style in {"answer", "refusal"} else ""
        shape = shape or f'<path class="{style}" d="M{x} {y - 5}h24v10h-24Z"/>'
        parts.append(f'{shape}<text x="{x + 32}" y="{y + 4}">{_text(name)}</text>')
    return "".join(parts), height + _LEGEND_ROW * ((len(names) + 1) // 2) + 4


def _picture(title: str, description: str, height: int, parts: Iterable[str]) -> str:
    head = f"<title>{_text(title)}</title><desc>{_text(description)}</desc>"
    label, box = _text(f"{title}. {description}"), f"0 0 {WIDTH} {height}"
    return f'<svg class="picture" role="img" aria-label="{label}" viewBox="{box}">{head}{"".join(parts)}</svg>'


def _text(words: str) -> str:
    return escape(plain(words, 1_000))
