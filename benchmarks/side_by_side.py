"""Timing that survives a noisy machine: contestants take turns, and the median of each counts."""

import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

REST = 0.1
RESULTS = Path(__file__).parent / "results"


def take_turns(contestants: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each contestant; all of them run once in every round, after one round to warm up.

    A short rest before each turn lets the idle threads of the one before go to sleep instead of taking its cores.
    """
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(rounds + 1):
        for name, run in contestants.items():
            time.sleep(REST)
            started = time.perf_counter()
            run()
            if turn:
                times[name].append(time.perf_counter() - started)
    return {name: statistics.median(values) for name, values in times.items()}


def tell(
    name: str, compared: str, columns: Sequence[str], rows: Sequence[Sequence[object]], *, width: int = 120
) -> None:
    """Print a table, say what was compared, and keep both as benchmarks/results/NAME.json."""
    table = Table(title=name, caption=compared, title_justify="left", caption_justify="left")
    for column in columns:
        table.add_column(column, justify="left" if column == columns[0] else "right")
    for row in rows:
        table.add_row(*(_show(value) for value in row))
    Console(width=width).print(table)
    RESULTS.mkdir(exist_ok=True)
    kept = {"name": name, "compared": compared, "rows": [dict(zip(columns, row, strict=True)) for row in rows]}
    (RESULTS / f"{name}.json").write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _show(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
