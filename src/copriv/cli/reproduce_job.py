"""What `copriv reproduce` does: read a table, run the settings of the figures, draw them, write the page."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from textwrap import shorten

import msgspec
import numpy as np
import polars as pl
import typer
from rich.console import Console
from rich.table import Table

from copriv.cli.progress import Tell, bar
from copriv.entropy import seeded
from copriv.errors import BadInput
from copriv.records import hospital_like, lending_like
from copriv.records.hospital import HOSPITAL
from copriv.records.lending import LENDING
from copriv.records.load import Intake
from copriv.records.official import Choice, DatasetSpec, take_in_official
from copriv.records.table import count_rows, open_table
from copriv.reproduction import paper
from copriv.reproduction.page import SCALES, Chapter, write_page
from copriv.reproduction.runner import run_cells
from copriv.reproduction.study import Figure, Settings, save
from copriv.reproduction.world import NoiseScale, World
from copriv.vectors import IntArray

_SYNTHETIC_LOANS = 1_010_000
_SYNTHETIC_STAYS = 450_000
_SYNTHETIC_HOSPITAL = 2_000


@dataclass(frozen=True, slots=True)
class ReproduceOptions:
    """The options of `copriv reproduce`, as given."""

    study: str
    data: Path | None
    target: str | None
    ordinal: bool
    min_records: int | None
    public_rows: int | None
    shuffle: bool
    figures: str | None
    runs: int
    noise: NoiseScale
    seed: int
    dask: str | None
    out: Path
    as_json: bool


@dataclass(frozen=True, slots=True)
class _Part:
    kind: DatasetSpec
    available: tuple[str, ...]
    draw: Callable[[World, Settings, set[str]], list[Figure]]
    title: str


_PARTS = {
    "lending": _Part(LENDING, paper.LENDING, paper.lending_figures, "Lending"),
    "hospital": _Part(HOSPITAL, paper.HOSPITAL, paper.hospital_figures, "Hospitals"),
}


class Told(msgspec.Struct):
    """One finding of one figure, as it is told."""

    figure: str
    paper: str
    ours: str
    agrees: bool | None


def run_job(options: ReproduceOptions) -> None:
    """The whole of `copriv reproduce`."""
    started = time.perf_counter()
    console = Console(stderr=True)
    names = [name for name in _PARTS if options.study in (name, "all")]
    wanted = {name: paper.choose_figures(options.figures, _PARTS[name].available) for name in names}
    _check(options, wanted)
    chapters = [_chapter(name, wanted[name], options, console) for name in names if wanted[name]]
    page = write_page(chapters, options.out)
    told = [
        Told(figure.name, finding.paper, finding.ours, finding.agrees)
        for chapter in chapters
        for figure in chapter.figures
        for finding in figure.findings
    ]
    seconds = round(time.perf_counter() - started, 3)
    if options.as_json:
        summary = {
            "page": str(page),
            "noise": options.noise,
            "runs": options.runs,
            "findings": told,
            "seconds": seconds,
        }
        typer.echo(msgspec.json.encode(summary).decode())
    else:
        _show(told, page, seconds)


def _check(options: ReproduceOptions, wanted: dict[str, set[str]]) -> None:
    if options.runs < 2:
        raise BadInput(f"{options.runs} runs", remedy="quartiles need at least 2", value=options.runs)
    if not any(wanted.values()):
        raise BadInput(
            f"{options.study} has none of the figures {options.figures}",
            remedy="loans have a0, a00, a1, a3, a4; hospitals b0, b00, b1, b2",
            value=options.figures,
        )
    if options.study == "all" and options.data is not None:
        raise BadInput(
            "one table for two studies", remedy="name lending or hospital with --data", value=str(options.data)
        )


def _chapter(name: str, wanted: set[str], options: ReproduceOptions, console: Console) -> Chapter:
    part = _PARTS[name]
    with bar(console, f"{name}: reading records") as tell:
        intake = _read(part.kind, options, tell)
    world = World.of(name, intake, options.noise)
    options.out.mkdir(parents=True, exist_ok=True)
    with bar(console, f"{name}: simulating") as tell:
        run = partial(run_cells, cache=options.out / "cache", dask=options.dask, tell=tell)
        settings = Settings(options.runs, options.seed, run)
        figures = part.draw(world, settings, wanted)
    label = SCALES[options.noise]
    with bar(console, f"{name}: drawing") as tell:
        for number, figure in enumerate(figures, start=1):
            save(figure, options.out, label)
            tell(number, len(figures))
    about = f"{_source(options)}: {len(world.samples)} owners, {world.records:,} private records, target "
    return Chapter(part.title, f"{about}{intake.dictionary.target.name!r}", label, tuple(figures), intake.notices)


def _source(options: ReproduceOptions) -> str:
    return "synthetic records" if options.data is None else options.data.name


def _read(kind: DatasetSpec, options: ReproduceOptions, tell: Tell) -> Intake:
    table = _synthetic(kind, options.seed) if options.data is None else open_table(options.data)
    min_records = options.min_records
    if options.data is None and min_records is None and kind is HOSPITAL:
        min_records = _SYNTHETIC_HOSPITAL
    choice = Choice(options.target, options.ordinal, public_rows=options.public_rows, min_records=min_records)
    shuffled = options.shuffle or options.data is None
    return take_in_official(table, kind, choice, order=_order(table, options.seed) if shuffled else None, tell=tell)


def _synthetic(kind: DatasetSpec, seed: int) -> pl.LazyFrame:
    if kind is LENDING:
        return lending_like.generate(_SYNTHETIC_LOANS, seeded(seed, "records")).lazy()
    return hospital_like.generate(_SYNTHETIC_STAYS, seeded(seed, "records")).lazy()


def _order(table: pl.LazyFrame, seed: int) -> IntArray:
    return np.asarray(seeded(seed, "shuffle").permutation(count_rows(table)), dtype=np.int64)


def _show(told: list[Told], page: Path, seconds: float) -> None:
    table = Table(title="what the paper says, and what this run shows", title_justify="left")
    for heading in ("figure", "the paper says", "this run shows", "agrees"):
        table.add_column(heading)
    for finding in told:
        agrees = "see it" if finding.agrees is None else "yes" if finding.agrees else "no"
        table.add_row(finding.figure, finding.paper, shorten(finding.ours, 300, placeholder=" …"), agrees)
    console = Console()
    console.print(table)
    console.print(f"{page} ({seconds:.0f} s)")
