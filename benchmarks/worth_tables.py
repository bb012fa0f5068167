"""Tables of `worth`: how each is read and divided, and what others would do with its rows.

A split holds rows out, and deals the rest: the last rows are public, those before belong to eight owners, block after
block. The public rows of a small count are among those of a larger one. Models that others would fit see the same
columns, read in the same way: one-hot categories, missing indicators, numbers held to their usual range. Ridge strength
is by rows that are left out, boosting is scikit-learn's histogram boosting with its defaults.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from benchmarks.datasets import data_folder
from copriv.entropy import seeded
from copriv.losses.metrics import label_metrics, number_metrics
from copriv.records import lending_like
from copriv.records.cells import read_values
from copriv.records.fit_features import PublicRows
from copriv.records.hospital import HOSPITAL
from copriv.records.lending import LENDING
from copriv.records.target import Target, TargetChoice
from copriv.vectors import FloatArray

OWNERS = 8
PUBLIC = (1000, 5000, 10_000)
MOST_ROWS, MOST_HELD_OUT = 40_000, 6_000
_RIDGES = np.geomspace(1e-6, 10, 22)
_MOST_CATEGORIES = 250


@dataclass(frozen=True)
class Table:
    """A table, what is predicted, and columns that are left out; `held_out` of every choice of a constant or not."""

    name: str
    file: str
    target: str
    without: tuple[str, ...] = ()
    labels: bool = False
    held_out: bool = False
    public: tuple[int, ...] = PUBLIC

    @property
    def choice(self) -> TargetChoice:
        """How the target is read."""
        return TargetChoice(self.target, labels=self.labels, positive_above=0.0 if self.target == "num" else None)

    @property
    def loss(self) -> str:
        """What is trained."""
        return "logistic" if self.labels else "squared"


_PAYMENTS = (
    *("grade", "sub_grade", "installment", "total_pymnt", "total_pymnt_inv", "total_rec_prncp", "total_rec_int"),
    *("total_rec_late_fee", "recoveries", "collection_recovery_fee", "last_pymnt_amnt", "last_pymnt_d", "out_prncp"),
    *("out_prncp_inv", "next_pymnt_d", "last_credit_pull_d", "loan_status"),
)
_SPENDING = (
    *("person", "outpdol", "drugdol", "suppdol", "mentdol", "inpdol", "meddol", "totadm", "inpmis", "mentvis"),
    *("notmdvis", "lnmeddol", "binexp"),
)
_LOANS = ("lending_2007_2011", "int_rate")
TABLES = (
    Table("loans", *_LOANS, (*LENDING.irrelevant, *_PAYMENTS)),
    Table("loans, payments, grades", *_LOANS, LENDING.irrelevant),
    Table("heart failure", "hospital_heart_failure_2024", "los", HOSPITAL.irrelevant),
    Table("generator", "", "int_rate", (*LENDING.irrelevant, "grade", "sub_grade", "installment")),
    Table("deliveries", "deliveries", "time_to_delivery"),
    Table("school", "school_star", "math", ("read", "person")),
    Table("crashes", "crashes", "dead", ("injSeverity",), labels=True),
    Table("hospital 2022", "hospital_2022", "Length of Stay", HOSPITAL.irrelevant, held_out=True),
    Table("flights", "flights_2013", "arr_delay", ("dep_delay", "arr_time", "air_time"), held_out=True),
    # 920 rows: fewer public ones than elsewhere.
    Table("heart", "heart_four_hospitals", "num", labels=True, held_out=True, public=(300,)),
    Table("churn", "churn", "churn", labels=True, held_out=True),
    # Looked at when sizes of trees were chosen (docs/decisions/0049), and so held out no longer.
    Table("health insurance", "health_insurance", "mdvis", _SPENDING),
    Table("chemistry", "chemistry_1997", "score", held_out=True),
    Table("parties", "party_feelings", "therm_dem", ("therm_gop", "therm_bmp", "mpti"), held_out=True),
    Table("doctor visits", "doctor_visits", "docvis", ("person", "hospvis"), held_out=True),
)


@dataclass(frozen=True)
class Split:
    """One division of a table's rows; `target` is as the fewest public rows read it."""

    table: Table
    rest: pl.DataFrame
    held_out: pl.DataFrame
    target: Target

    @property
    def public_counts(self) -> list[int]:
        """How many rows may be public: at least as many stay private."""
        return [count for count in self.table.public if 2 * count <= self.rest.height]

    def public(self, count: int) -> pl.DataFrame:
        """The last rows."""
        return self.rest.tail(count)

    def owners(self, count: int) -> Iterator[pl.DataFrame]:
        """The others, block after block."""
        private = self.rest.head(self.rest.height - count)
        size = private.height // OWNERS
        return (private.slice(place * size, size) for place in range(OWNERS))

    def targets_of(self, rows: pl.DataFrame) -> FloatArray:
        """In the target's unit, held to the public bounds; labels are −1 and 1."""
        raw = rows.select(self.target.raw(rows.schema[self.target.name]).fill_null(np.nan)).to_series()
        held = self.target.bounded(raw.to_numpy().astype(np.float64))
        return held if self.table.labels else self.target.center + self.target.scale * held

    @cached_property
    def truth(self) -> FloatArray:
        """Targets of the rows that are held out."""
        return self.targets_of(self.held_out)

    def figure(self, predictions: FloatArray) -> float:
        """R², or AUC of labels, on the rows that are held out."""
        if self.table.labels:
            chances = 1 / (1 + np.exp(-np.clip(predictions, -50, 50)))
            return float(label_metrics(chances, self.truth > 0).auc or 0.5)
        return float(number_metrics(predictions, self.truth).r2 or 0.0)


def divide(table: Table, seed: int) -> Split | None:
    """Rows in the order of a seed, a fifth of them or 6,000 held out; None if the table is not at hand."""
    if table.file:
        folder = data_folder()
        if folder is None:
            return None
        rows = pl.read_parquet(folder / f"{table.file}.parquet")
    else:
        rows = lending_like.generate(MOST_ROWS, seeded(seed, "records"))
    rows = rows.drop([name for name in table.without if name in rows.columns]).drop_nulls(table.target)
    order = seeded(seed, "split").permutation(rows.height)[:MOST_ROWS]
    rows = rows[order.tolist()]
    aside = min(rows.height // 5, MOST_HELD_OUT)
    rest = rows.slice(aside)
    fewest = PublicRows(rest.tail(table.public[0]), table.choice)
    return Split(table, rest, rows.head(aside), fewest.target)


def rivals(split: Split, public: PublicRows | None = None) -> dict[str, float]:
    """What one-hot ridge and boosting reach on some public rows; on all rows if none are given."""
    read = (public or PublicRows(split.rest, split.table.choice)).cells
    rows = split.rest if public is None else public.rows
    new = read_values(split.held_out, read.columns)
    targets = split.targets_of(rows)
    cells, held_out = read.cells, type(read)(read.columns, new, np.zeros(len(new)), read.target, ()).cells
    categories = [
        column.encoded.indicators and len(column.categories) + column.encoded.buckets < _MOST_CATEGORIES
        for column in read.columns
    ]
    kind = HistGradientBoostingClassifier if split.table.labels else HistGradientBoostingRegressor
    trees = kind(random_state=0, categorical_features=np.array(categories)).fit(read.values, targets)
    tell = trees.decision_function if split.table.labels else trees.predict
    return {
        "ridge": split.figure(_ridge(cells, targets)(held_out)),
        "boosting": split.figure(tell(new)),
    }


def _ridge(cells: FloatArray, targets: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """A ridge regression of standardised cells, its strength by rows that are left out one by one."""
    means, units = cells.mean(axis=0), np.maximum(cells.std(axis=0), 1e-9)
    units[cells.std(axis=0) < 1e-9] = np.inf
    rows, level = (cells - means) / units, float(targets.mean())
    values, basis = np.linalg.eigh(rows.T @ rows / len(rows))
    turned, offset = rows @ basis, basis.T @ (rows.T @ (targets - level)) / len(rows)
    squares, best = turned**2, (np.inf, np.zeros(len(values)))
    for ridge in _RIDGES:
        bent = np.maximum(values, 0.0) + ridge
        leverages = np.minimum(squares @ (1 / bent) / len(rows) + 1 / len(rows), 0.99)
        errors = (targets - level - turned @ (offset / bent)) / (1 - leverages)
        best = min(best, (float(np.mean(errors**2)), basis @ (offset / bent)), key=lambda pair: pair[0])
    return lambda new: level + (new - means) / units @ best[1]
