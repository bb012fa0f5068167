"""Kill a learner, start it again from its checkpoint, and compare its model with one replay of the stored answers.

In half of the runs the owners live and die with the learner, in the other half they live elsewhere and the outside is
the wire: it may lose a query or a reply. Half of the runs have a menu, from which the learner chooses kind and share,
and on which it makes an answer finer;
there the last meetings pass, because nothing is left to ask. Whatever the moment of death: the model is to the last bit
what the stored answers give when each is applied once, every question is charged once at its own price, and a run never
goes backwards.
"""

import hashlib
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from pathlib import Path

import msgspec
import numpy as np
import world
from fork_server import KILLED
from learner_life import PLACES
from toll import Toll

from copriv.learner.checkpoint import Checkpoint
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.rules.rule import learn_from, next_ask
from copriv.schedule import poisson
from copriv.schedule.trace import Trace

ANY_MOMENT = "any moment"
ON_THE_WIRE = ("query lost", "reply lost")
MEETINGS = world.TERMS.horizon
ROUNDS = 5


@dataclass
class Run:
    """One run as the outside sees it, over all lives of its learner."""

    folder: Path
    name: str
    trace: Trace
    owners: object
    menu: bool = False
    number: int = 0
    lives: int = 0
    final: bytes | None = None
    pace: float = 0.01
    violations: list = field(default_factory=list)


def torment(fork_server, folder, generator, kills, *, twin=None, tell=lambda: None):
    """Kill learners that many times, run after run; stop at the first broken promise."""
    toll, places = Toll(), cycle((*PLACES, *ON_THE_WIRE, *(ANY_MOMENT,) * 12))
    for number in range(kills):
        run = _begin(
            fork_server, folder / f"run-{number}", generator, elsewhere=number % 2 == 1, menu=number % 4 in (1, 2)
        )
        _torment_one(fork_server, run, generator, places, kills, twin, toll, tell)
        if toll.faults >= kills or toll.violations:
            return toll
    return toll


def _begin(fork_server, folder, generator, *, elsewhere, menu):
    folder.mkdir()
    draw = poisson.in_rounds if menu else partial(poisson.draw, horizon=MEETINGS)
    trace = draw([ROUNDS if menu else 1.0] * len(world.NAMES), generator=generator)
    (folder / "schedule.json").write_bytes(trace.to_json())
    for name in world.NAMES:
        world.make_ledger(folder / f"{name}.sqlite", name)
    Checkpoint.create(folder / "checkpoint.sqlite", run=folder.name, terms="terms", schedule="schedule").close()
    owners = fork_server.start("owner_life:serve_all", folder=str(folder), menu=menu) if elsewhere else None
    return Run(folder, folder.name, trace, owners, menu)


def _torment_one(fork_server, run, generator, places, kills, twin, toll, tell):
    """Life after life until the schedule is done; when there were enough kills, the last life is left alone.

    A run has at most half of the kills: where most come before a meeting, as on a slow machine, the next still has a
    turn.
    """
    most = min(kills, toll.faults + (kills + 1) // 2)
    while run.final is None and not run.violations:
        place = next(places) if toll.faults < most else None
        if run.owners is None and place in ON_THE_WIRE:
            place = ANY_MOMENT
        if _live_and_die(fork_server, run, generator, place, twin):
            toll.faults += 1
            tell()
    if run.owners is not None:
        run.owners.kill()
        run.owners.end()
    toll.violations += run.violations or compare(run)
    toll.counts.update(
        runs=1, lives=run.lives, meetings=run.number, elsewhere=int(run.owners is not None), menus=int(run.menu)
    )


def _live_and_die(fork_server, run, generator, place, twin):
    """One life; whether it was killed before it was done."""
    run.lives += 1
    life = fork_server.start(
        "learner_life:learn",
        folder=str(run.folder),
        run=run.name,
        life=run.lives,
        elsewhere=run.owners is not None,
        menu=run.menu,
        place=place,
        countdown=int(generator.integers(1, 4)),
        twin=twin,
    )
    if place != ANY_MOMENT or generator.random() < 0.8:
        life.receive()
    patience = generator.uniform(0, 3 * run.pace) if place == ANY_MOMENT else 60.0
    _listen(life, run, place, time.perf_counter() + patience)
    life.kill()
    words, code = life.end()
    for data in words:
        _hear(run, data)
    if code != KILLED:
        run.violations.append(f"the learner ended by itself with code {code}")
    return run.final is None


def _listen(life, run, place, deadline):
    """Hear what a life says and carry its queries, until it is dead, done, or its time has come."""
    started = time.perf_counter()
    while (data := life.receive(max(0.0, deadline - time.perf_counter()))) is not None:
        if data[:1] != b"q":
            _hear(run, data)
            run.pace, started = max(0.002, time.perf_counter() - started), time.perf_counter()
        elif place == "query lost" or not _carry(life, run, data[1:], lost=place == "reply lost"):
            return
        if run.final is not None:
            return


def _carry(life, run, query, *, lost):
    run.owners.send(query)
    reply = run.owners.receive()
    if not lost:
        life.send(reply)
    return not lost


def _hear(run, data):
    if data[:1] == b"d":
        run.final = data[1:]
    elif data[:1] == b"k":
        number = int(data[1:])
        if number <= run.number:
            run.violations.append(f"meeting {number} came after meeting {run.number}")
        run.number = number


def compare(run):
    """Every promise that is broken at the end of a run."""
    found, rule = [], rule_of(run)
    with closing(Checkpoint(run.folder / "checkpoint.sqlite")) as checkpoint:
        position, refusals = checkpoint.position(rule), checkpoint.refusals()
    answers, books = {}, {}
    for name in world.NAMES:
        books[name], stored = _read(run.folder / f"{name}.sqlite")
        answers |= stored
    replayed, asked = replay(run, answers)
    for name, book in books.items():
        met = {query: choice for query, (owner, choice) in asked.items() if owner == name}
        if set(book.queries) != set(met) or book.spent != sum(map(world.price, met.values())):
            found.append(f"{name} was asked {len(met)} times and charged {len(book.queries)} queries")
    if position.number != max(int(query.rpartition(":")[2]) for query in asked) or run.final is None:
        found.append(f"the run ended after {position.number} meetings")
    if refusals:
        found.append(f"the learner was refused: {refusals[0]}")
    if run.final != replayed or rule.pack(position.state) != replayed:
        found.append("the model is not what the stored answers give")
    return found


def rule_of(run):
    return world.REFINING if run.menu else world.RULE


def _read(path):
    """The book of a ledger, and for each query its question and the stored numbers."""
    with closing(SqliteLedger(path)) as ledger:
        ledger.verify()
        book = ledger.state()
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT query, bytes FROM payload").fetchall()
    return book, {query: (book.queries[query].question, msgspec.msgpack.decode(data)[0]) for query, data in rows}


def replay(run, answers):
    """Every stored answer applied once, in the order of the schedule, each to what it was asked; and who was asked."""
    rule, terms, asked = rule_of(run), (world.MENU if run.menu else world.TERMS).digest(), {}
    state = rule.begin()
    for number, meeting in enumerate(run.trace, start=1):
        ask = next_ask(rule, state, meeting.owner)
        if ask is None:
            continue
        asked[f"{run.name}:{number}"] = (world.NAMES[meeting.owner], (ask.kind, ask.share, ask.before))
        chosen = f"{terms}:{ask.kind}:{ask.share}" if run.menu else terms
        chosen += f":{ask.before}" if ask.before else ""
        question, values = answers.get(f"{run.name}:{number}", (None, None))
        if question != hashlib.sha256(chosen.encode() + ask.theta.tobytes()).hexdigest():
            return None, asked
        state = learn_from(rule, state, meeting.owner, np.array(values), ask)
    return rule.pack(state), asked
