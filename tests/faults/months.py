"""Months of retrainings over real ledgers: people return, appends are killed, and old copies are put back.

Every month new people and rows of known people arrive at every owner. `append_block` is killed at a statement drawn by
chance, and repeated. The owners join the study of the month with the blocks that can pay, and one model is trained.
What a person has lost is counted anew, from the histories of the ledgers and from whose rows each study has read: no
account of a block and no index of people is asked. `months_cost.py` lives 24 months on real panels.
"""

import os
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

from copriv.api.plan import Plan, plan
from copriv.entropy import seeded
from copriv.errors import LedgerFailure
from copriv.owner.arrival import Arrival, append_block
from copriv.owner.dataset_ledger import Word
from copriv.owner.joining import settle_joining
from copriv.owner.reading import files_to_read
from copriv.owner.registry import Registry
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.owner.workspace import Enrollment, OwnerWorkspace, prepare
from copriv.planning.from_terms import plan_from_terms
from copriv.planning.scenario import Scenario
from copriv.planning.training_spec import TrainingSpec
from copriv.protocol.study_file import StudyFile, read_study, write_study
from copriv.records.block_files import open_block_files
from copriv.records.load import Intake, OwnerSample
from copriv.report.ledger_history import read_history
from copriv.runtime.local import Consortium, run
from copriv.runtime.owner_ledger import NewLedger, make_ledger
from copriv.transport.in_process import InProcessTransport

SIGNED = "A. Nother"


@dataclass
class Setup:
    """Who takes part: a panel with a column `person`, how it is read, and how long it goes on."""

    panel: pl.DataFrame
    target: str
    months: int = 24
    owners: int = 4
    epsilon: str = "1"
    features: int = 5
    public_people: int = 500
    window: int | None = None
    kills: float = 0.5
    restores: float = 0.25
    seed: int = 1


@dataclass
class Life:
    """What came of it."""

    losses: Counter[tuple[str, str]] = field(default_factory=Counter)
    models: list[np.ndarray] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    read: list[list[OwnerSample]] = field(default_factory=list)
    everybody: dict[str, set[str]] = field(default_factory=dict)
    returned: int = 0
    killed: int = 0
    interrupted: int = 0
    restored: int = 0
    noticed: int = 0


class Killed(BaseException):
    """A process that is no more."""


def arrivals(setup: Setup) -> tuple[pl.DataFrame, dict[tuple[int, int], pl.DataFrame]]:
    """Public rows, and the rows that arrive at each owner in each month: the first of a person, and later ones."""
    chance = seeded(setup.seed, "arrivals")
    people = setup.panel["person"].unique(maintain_order=True).to_list()
    order = chance.permutation(len(people))
    first = {}
    for place, number in enumerate(order[setup.public_people :]):
        first[people[number]] = (place % setup.owners, int(chance.integers(setup.months)))
    public = setup.panel.filter(~pl.col("person").is_in(list(first)))
    seen: Counter[object] = Counter()
    cells: list[tuple[int, int]] = []
    for who in setup.panel["person"].to_list():
        owner, month = first.get(who, (-1, -1))
        later = month + int(chance.integers(setup.months - month)) if owner >= 0 and seen[who] else month
        cells.append((owner, later))
        seen[who] += 1
    placed = setup.panel.with_columns(owner=pl.Series([c[0] for c in cells]), month=pl.Series([c[1] for c in cells]))
    files = {}
    for (owner, month), rows in placed.group_by(["owner", "month"], maintain_order=True):
        if owner >= 0:
            files[int(owner), int(month)] = rows.drop("owner", "month")
    return public, files


def live(setup: Setup, folder: Path, append=append_block) -> tuple[Life, Plan]:
    """All months; `append` adds a block."""
    public, files = arrivals(setup)
    life, dice = Life(), seeded(setup.seed, "dice")
    sizes = [round(np.mean([_new(files, o, m) for m in range(setup.months)])) for o in range(setup.owners)]
    settled = {"window": setup.window} if setup.window else {}
    found = plan(
        public,
        Scenario(sizes, setup.epsilon),
        target=setup.target,
        months=setup.months,
        person="person",
        features=setup.features,
        skip=["person"],
        **settled,
    )
    for month in range(setup.months):
        for owner in range(setup.owners):
            _arrive(setup, life, folder, (owner, month), files, append, dice)
        terms = msgspec.structs.replace(found.terms, name=f"month {month + 1}")
        text = write_study(StudyFile(terms, msgspec.to_builtins(found.dictionary), found.summary))
        _train(setup, life, folder, text, found, month, dice)
    return life, found


def _new(files, owner, month) -> int:
    known = {who for m in range(month) for who in _people(files.get((owner, m)))}
    return len(set(_people(files.get((owner, month)))) - known)


def _people(rows) -> list[str]:
    return [] if rows is None else [str(who) for who in rows["person"].to_list()]


def _arrive(setup, life, folder, cell, files, append, dice) -> None:
    """A file arrives; whoever appends it is killed now and then, and an old copy of the ledger is put back."""
    owner, month = cell
    rows, ledger = files.get(cell), folder / f"owner-{owner}.sqlite"
    if rows is None:
        return
    data = folder / f"owner-{owner}-month-{month}.parquet"
    rows.write_parquet(data)
    known = life.everybody.setdefault(str(owner), set())
    life.returned += len(known & set(_people(rows)))
    known |= set(_people(rows))
    if not ledger.exists():
        from copriv.privacy.guarantee import Guarantee

        promise = Guarantee.of(setup.epsilon)
        make_ledger(
            NewLedger(
                path=ledger,
                owner=f"owner {owner}",
                data=data,
                guarantee=promise,
                accountant="pld",
                pure=None,
                word=Word(SIGNED),
            )
        )
        return
    old = _copy(ledger)
    name = f"m{month + 1:02d}"
    if dice.random() < setup.kills:
        life.killed += _killed_append(ledger, name, data, int(dice.integers(1, 120)))
    with Registry() as registry:
        append(registry, ledger, Arrival(name=name, data=data, person="person", by=SIGNED))
    if dice.random() < setup.restores:
        _put_back(life, ledger, old)


def _copy(ledger) -> bytes:
    with closing(SqliteLedger(ledger)) as opened:
        opened.settle()
    return ledger.read_bytes()


def _put_back(life, ledger, old) -> None:
    """An old copy in place of the ledger is noticed; then the right one is put back."""
    right = _copy(ledger)
    life.restored += 1
    try:
        _replace(ledger, old)
        SqliteLedger(ledger).close()
    except LedgerFailure:
        life.noticed += 1
    _replace(ledger, right)


def _replace(ledger, content) -> None:
    for remains in ledger.parent.glob(f"{ledger.name}-*"):
        remains.unlink()
    ledger.write_bytes(content)


def _killed_append(ledger, name, data, countdown) -> bool:
    """Append in a process of its own, which kills itself at that statement to a database."""
    given = [sys.executable, __file__, "append", str(ledger), name, str(data), str(countdown)]
    return subprocess.run(given, check=False, capture_output=True).returncode == -9


def _append_and_die(ledger, name, data, countdown) -> None:
    """What the process does."""
    left = [int(countdown)]

    class Deadly(sqlite3.Connection):
        def execute(self, *given):
            left[0] -= 1
            if left[0] <= 0:
                os.kill(os.getpid(), 9)
            return super().execute(*given)

    connect = sqlite3.connect
    sqlite3.connect = lambda *given, **more: connect(*given, **{"factory": Deadly, **more})
    with Registry() as registry:
        arrival = Arrival(name=name, data=Path(data), person="person", by=SIGNED)
        append_block(registry, Path(ledger), arrival)


class _Restarting:
    """Owners that are killed now and then between charge and answer, and asked the same again."""

    def __init__(self, homes, life, dice):
        self.homes, self.life, self.asked, self.open = homes, life, int(dice.integers(3)), {}

    def ask(self, query):
        if query.owner not in self.open:
            self._start(query.owner)
        owner, ledger = self.open[query.owner]
        self.asked += 1
        if self.asked % 3 == 0:
            ledger.store, self.life.interrupted = self._die, self.life.interrupted + 1
            try:
                InProcessTransport([owner]).ask(query)
            except Killed:
                ledger.close()
                owner, ledger = self._start(query.owner)
        return InProcessTransport([owner]).ask(query)

    def _start(self, name):
        home, prepared = self.homes[name]
        ledger = home.open_ledger()
        self.open[name] = home.open_owner(ledger, prepared), ledger
        return self.open[name]

    def _die(self, *_given):
        raise Killed

    def close(self):
        for _, ledger in self.open.values():
            ledger.close()


def _train(setup, life, folder, study, found, month, dice) -> None:
    """The study of a month: every owner joins with the blocks that can pay, and answers."""
    homes, text = {}, study
    study = read_study(text)
    for number in range(setup.owners):
        ledger = folder / f"owner-{number}.sqlite"
        home = _join(folder / f"home-{number}-{month}", f"owner {number}", ledger, text)
        prepared = prepare(home.enrollment, home.study)
        homes[home.enrollment.owner] = home, prepared
    samples = [OwnerSample(name, prepared.sample) for name, (_, prepared) in homes.items()]
    intake = Intake(found.dictionary, found.public, tuple(samples), ())
    spec = TrainingSpec(tuple(home.enrollment.guarantee for home, _ in homes.values()), rule=study.terms.rule)
    ready = plan_from_terms(study.terms, intake, spec)
    transport = _Restarting(homes, life, dice)
    state = ready.rule.begin()
    for iteration in run(Consortium(tuple(homes), (), transport), ready, f"run {month}"):
        state = iteration.state
    transport.close()
    life.models.append(np.asarray(ready.rule.model(state)))
    life.sizes.append(sum(each.sample.records for each in samples))
    life.read.append(samples)
    for number, (home, _) in enumerate(homes.values()):
        _count(life, str(number), home, study.terms.digest())


def _join(folder, name, ledger, text) -> OwnerWorkspace:
    study = read_study(text)
    data = next(iter(sorted(ledger.parent.glob(f"{ledger.stem}-month-*.parquet"))))
    with Registry() as registry:
        joining = settle_joining(registry, registry.lookup(data), Word(SIGNED), None, folder / "ledger.sqlite")
    enrollment = Enrollment(
        owner=name,
        host="127.0.0.1",
        port=4222,
        data=str(data),
        target=None,
        nano_epsilon=round(study.terms.epsilon * 10**9),
        delta=study.terms.delta,
        accountant="pld",
        answers=study.terms.answers,
        rate=1.0,
        ledger=str(joining.ledger),
    )
    reading = joining.choose_reading(enrollment.guarantee, "pld", study.terms)
    enrollment = msgspec.structs.replace(enrollment, reading=reading)
    take = partial(joining.take, name, enrollment.guarantee, "pld")
    home = OwnerWorkspace.create(folder, enrollment, text, {}, take)
    home.approve(SIGNED, "2026-01-01T00:00:00+00:00")
    return home


def _count(life, owner, home, digest) -> None:
    """Whose rows the study has read, by the files alone; and what it has cost, by the ledger's history alone."""
    enrollment = home.enrollment
    if enrollment.reading is None:
        read = set(_people(pl.read_parquet(enrollment.data)))
    else:
        files = files_to_read(Path(enrollment.ledger), enrollment.reading)
        read = {who for table in open_block_files(files, []) for who in _people(table.collect())}
    events = read_history(Path(enrollment.ledger), values=False).events
    price = sum(round(event.epsilon * 10**9) for event in events if event.terms == digest and event.epsilon)
    for who in read:
        life.losses[owner, who] += price


if __name__ == "__main__":
    _append_and_die(*sys.argv[2:])
