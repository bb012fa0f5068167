"""`copriv.reproduce`: the paper's figures, computed again and held against what the paper says."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from copriv.api.settings import require_known
from copriv.api.tables import as_lazy
from copriv.entropy import seeded
from copriv.errors import BadInput
from copriv.records.official import Choice
from copriv.reproduction.grids import Numbers, read_counts, read_epsilons
from copriv.reproduction.page import SCALES, Chapter, write_page
from copriv.reproduction.paper import choose_figures
from copriv.reproduction.runner import run_cells
from copriv.reproduction.source import PARTS, choose_synthetic, read_records, synthesize
from copriv.reproduction.study import Finding, Settings, save
from copriv.reproduction.world import HORIZON, NoiseScale, World
from copriv.runtime.events import Progress, Tell, counting, silent

if TYPE_CHECKING:
    import polars as pl

StudyName = Literal["lending", "hospital", "all"]


class ReproduceSettings(TypedDict, total=False):
    """What can be set, by name; see `reproduce`."""

    data: Any
    target: str | None
    ordinal: bool
    min_records: int | None
    public_rows: int | None
    shuffle: bool
    figures: str | Sequence[str] | None
    runs: int
    noise: NoiseScale
    horizon: int
    epsilons: Numbers
    sizes: Numbers
    owners: Numbers
    seed: int
    dask: str | None
    out: str | Path | None
    tell: Tell


_DEFAULTS = ReproduceSettings(
    data=None,
    target=None,
    ordinal=False,
    min_records=None,
    public_rows=None,
    shuffle=False,
    figures=None,
    runs=100,
    noise="printed",
    horizon=HORIZON,
    epsilons=None,
    sizes=None,
    owners=None,
    seed=0,
    dask=None,
    out=None,
    tell=silent,
)


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What the paper says and what this run shows, with the tables behind the figures.

    >>> finding = Finding("ψ falls", "it rises", False, "by a factor of 3")
    >>> Reproduction((("a0", finding),), {}, "valid", 2, 20, None, 0.1).to_polars()["gap"].to_list()
    ['by a factor of 3']

    Args:
        findings: for each figure, what the paper says of it, what this run shows, and whether they agree.
        tables: the numbers of each figure.
        noise: `printed` as in the paper, which is not ε-DP; or `valid`.
        runs: of each setting.
        horizon: meetings of a run.
        page: the page with all pictures; None if nothing was written.
        seconds: how long it took.
    """

    findings: tuple[tuple[str, Finding], ...]
    tables: Mapping[str, pl.DataFrame]
    noise: NoiseScale
    runs: int
    horizon: int
    page: Path | None
    seconds: float

    def to_polars(self) -> pl.DataFrame:
        """A row for each finding."""
        import polars as pl

        schema = {"figure": pl.String, "paper": pl.String, "ours": pl.String, "agrees": pl.Boolean, "gap": pl.String}
        return pl.DataFrame([_row(*each) for each in self.findings], schema=schema)

    def to_dict(self) -> dict[str, object]:
        """What `copriv reproduce --json` prints."""
        return {
            "page": None if self.page is None else str(self.page),
            "noise": self.noise,
            "runs": self.runs,
            "horizon": self.horizon,
            "findings": [_row(*each) for each in self.findings],
            "seconds": self.seconds,
        }

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><td>{escape(name)}</td><td>{escape(each.paper)}</td><td>{escape(each.ours)}</td>"
            f"<td>{escape(each.verdict)}</td></tr>"
            for name, each in self.findings
        )
        heads = "".join(f"<th>{words}</th>" for words in ("figure", "the paper says", "this run shows", "agrees"))
        return f"<p>{escape(SCALES[self.noise])}</p><table><tr>{heads}</tr>{cells}</table>"


def reproduce(study: StudyName = "all", **settings: Unpack[ReproduceSettings]) -> Reproduction:
    """Redraw the paper's figures, and say of each of its findings whether this run agrees and by how much not.

    >>> import copriv as cp, numpy as np
    >>> from copriv.records import lending_like
    >>> loans = lending_like.generate(4_000, np.random.default_rng(0))
    >>> told = cp.reproduce("lending", data=loans, figures="a0", runs=2, horizon=20, sizes=1_000)
    >>> told.to_polars()["figure"].unique().to_list(), told.tables["a0"].columns
    (['a0'], ['epsilon', 'k', 'low', 'median', 'high'])

    Args:
        study: `lending`, `hospital` or `all`.
        settings: data (a path or table with the official columns; synthetic records without it), target, ordinal,
            min_records, public_rows and shuffle (how it is read), figures (such as "a0,a4"), runs (of each setting),
            noise ("printed" or "valid"), horizon, epsilons, sizes (records of each bank), owners (numbers of banks in
            a4), seed, dask (address of a scheduler, or "local"), out (a folder for tables, pictures, the page and a
            cache; without it nothing is written), tell (is told how
            far it is).

    Raises:
        BadInput: if a setting is unknown or out of range; nothing is computed or written then.
    """
    started = time.perf_counter()
    require_known(settings, ReproduceSettings, "reproduce")
    order: ReproduceSettings = _DEFAULTS | settings
    wanted = _check(study, order)
    out = None if order["out"] is None else Path(order["out"])
    chapters = [_chapter(name, wanted[name], order, out) for name in wanted]
    figures = [figure for chapter in chapters for figure in chapter.figures]
    return Reproduction(
        findings=tuple((figure.name, finding) for figure in figures for finding in figure.findings),
        tables={figure.name: figure.table for figure in figures},
        noise=order["noise"],
        runs=order["runs"],
        horizon=order["horizon"],
        page=None if out is None else write_page(chapters, out),
        seconds=round(time.perf_counter() - started, 3),
    )


def _row(figure: str, finding: Finding) -> dict[str, object]:
    return {"figure": figure, **asdict(finding)}


def _check(study: str, order: ReproduceSettings) -> dict[str, set[str]]:
    """The figures of each data set that are wanted; whatever cannot be done is refused."""
    if study not in (*PARTS, "all"):
        raise BadInput(f"there is no study {study}", remedy="choose lending, hospital or all", value=study)
    if order["noise"] not in SCALES:
        raise BadInput(f"there is no noise {order['noise']}", remedy=f"choose {' or '.join(SCALES)}")
    if order["runs"] < 2:
        raise BadInput(f"{order['runs']} runs", remedy="quartiles need at least 2", value=order["runs"])
    if order["horizon"] < 1:
        raise BadInput(f"a horizon of {order['horizon']}", remedy="give at least 1 meeting", value=order["horizon"])
    if study == "all" and order["data"] is not None:
        raise BadInput("one table for two studies", remedy="name lending or hospital with data", value=study)
    grids = _grids(order)
    if study == "hospital" and (grids.sizes or grids.owners):
        raise BadInput("hospitals are as they are", remedy="sizes and owners are for loans", value=study)
    given = order["figures"]
    text = given if given is None or isinstance(given, str) else ",".join(given)
    names = [name for name in PARTS if study in (name, "all")]
    wanted = {name: choose_figures(text, PARTS[name].available) for name in names}
    if not any(wanted.values()):
        raise BadInput(
            f"{study} has none of the figures {text}",
            remedy="loans have a0, a00, a1, a3, a4; hospitals b0, b00, b1, b2",
            value=text,
        )
    return {name: figures for name, figures in wanted.items() if figures}


def _grids(order: ReproduceSettings) -> Settings:
    """Everything but how cells are run."""
    return Settings(
        order["runs"],
        order["seed"],
        partial(run_cells, tell=lambda _done, _total: None),
        read_epsilons(order["epsilons"]),
        read_counts(order["sizes"], "records of each bank", 2),
        read_counts(order["owners"], "owners", 2),
    )


def _chapter(name: str, wanted: set[str], order: ReproduceSettings, out: Path | None) -> Chapter:
    part, tell = PARTS[name], order["tell"]
    world, about, notices = _world(name, order)
    tell(Progress(f"{name}: simulating"))
    cache, count = None if out is None else out / "cache", counting(tell, f"{name}: simulating")
    run = partial(run_cells, cache=cache, dask=order["dask"], tell=count)
    figures = part.draw(world, replace(_grids(order), run_cells=run), wanted)
    label = SCALES[order["noise"]]
    if out is not None:
        for number, figure in enumerate(figures, start=1):
            save(figure, out, label)
            tell(Progress(f"{name}: drawing", number, len(figures)))
    return Chapter(part.title, about, label, order["horizon"], tuple(figures), notices)


def _world(name: str, order: ReproduceSettings) -> tuple[World, str, tuple[str, ...]]:
    """The records, what they are, and what was noticed when they were read."""
    kind, data, seed = PARTS[name].kind, order["data"], order["seed"]
    choice = Choice(
        order["target"], order["ordinal"], public_rows=order["public_rows"], min_records=order["min_records"]
    )
    order["tell"](Progress(f"{name}: reading records"))
    if data is None:
        table, choice = synthesize(kind, seeded(seed, "records")), choose_synthetic(kind, choice)
    else:
        table = as_lazy(data)
    shuffle = seeded(seed, "shuffle") if order["shuffle"] or data is None else None
    intake = read_records(kind, table, choice, shuffle, counting(order["tell"], f"{name}: reading records"))
    world = World.of(name, intake, order["noise"], order["horizon"])
    source = "synthetic records" if data is None else Path(data).name if isinstance(data, str | Path) else "a table"
    owners = "1 owner" if len(world.samples) == 1 else f"{len(world.samples)} owners"
    about = f"{source}: {owners}, {world.records:,} private records, target {intake.dictionary.target.name!r}"
    return world, about, intake.notices
