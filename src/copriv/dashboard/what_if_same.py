"""A setting of the what-if page as a command and as Python, to be had elsewhere."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from copriv.api.plan_settings import PlanSettings
from copriv.planning.scenario import Scenario

_READERS = {".parquet": "read_parquet", ".ndjson": "read_ndjson", ".jsonl": "read_ndjson"}


class Same(NamedTuple):
    """What is forecast: from which rows (None for all, else the first ones), what, for whom, and how."""

    public: Path
    target: str | None
    scenario: Scenario
    settings: PlanSettings
    rows: int | None


def as_command(same: Same) -> str:
    """What to type."""
    who = same.scenario
    given: dict[str, object] = {
        "public": str(same.public),
        "target": same.target,
        "owners": who.owners,
        "records": _listed(who.records),
        "epsilon": _listed(who.epsilons),
        "delta": f"{who.delta:g}",
        "heterogeneity": f"{who.heterogeneity:g}" if who.heterogeneity else None,
        **{name: value for name, value in same.settings.items() if name != "skip"},
    }
    options = [_option(name, value) for name, value in given.items() if value is not None and value is not False]
    options += [_option("skip", name) for name in same.settings.get("skip") or ()]
    first = "" if same.rows is None else f"# with the first {same.rows:,} rows of this file in a file of their own\n"
    return f"{first}copriv forecast {' '.join(options)}"


def as_python(same: Same) -> str:
    """What to run."""
    who, lines, table = same.scenario, ["import copriv as cp"], repr(str(same.public))
    if same.rows is not None:
        lines.append("import polars as pl")
        table = f"pl.{_READERS.get(same.public.suffix, 'read_csv')}({table}).head({same.rows})"
    sizes, epsilons = who.records, who.epsilons
    records = f"[{sizes[0]}] * {len(sizes)}" if len(set(sizes)) == 1 else repr(list(sizes))
    epsilon = f"{epsilons[0]:g}" if len(set(epsilons)) == 1 else repr(list(epsilons))
    more = f", heterogeneity={who.heterogeneity:g}" if who.heterogeneity else ""
    settings = "".join(f", {name}={value!r}" for name, value in same.settings.items())
    lines += [
        f"who = cp.Scenario(records={records}, epsilon={epsilon}, delta={who.delta:g}{more})",
        f"cp.forecast({table}, who, target={same.target!r}{settings})",
    ]
    return "\n".join(lines)


def _option(name: str, value: object) -> str:
    flag = f"--{name.replace('_', '-')}"
    return flag if value is True else f"{flag} {shlex.quote(str(value))}"


def _listed(values: Sequence[int] | Sequence[float]) -> str:
    """One for all, or one an owner."""
    few = values[:1] if len(set(values)) == 1 else values
    return ",".join(f"{value:g}" if isinstance(value, float) else str(value) for value in few)
