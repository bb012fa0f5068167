"""Whose each row is: the column that names people, read as text; and columns that look as if they did."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
import polars as pl

from copriv.errors import BadInput
from copriv.losses.people import NOBODY, Weigh, Whose
from copriv.protocol.terms import RANGES
from copriv.protocol.unit import PersonUnit
from copriv.records.partition import number_names
from copriv.records.person_id import NOBODY as NO_ID
from copriv.records.person_id import person_id
from copriv.records.ranges import require_name
from copriv.records.table import require_columns
from copriv.vectors import IntArray

# Of people that weigh alike a cap is only a bound on work; of rows that do, it is what the noise is for.
DEFAULT_CAP = 100
_CAP_QUANTILE = 0.95
# A column that names people is called so, or is an id.
_PEOPLE = (
    "person|patient|subject|member|customer|client|user|pupil|student|employee|insured|participant|respondent|borrower|"
    "applicant|account|card|household|donor|citizen|resident|beneficiary|enrollee"
)
_NAMED = re.compile(rf"({_PEOPLE})s?([_\-. ]?(id|no|number|key|code|nr))?$|(^|[_\-. ])(id|uuid|guid)$", re.IGNORECASE)
# People have several rows each, and are many: else a column names sites, years or kinds.
_FEWEST_PEOPLE, _MOST_ROWS_EACH = 20, 200
# A few ids that occur twice are rows that somebody has copied.
_COPIES = 0.01


@dataclass(frozen=True, slots=True)
class PersonChoice:
    """How the user wants people told apart; without a cap, one that fits the public rows.

    Args:
        column: says whose a row is.
        rows_cap: the most rows of a person that count.
        weigh: whether people weigh alike, or rows.
    """

    column: str
    rows_cap: int | None = None
    weigh: str | None = None

    def __post_init__(self) -> None:
        require_name(self.column, "the column of people")
        lowest, highest = 1, int(RANGES["rows_cap"][1])
        if self.rows_cap is not None and not lowest <= self.rows_cap <= highest:
            raise BadInput(
                f"--rows-cap is {self.rows_cap}",
                remedy=f"give a number from {lowest} to {highest:,}",
                value=self.rows_cap,
            )
        if self.weigh not in (None, *get_args(Weigh)):
            raise BadInput(f"--weigh is {self.weigh!r}", remedy="give person or row", value=self.weigh)

    def settle(self, public: pl.DataFrame | None) -> PersonUnit:
        """With a cap. Rows weigh alike only where public rows say whose they are."""
        weigh: Weigh = "row" if self.weigh == "row" else "person"
        known = public is not None and self.column in public.columns and not public.is_empty()
        if weigh == "person" or public is None or not known:
            if weigh == "row" and public is not None and not public.is_empty():
                raise BadInput(
                    f"--weigh row, and the public rows have no column {self.column!r}",
                    remedy="give public rows that have it, or --weigh person",
                    value=self.column,
                )
            return PersonUnit(self.column, self.rows_cap or DEFAULT_CAP, weigh)
        sizes = np.bincount(Whose(read_codes(public[self.column], {}), 1, weigh).places)
        return PersonUnit(self.column, self.rows_cap or max(1, round(float(np.quantile(sizes, _CAP_QUANTILE)))), weigh)


def require_no_target(column: str, columns: Sequence[str]) -> None:
    """Refuse people by what is predicted: their number would tell of it, and nobody's rows would be together."""
    if column in columns:
        raise BadInput(
            f"the column {column!r} is what a study predicts, or its exposure, and says whose no row is",
            remedy="name the column of people's ids",
            value=column,
        )


def choose_people(column: str | None, rows_cap: int | None, weigh: str | None) -> PersonChoice | None:
    """What was said about people; a cap or a weight alone means nothing."""
    if column is None and (rows_cap is not None or weigh is not None):
        raise BadInput(
            "--rows-cap or --weigh without --person", remedy="name the column of people: --person COLUMN", value=weigh
        )
    return None if column is None else PersonChoice(column, rows_cap, weigh)


def read_codes(values: pl.Series, places: dict[str, int]) -> IntArray:
    """A number for every person, the same wherever its name occurs; `NOBODY` where there is none.

    >>> read_codes(pl.Series("who", ["b", " a ", "b", None, ""]), {}).tolist()
    [0, 1, 0, -1, -1]
    """
    names = values.to_frame().select(person_id(values.name, values.dtype)).to_series()
    codes = number_names(names.set(names == NO_ID, None), places).astype(np.int64)
    return np.where(codes < 0, NOBODY, codes)


def whose_rows(table: pl.DataFrame, unit: PersonUnit) -> Whose:
    """Whose each row of a table is; without the column, each is a person of its own."""
    named = unit.column in table.columns
    codes = read_codes(table[unit.column], {}) if named else np.full(table.height, NOBODY, dtype=np.int64)
    return Whose(codes, unit.rows_cap, unit.weigh)


def count_people(table: pl.LazyFrame, column: str) -> int:
    """How many people a table is of; a row that names nobody is one."""
    require_columns(table, [column])
    return Whose(read_codes(table.select(column).collect()[column], {}), 1, "person").people


@dataclass(frozen=True, slots=True)
class Repeated:
    """A column that looks as if it named people, of whom some have several rows: for whoever holds them, at home."""

    column: str
    people: int
    most_rows: int

    def words(self, epsilon: float) -> str:
        """What ε for one record means for the person with most rows.

        >>> Repeated("patient", 900, 5).words(1.0)
        "the column 'patient' looks as if it named people, and some have several rows (at most 5): ε = 1 for one record is ε = 5 for that person; --person patient protects people"
        """  # noqa: E501
        return (
            f"the column {self.column!r} looks as if it named people, and some have several rows (at most "
            f"{self.most_rows:,}): ε = {epsilon:g} for one record is ε = {epsilon * self.most_rows:g} for that person; "
            f"--person {self.column} protects people"
        )


def find_repeated(table: pl.LazyFrame, beside: Sequence[str]) -> Repeated | None:
    """The column that most looks as if it named people with several rows; `beside` are columns that do not."""
    schema = table.collect_schema()
    names = [name for name, dtype in schema.items() if name not in beside and _may_name(name, dtype)]
    if not names:
        return None
    counted = table.select(
        pl.struct(
            pl.col(name).drop_nulls().n_unique().alias("people"),
            pl.col(name).drop_nulls().unique_counts().max().fill_null(0).alias("most"),
            pl.col(name).is_not_null().sum().alias("rows"),
        ).alias(name)
        for name in names
    ).collect()
    found = [Repeated(name, *map(int, list(counted[name].item().values())[:2])) for name in names]
    rows = {name: int(counted[name].item()["rows"]) for name in names}
    likely = [each for each in found if _looks_like_people(each, rows[each.column])]
    return max(likely, key=lambda each: each.people, default=None)


def _may_name(name: str, dtype: pl.DataType) -> bool:
    return bool(_NAMED.search(name)) and (dtype.is_integer() or isinstance(dtype, (pl.String, pl.Categorical)))


def _looks_like_people(found: Repeated, rows: int) -> bool:
    often = found.most_rows > 2 or rows - found.people > _COPIES * rows
    return often and found.people >= _FEWEST_PEOPLE and rows <= _MOST_ROWS_EACH * found.people
