"""Are the chosen features the best ones? Every choice of features × rule is trained, and compared with the plan's.

A cell is a table, a count of public rows, an ε and a split. Of each cell every entry of the grid is trained with
simulated noise and judged on held-out rows, and so is what the plan has taken. What is done is appended to
benchmarks/results/worth-grid.jsonl and not done again: stop it at any time, and go on later. Delete the file once rules
or features have changed.

`python -m benchmarks worth-grid` takes every table, half of them held out, with the fewest public rows and one split:
about eight minutes of one core. `worth-grid --splits` takes a second split of each,
`worth-grid --all` all counts of public rows and two splits, which is several hours.

- within 3 %: the held-out loss of what is taken is at most 1.03 times the least of the grid. The least of some fifty
  losses with noise in them is a lucky one, so a plan that takes the best would not always be within 3 % either. Where
  there are two splits, means of both are compared too: that leaves less to luck;
- near: R² (of labels the log-loss explained) that the plan told is at most 0.03 and two standard errors off the
  measured one. The error is that of the held-out rows and of five folds of the public rows;
- strictly: it is at most 0.03 off, and at most two standard errors.
"""

import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.many_hands import share_out
from benchmarks.side_by_side import RESULTS, tell
from benchmarks.worth_tables import TABLES, Table, divide
from benchmarks.worth_training import Bench
from copriv.errors import BadInput
from copriv.records.feature_spec import FeatureSpec

GRID = (
    "codes:10", "pls:3", "pls:10", "pls:30", "all", "score", "pls:3+score", "pls:10+score", "pls:30+score",
    "all+score", "leaves:20", "score+leaves:20", "score+leaves:40", "pls:10+score+leaves:20",
    "all+score+leaves:20",
)  # fmt: skip
RULES = ("newton", "statistics")
EPSILONS = (0.1, 1.0, 10.0)
# Constants of `auto` were chosen on splits of the tables that are not held out, leaves on these two.
SPLITS = (1, 0)
CLOSE, OFF, AIM = 1.03, 0.03, 0.9
TOLD = ("within 3 %", "near", "strictly")
KEPT = RESULTS / "worth-grid.jsonl"
# Second moments of long models are many numbers: noise drowns them, and they take long.
_MOST_MOMENTS = 40

Entry = dict[str, object]


def measure(table: Table, count: int, seed: int) -> list[Entry]:
    """Every entry of the grid for one split, and what the plan takes, for every ε."""
    split = divide(table, seed)
    if split is None or count not in split.public_counts:
        return []
    bench, found = Bench(split, count), list[Entry]()
    where = {"table": table.name, "count": count, "seed": seed}
    for name in GRID:
        try:
            features = bench.features(FeatureSpec.parse(name))
        except BadInput:
            continue
        short = not table.labels and features.public.parameters <= _MOST_MOMENTS
        for epsilon in EPSILONS:
            for rule in RULES if short else RULES[:1]:
                joint = bench.train(features, epsilon, seed, rule)
                told = {"epsilon": epsilon, "features": name, "rule": rule, "loss": joint.loss, "figure": joint.figure}
                found.append(where | told)
    for epsilon in EPSILONS:
        found.append(where | {"epsilon": epsilon} | _taken(bench, epsilon, seed))
    return found


def _taken(bench: Bench, epsilon: float, seed: int) -> Entry:
    """What the plan takes: predicted and measured, both as a share of the target that is explained."""
    taken = bench.choose(epsilon).taken
    joint = bench.train(bench.features(taken.spec), epsilon, seed)
    return {
        "features": "auto",
        "took": str(taken.spec),
        "rule": joint.rule,
        "loss": joint.loss,
        "figure": joint.figure,
        "predicted": taken.predicted.explained or 0.0,
        "error": float(np.hypot(taken.error or 0.0, joint.error)),
        "measured": joint.explained,
    }


def read(path: Path) -> list[Entry]:
    """What was measured before."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def _append(task: Callable[[], list[Entry]]) -> int:
    """Measure, and keep it at once, in one write."""
    found = task()
    with KEPT.open("a", encoding="utf-8") as file:
        file.write("".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in found))
    return len(found)


def compare(entries: Sequence[Entry]) -> list[list[object]]:
    """One row a cell: what was taken, the best of the grid, their losses' ratio, predicted and measured."""
    cells: dict[tuple[object, ...], list[Entry]] = {}
    for entry in entries:
        cells.setdefault(tuple(entry[name] for name in ("table", "count", "epsilon", "seed")), []).append(entry)
    rows = []
    for key, found in cells.items():
        taken = next(entry for entry in found if entry["features"] == "auto")
        best = min((entry for entry in found if entry is not taken), key=lambda entry: float(str(entry["loss"])))
        ratio = float(str(taken["loss"])) / float(str(best["loss"]))
        off = abs(float(str(taken["predicted"])) - float(str(taken["measured"])))
        error = 2 * float(str(taken["error"]))
        what = f"{best['features']}, {best['rule']}"
        told = f"{taken['predicted']:.3f}", f"{taken['measured']:.3f}"
        rows.append(
            [*key, taken["took"], what, ratio, *told, ratio <= CLOSE, off <= OFF + error, off <= min(OFF, error)]
        )
    return rows


def average(entries: Sequence[Entry]) -> dict[tuple[object, ...], float]:
    """Of each cell with all splits, the mean loss of what was taken over the least mean loss of the grid."""
    losses: dict[tuple[object, ...], dict[object, list[float]]] = {}
    for entry in entries:
        cell = losses.setdefault(tuple(entry[name] for name in ("table", "count", "epsilon")), {})
        way = "auto" if entry["features"] == "auto" else (entry["features"], entry["rule"])
        cell.setdefault(way, []).append(float(str(entry["loss"])))
    whole = {cell: ways for cell, ways in losses.items() if len(ways["auto"]) == len(SPLITS)}
    means = {
        cell: {way: float(np.mean(found)) for way, found in ways.items() if len(found) == len(SPLITS)}
        for cell, ways in whole.items()
    }
    return {cell: found.pop("auto") / min(found.values()) for cell, found in means.items()}


def wanted(*, everything: bool, splits: bool) -> list[tuple[Table, int, int]]:
    """Table, public rows and split: with the fewest public rows and one split or all of them, or all there are."""
    if not everything:
        return [(table, table.public[0], seed) for seed in (SPLITS if splits else SPLITS[:1]) for table in TABLES]
    places = range(max(len(table.public) for table in TABLES))
    each = [(seed, place, table) for seed in SPLITS for place in places for table in TABLES]
    return [(table, table.public[place], seed) for seed, place, table in each if place < len(table.public)]


def _name(table: Table, count: int, seed: int) -> tuple[object, ...]:
    return table.name, count, seed


def main() -> None:
    """Measure what is missing, and print."""
    done = {(entry["table"], entry["count"], entry["seed"]) for entry in read(KEPT) if entry["features"] == "auto"}
    asked = wanted(everything="--all" in sys.argv, splits="--splits" in sys.argv)
    tasks = [partial(measure, *each) for each in asked if _name(*each) not in done]
    share_out([partial(_append, task) for task in tasks], "splits of the grid")
    rows = compare(read(KEPT))
    if not rows:
        print("worth-grid: no data; set COPRIV_DATA")
        return
    held = {table.name for table in TABLES if table.held_out}
    groups = {"all": rows, "held out": [row for row in rows if row[0] in held]}
    groups["chosen on"] = [row for row in rows if row[0] not in held]
    kept = {
        name: (len(part), *(np.mean([row[place] for row in part]) for place in (-3, -2, -1)))
        for name, part in groups.items()
        if part
    }
    shares = "; ".join(
        f"{name}, {cells} cells: within 3 % {close:.0%}, predicted near {near:.0%}, strictly {strictly:.0%}"
        for name, (cells, close, near, strictly) in kept.items()
    )
    means = average(read(KEPT))
    for name, part in (("all", list(means)), ("held out", [cell for cell in means if cell[0] in held])):
        close = sum(means[cell] <= CLOSE for cell in part)
        shares += f"; means of {len(SPLITS)} splits, {name}: within 3 % in {close} of {len(part)}" if part else ""
    tell(
        "worth-grid",
        f"features taken against the best of the grid (features × rule), held-out loss over the least; aim {AIM:.0%}. "
        f"{shares}. Held out of every choice: {', '.join(sorted(held))}",
        ["table", "public rows", "ε", "split", "taken", "best", "ratio", "predicted", "measured", *TOLD],
        rows,
        width=200,
    )
