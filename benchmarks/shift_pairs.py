"""Public rows of another population than the owners' rows: other years, months, carriers, regions, grades, contracts.

A family is one table and the column by whose values it is divided. Its cases say which values are public, which are
private (all others if none are named) and who owns the private rows. The shift column is no feature. Every second case
of a family is held out of every choice of constants. To extend the benchmark, add a case or a family to the table.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from benchmarks.datasets import REGULARIZATION, data_folder
from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise_freely
from copriv.planning.tuning import choose_limit
from copriv.records.hospital import HOSPITAL
from copriv.records.load import LoadSpec, load_consortium
from copriv.records.partition import Partition
from copriv.records.target import TargetChoice
from copriv.simulation.cost import Scene

PUBLIC_ROWS = 10_000
SEED = 14
TEN = Partition(owners=10)
Value = int | str


@dataclass(frozen=True)
class Case:
    """Values of public rows, values of private rows (none: all others), the owners, and another target if any."""

    public: tuple[Value, ...]
    owners: Partition = TEN
    private: tuple[Value, ...] = ()
    target: str = ""


@dataclass(frozen=True)
class Family:
    """One table, divided by one column; without a column the last rows are public, and rows keep their order."""

    name: str
    file: str
    target: str
    column: str
    cases: tuple[Case, ...]
    without: tuple[str, ...] = ()
    logistic: bool = False
    ordinal: bool = False


@dataclass(frozen=True)
class Pair:
    """Public rows and owners of another population."""

    name: str
    family: str
    held_out: bool
    scene: Scene


_SPENDING = (
    *("outpdol", "drugdol", "suppdol", "mentdol", "inpdol", "meddol", "lnmeddol", "binexp"),
    *("totadm", "inpmis", "mentvis", "mdvis", "notmdvis"),
)
_BLOCKS = ((3, 250_000), (10, 10_000), (85, 10_000), (30, 25_000))
_CARRIERS = Partition("carrier", min_records=100)
_HOSPITALS = Partition("hospital_id", min_records=200)
_SCHOOLS = Partition("sch", min_records=100)

FAMILIES = (
    Family(
        "lending order", "lending_887k_categories", "grade", "",
        tuple(Case((), Partition(owners=count, records_per_owner=size)) for count, size in _BLOCKS),
        ordinal=True,
    ),
    Family(
        "flights month", "flights_2013", "arr_delay", "month",
        (Case((1,), _CARRIERS, (7,)), Case((7,), _CARRIERS, (1,)), Case((2,), Partition("month")), Case((12,))),
    ),
    Family(
        "carrier", "flights_2013", "arr_delay", "carrier",
        tuple(Case((name,), _CARRIERS) for name in ("UA", "B6", "US", "EV")),
    ),
    Family(
        "lending year", "lending_2007_2011", "int_rate", "issue_year",
        (
            Case(("2008",), Partition("addr_state", min_records=300), ("2011",)),
            Case(("2009",)),
            Case(("2011",), TEN, ("2007", "2008", "2009")),
            Case(("2010",), Partition("addr_state", min_records=300), ("2011",)),
        ),
        without=("issue_d",),
    ),
    # As the paper reads hospitals: without charges and costs, which nearly tell the length of stay.
    Family(
        "region", "hospital_heart_failure_2024", "los", "health_service_area",
        tuple(Case((name,), _HOSPITALS) for name in ("Finger Lakes", "Long Island", "New York City", "Western NY")),
        without=HOSPITAL.irrelevant,
    ),
    Family(
        "school grade", "school_star", "math", "gr",
        (Case(("K",), _SCHOOLS), Case(("1",)), Case(("2",)), Case(("3",), _SCHOOLS)),
        without=("person", "read"),
    ),
    Family(
        "insurance year", "health_insurance", "mdvis", "year",
        (
            Case((1,), Partition("site")),
            Case((5,), Partition("site")),
            Case((3,), target="lnmeddol"),
            Case((4,), target="lnmeddol"),
        ),
        without=("person", *_SPENDING),
    ),
    Family(
        "election year", "party_feelings", "therm_dem", "year",
        (
            Case((1978, 1980)),
            Case((2012,)),
            Case((1992,), Partition("year")),
            Case((2000,), Partition("stateabb", min_records=300)),
        ),
        without=("therm_gop", "therm_bmp", "mpti"),
    ),
    Family(
        "delivery day", "deliveries", "time_to_delivery", "day",
        (Case(("Sun",)), Case(("Fri",)), Case(("Tue",)), Case(("Wed",), Partition("day"))),
    ),
    Family(
        "visits year", "doctor_visits", "docvis", "year",
        (Case((1984,)), Case((1988,), Partition("year"))),
        without=("person",),
    ),
    Family(
        "crashes year", "crashes", "dead", "yearacc",
        (Case((1997,)), Case((2002,), Partition("yearacc"))),
        without=("injSeverity",), logistic=True,
    ),
    Family(
        "churn contract", "churn", "churn", "contract",
        (Case(("Month-to-month",)), Case(("One year",)), Case(("Two year",)), Case(("One year", "Two year"))),
        logistic=True,
    ),
)  # fmt: skip


def name_of(family: Family, case: Case) -> str:
    """Public values, private values and owners in one line."""
    cut = case.owners
    owners = cut.column or f"{cut.owners}" + (f" × {cut.records_per_owner:,}" if cut.records_per_owner else " blocks")
    if not family.column:
        return f"{family.name}: {owners}"
    public, private = ("+".join(map(str, values)) for values in (case.public, case.private))
    target = f", {case.target}" if case.target else ""
    return f"{family.name}: {public} → {private or 'others'} by {owners}{target}"


def specs(held_out: bool | None = None) -> Iterator[tuple[str, Family, Case, bool]]:
    """Name, family, case and whether it is held out, of all pairs, of the held out or of the others."""
    for family in FAMILIES:
        for place, case in enumerate(family.cases):
            kept_out = place % 2 == 1
            if held_out is None or held_out == kept_out:
                yield name_of(family, case), family, case, kept_out


def pairs(held_out: bool | None = None) -> Iterator[Pair]:
    """All pairs, those held out or those not, one after the other; none if the tables are not at hand."""
    for name, family, case, kept_out in specs(held_out):
        scene = read_pair(family, case)
        if scene is not None:
            yield Pair(name, family.name, kept_out, scene)


def load(name: str) -> Pair:
    """One pair by its name; KeyError if there is none, FileNotFoundError if the tables are not at hand."""
    for found, family, case, kept_out in specs():
        if found == name:
            scene = read_pair(family, case)
            if scene is None:
                raise FileNotFoundError("no data; set COPRIV_DATA")
            return Pair(name, family.name, kept_out, scene)
    raise KeyError(name)


def read_pair(family: Family, case: Case) -> Scene | None:
    """The scene as `copriv train --public` would read it; None if the table is not at hand."""
    folder = data_folder()
    if folder is None:
        return None
    table = pl.read_parquet(folder / f"{family.file}.parquet")
    public, private = _divide(table, family, case)
    target = case.target or family.target
    skip = tuple(
        name for name in (*family.without, family.column)
        if name in table.columns and name not in (target, case.owners.column)
    )  # fmt: skip
    choice = TargetChoice(target, ordinal=family.ordinal, labels=family.logistic)
    intake = load_consortium(private.lazy(), LoadSpec(choice, case.owners, skip=skip), public=public.lazy())
    loss = choose("logistic" if family.logistic else "squared")
    rows = intake.require_public()
    objective = Objective(loss, REGULARIZATION, choose_limit(minimise_freely(loss, REGULARIZATION, rows)))
    return Scene.of(objective, [owner.sample for owner in intake.owners], rows)


def _divide(table: pl.DataFrame, family: Family, case: Case) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Public and private rows, shuffled unless the order itself is the shift."""
    if not family.column:
        return table.tail(PUBLIC_ROWS), table.head(table.height - PUBLIC_ROWS)
    value = table[family.column].cast(pl.String)
    public = value.is_in([str(each) for each in case.public])
    private = value.is_in([str(each) for each in case.private]) if case.private else ~public & value.is_not_null()
    shown, kept = (table.filter(rows).sample(fraction=1.0, shuffle=True, seed=SEED) for rows in (public, private))
    return shown.head(PUBLIC_ROWS), kept
