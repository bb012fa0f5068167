"""Is the joint model worth having? Its R² (AUC of labels) on records that were held out, beside what needs no owners.

Eight owners, rows in random order, five splits. Everything that shapes the joint model is what `copriv train` does
with `--features auto`: features, rule and noise for one ε, planned on public rows, trained with simulated noise.

- joint: with the features that the plan has chosen; public: of the public rows alone, in the same features;
- ridge, boosting: of the public rows, one-hot; ridge all, boosting all: of all rows without privacy, the ceilings;
- closed: the share of the gap between the best public model and boosting of all rows that joining closes.

Lines are drawn. Joint is within 0.02 of the ridge of all rows (ε = 1, at least 5,000 public rows). It is at or
above the better public model, up to 0.003 and one standard error of the paired differences. Where the gap is at least
0.02 and 1,000 rows are public, it closes 10 % at ε = 1 and 25 % at ε = 10 in 80 % of the cells: for owners with at
least 3,000 records each, and for owners that have as many together. What the plan predicts of R² (of labels the
log-loss explained) is at most 0.03 and two standard errors off what is measured, in 90 % of all single splits: the
line. Stricter readings are counted beside it, of single splits and of cells.
Targets are held to the bounds of the fewest public rows, for everybody. Tables of the second half were held out of
every choice of a constant.
"""

import resource
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.many_hands import share_out
from benchmarks.side_by_side import tell
from benchmarks.worth_tables import OWNERS, TABLES, Table, divide, rivals
from benchmarks.worth_training import Bench, Joint
from copriv.planning.feature_choice import WeighedFeatures

SPLITS = 5
EPSILONS = (0.1, 1.0, 10.0)
NEAR, SLACK, WIDE_GAP, LARGE, SHARE = 0.02, 0.003, 0.02, 3000, 0.8
OFF, FORETOLD = 0.03, 0.9
CLOSED = {1.0: 0.10, 10.0: 0.25}
COLUMNS = (
    "public rows", "ε", "joint", "features", "public", "ridge", "boosting", "ridge all", "boosting all", "closed",
    "predicted", "measured", "missed",
)  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """One split of one cell: figures on the rows that are held out.

    `predicted` and `measured` are R², or of labels the log-loss explained, `error` the standard error of their
    difference: of the held-out rows, and of five folds of the public ones. `predicted_auc` is that of labels, else 0.
    """

    table: str
    count: int
    epsilon: float
    records: int
    features: str
    predicted: float
    measured: float
    error: float
    predicted_auc: float
    joint: float
    public: float
    ridge: float
    boosting: float
    ridge_all: float
    boosting_all: float

    @property
    def off(self) -> float:
        """How far off the prediction is."""
        return abs(self.predicted - self.measured)


def measure(table: Table, seed: int) -> list[Measured]:
    """All cells of one split; the public rows that are there decide which."""
    split = divide(table, seed)
    if split is None:
        return []
    ceilings = {f"{name}_all": figure for name, figure in rivals(split).items()}
    found = list[Measured]()
    for count in split.public_counts:
        bench, known = Bench(split, count), {}
        others = rivals(split, bench.rows)
        for epsilon in EPSILONS:
            taken = bench.choose(epsilon).taken
            name = str(taken.spec)
            if name not in known:
                features = bench.features(taken.spec)
                known[name] = features, bench.public_model(features)[0]
            features, public = known[name]
            joint = bench.train(features, epsilon, seed)
            what = table.name, count, epsilon, bench.sizes[0], name
            figures = {"joint": joint.figure, "public": public, **others, **ceilings}
            found.append(Measured(*what, **_foretold(taken, joint), **figures))
    return found


def _foretold(taken: WeighedFeatures, joint: Joint) -> dict[str, float]:
    """What the plan told, what came of it, and how far apart chance may bring them."""
    told, error = taken.predicted, float(np.hypot(taken.error or 0.0, joint.error))
    foretold = {"predicted": told.explained or 0.0, "predicted_auc": told.auc or 0.0}
    return foretold | {"measured": joint.explained, "error": error}


@dataclass(frozen=True)
class Cell:
    """One table, public count and ε over all splits."""

    table: Table
    splits: Sequence[Measured]

    def mean(self, entry: str) -> float:
        """Of one figure."""
        return float(np.mean([getattr(each, entry) for each in self.splits]))

    @property
    def count(self) -> int:
        """Public rows."""
        return self.splits[0].count

    @property
    def epsilon(self) -> float:
        """ε of everybody."""
        return self.splits[0].epsilon

    @property
    def best_public(self) -> float:
        """The better public model on average."""
        return max(self.mean("ridge"), self.mean("boosting"))

    @property
    def gap(self) -> float:
        """From the best public model to boosting of all rows."""
        return self.mean("boosting_all") - self.best_public

    @property
    def closed(self) -> float:
        """The share of the gap that joining closes."""
        return (self.mean("joint") - self.best_public) / self.gap if self.gap > 0 else float("nan")

    @property
    def slack(self) -> float:
        """How far below a public model is no more than chance: 0.003 and one standard error."""
        best = "ridge" if self.mean("ridge") >= self.mean("boosting") else "boosting"
        apart = [each.joint - getattr(each, best) for each in self.splits]
        return SLACK + (float(np.std(apart, ddof=1)) / np.sqrt(len(apart)) if len(apart) > 1 else 0.0)

    @property
    def near(self) -> bool | None:
        """Within 0.02 of the ridge of all rows; None where that is not asked."""
        asked = self.epsilon == 1 and self.count >= 5000
        return self.mean("joint") >= self.mean("ridge_all") - NEAR if asked else None

    @property
    def above_public(self) -> bool:
        """At or above the better public model."""
        return self.mean("joint") >= self.best_public - self.slack

    def closes(self, owners: int) -> bool | None:
        """Whether enough of the gap is closed; None where it is narrow, or `owners` hold too few records."""
        asked = self.epsilon in CLOSED and self.count == 1000 and self.gap >= WIDE_GAP
        enough = self.splits[0].records * owners >= LARGE
        return self.closed >= CLOSED[self.epsilon] if asked and enough else None

    @property
    def foretold(self) -> bool:
        """Whether the mean prediction is within 0.03 of the mean of what is measured."""
        return abs(self.mean("predicted") - self.mean("measured")) <= OFF

    @property
    def auc_foretold(self) -> bool | None:
        """The same of AUC; None if the target is a number."""
        asked = self.table.labels
        return abs(self.mean("predicted_auc") - self.mean("joint")) <= OFF if asked else None

    @property
    def missed(self) -> str:
        """Which lines are missed, and why."""
        lines = []
        if self.near is False:
            lines.append(f"near: {self.mean('ridge_all') - self.mean('joint'):.3f} below")
        if not self.above_public:
            lines.append(f"public: {self.best_public - self.mean('joint'):.3f} below")
        if self.closes(OWNERS) is False:
            lines.append("closed")
        return "; ".join(lines) + (f" ({self.reason})" if lines else "")

    @property
    def reason(self) -> str:
        """Where a miss comes from: the features already on public rows, or what owners add to them."""
        behind, added = self.best_public - self.mean("public"), self.mean("joint") - self.mean("public")
        if added < -SLACK:
            return f"noise: {-added:.3f} below its own public model"
        if behind > SLACK:
            return f"features: on public rows alone {behind:.3f} below, owners add {added:.3f}"
        return f"owners add {added:.3f} only"

    def row(self) -> list[object]:
        """As printed."""
        names = [each.features for each in self.splits]
        common = max(sorted(set(names)), key=names.count)
        label = common if len(set(names)) == 1 else f"{common} ({names.count(common)} of {len(names)})"
        figures = ("public", "ridge", "boosting", "ridge_all", "boosting_all")
        closed = f"{self.closed:.0%}" if self.gap >= WIDE_GAP else "–"
        shown = [f"{self.mean(name):.3f}" for name in figures]
        joint, predicted, measured = (f"{self.mean(entry):.3f}" for entry in ("joint", "predicted", "measured"))
        predicted += f", AUC {self.mean('predicted_auc'):.3f}" if self.table.labels else ""
        name = f"{self.table.name}{' *' if self.table.held_out else ''}"
        return [name, self.count, self.epsilon, joint, label, *shown, closed, predicted, measured, self.missed]


# The line, and stricter readings of it.
FORETELLING: tuple[tuple[str, Callable[[Measured], bool]], ...] = (
    ("predicted: |predicted − measured| ≤ 0.03 + 2 SE", lambda split: split.off <= OFF + 2 * split.error),
    ("stricter: ≤ 0.03 alone", lambda split: split.off <= OFF),
    ("stricter: ≤ 2 SE alone", lambda split: split.off <= 2 * split.error),
    ("strictest: ≤ 0.03 and ≤ 2 SE", lambda split: split.off <= min(OFF, 2 * split.error)),
)


def gather(found: Sequence[Measured]) -> list[Cell]:
    """Splits of the same cell together, in the order of the tables."""
    tables = {table.name: table for table in TABLES}
    keys = dict.fromkeys((each.table, each.count, each.epsilon) for each in found)
    return [
        Cell(tables[key[0]], [each for each in found if (each.table, each.count, each.epsilon) == key])
        for key in sorted(keys, key=lambda key: (list(tables).index(key[0]), key[1], key[2]))
    ]


def lines(cells: Sequence[Cell]) -> Iterator[list[object]]:
    """Each line: how many cells it is asked of, in how many it holds, and whether that is enough."""

    def each_owner(cell: Cell) -> bool | None:
        return cell.closes(1)

    def together(cell: Cell) -> bool | None:
        return cell.closes(OWNERS)

    asked: list[tuple[str, Callable[[Cell], bool | None], float]] = [
        ("joint within 0.02 of the ridge of all rows, ε = 1, ≥ 5,000 public rows", lambda cell: cell.near, 1.0),
        ("joint at or above the better public model, up to 0.003 and one SE", lambda cell: cell.above_public, 1.0),
        ("closes 10 % at ε = 1, 25 % at ε = 10; owners of ≥ 3,000 records each", each_owner, SHARE),
        ("the same; owners of ≥ 3,000 records together", together, SHARE),
        ("stricter: means of splits, predicted within 0.03", lambda cell: cell.foretold, FORETOLD),
        ("stricter: means of splits, AUC predicted within 0.03", lambda cell: cell.auc_foretold, FORETOLD),
    ]
    for words, check, share in asked:
        yield from _counted(words, [(cell.table, check(cell)) for cell in cells], share)
    single = [(cell.table, split) for cell in cells for split in cell.splits]
    for words, check_split in FORETELLING:
        yield from _counted(words, [(table, check_split(split)) for table, split in single], FORETOLD)


def _counted(words: str, said: Sequence[tuple[Table, bool | None]], share: float) -> Iterator[list[object]]:
    """One line, for all tables and for each half."""
    for group, kept in (
        ("all", [told for _, told in said]),
        ("chosen on", [told for table, told in said if not table.held_out]),
        ("held out", [told for table, told in said if table.held_out]),
    ):
        asked = [told for told in kept if told is not None]
        holds = int(sum(asked))
        verdict = "–" if not asked else "held" if holds >= share * len(asked) else "not held"
        yield [words, group, len(asked), holds, verdict]


def show(cells: Sequence[Cell], seconds: float) -> None:
    """Both tables."""
    held = ", ".join(table.name for table in TABLES if table.held_out)
    splits = max(len(cell.splits) for cell in cells)
    tell(
        "worth",
        f"R² (AUC of labels) on records that were held out, mean of {splits} splits, {OWNERS} owners; joint: features "
        "auto, simulated noise, ε for any one record (replace-one, δ = 0); public: in the same features; ridge and "
        "boosting: one-hot, of the public rows, and of all rows without privacy; closed: of the gap from the best "
        "public model to boosting of all rows; predicted and measured: R², or of labels the log-"
        f"loss explained. * held out of every choice: {held}. {seconds:.0f} core seconds",
        ["table", *COLUMNS],
        [cell.row() for cell in cells],
        width=210,
    )
    tell(
        "worth-lines",
        "in how many cells each line holds",
        ["line", "tables", "cells", "holds", "verdict"],
        list(lines(cells)),
    )


def main() -> None:
    """Measure all splits of all tables, and print."""
    tasks = [partial(measure, table, seed) for seed in range(SPLITS) for table in TABLES]
    found = [each for part in share_out(tasks, "splits of tables") for each in part]
    if not found:
        print("worth: no data; set COPRIV_DATA")
        return
    # Other work on the machine changes these little.
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    show(gather(found), spent.ru_utime + spent.ru_stime)
