"""The files of a sweep: its table as CSV and Parquet, and a picture for each setting that was varied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import polars as pl

from copriv.report.sweep_table import frame_of

# Okabe and Ito's palette, distinguishable with any colour vision; markers and strokes tell lines apart without colour.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_STROKES = ("-", "--", "-.", ":")
_MOST_LINES = 28
_FLOOR = 1e-12


def write_files(
    rows: Sequence[Mapping[str, Any]], axes: Mapping[str, Sequence[Any]], folder: Path, *, simulated: bool
) -> list[Path]:
    """Write sweep.csv, sweep.parquet, and sweep_NAME.png and .svg for each setting that was varied."""
    frame = frame_of(rows)
    tables = [folder / "sweep.csv", folder / "sweep.parquet"]
    frame.write_csv(tables[0])
    frame.write_parquet(tables[1])
    varied = [name for name, values in axes.items() if len(values) > 1]
    trained = frame.filter(pl.col("relative_fitness").is_not_null())
    label = _label(trained, simulated=simulated)
    pictures = [path for name in varied for path in _draw(trained, name, varied, label, folder)]
    for path in (*tables, *pictures):
        path.chmod(0o600)
    return [*tables, *pictures]


def _label(frame: pl.DataFrame, *, simulated: bool) -> str:
    """What the noise is worth, and whom it protects."""
    noise = "simulated, not private" if simulated else "real noise; ψ is measured on the records, not private"
    deltas = sorted(set(frame["delta_promised"]))
    told = f"δ = {deltas[0]:g}" if len(deltas) == 1 else f"δ from {deltas[0]:g} to {deltas[-1]:g}"
    return f"{noise}; ε for one {frame['unit'][0]} ({frame['adjacency'][0]}), {told}"


def lines_of(frame: pl.DataFrame, axis: str, varied: Sequence[str]) -> dict[str, pl.DataFrame]:
    """For each combination of the other settings: ψ against this one, the median and the range over the runs."""
    others = [name for name in varied if name != axis]
    psi = pl.col("relative_fitness").clip(lower_bound=_FLOOR)
    spread = [psi.median().alias("psi"), psi.min().alias("low"), psi.max().alias("high")]
    grouped = frame.group_by([*others, axis], maintain_order=True).agg(spread)
    if not others:
        return {"": grouped.sort(axis)}
    parts = grouped.partition_by(others, maintain_order=True, as_dict=True)
    return {
        ", ".join(f"{name} = {value}" for name, value in zip(others, key, strict=True)): part.sort(axis)
        for key, part in parts.items()
    }


def _draw(frame: pl.DataFrame, axis: str, varied: Sequence[str], label: str, folder: Path) -> list[Path]:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    options: Any = {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "copriv"}
    with plt.rc_context(options):
        figure, axes = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
        lines = lines_of(frame, axis, varied)
        _draw_lines(axes, lines, axis, numeric=frame[axis].dtype.is_numeric())
        left = f"; the first {_MOST_LINES} of {len(lines)} lines" if len(lines) > _MOST_LINES else ""
        axes.set_title(f"{label}{left}", fontsize=9, loc="left")
        if len(lines) > 1:
            figure.legend(loc="outside lower center", ncols=2, fontsize=8, frameon=False)
        paths = [folder / f"sweep_{axis}.{kind}" for kind in ("png", "svg")]
        for path in paths:
            figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix == ".svg" else None)
        plt.close(figure)
    return paths


def _draw_lines(axes: Any, lines: Mapping[str, pl.DataFrame], axis: str, *, numeric: bool) -> None:  # noqa: ANN401
    """Numbers on logarithmic axes; words side by side, as markers without lines."""
    words = sorted({str(value) for part in lines.values() for value in part[axis]})
    looks = zip(cycle(_COLOURS), cycle(_MARKERS), cycle(_STROKES), strict=False)
    for (name, part), (colour, marker, stroke), _ in zip(lines.items(), looks, range(_MOST_LINES), strict=False):
        places = part[axis].to_list() if numeric else [words.index(str(value)) for value in part[axis]]
        psi = part["psi"].to_numpy()
        around = [psi - part["low"].to_numpy(), part["high"].to_numpy() - psi]
        style = stroke if numeric else "none"
        axes.errorbar(
            places, psi, around, color=colour, marker=marker, linestyle=style, label=name, capsize=2, markersize=5
        )
    axes.set_yscale("log")
    if not numeric:
        axes.set_xticks(range(len(words)), words)
    elif min(value for part in lines.values() for value in part[axis]) > 0:
        axes.set_xscale("log")
    axes.set_xlabel(axis)
    axes.set_ylabel("relative fitness ψ, median and range of runs")
    axes.grid(visible=True, alpha=0.25)
