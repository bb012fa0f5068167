"""What privacy, durability and identity cost on the wire: iterations per second against bare request and reply.

Learner, broker and owners are processes of their own with mutual TLS on loopback. An iteration is all of it: choose an
owner, put the intention on record, ask; the owner checks, charges its ledger, computes, adds secure noise, stores and
answers; the learner absorbs. Bare: the same client, broker and certificates echo as many bytes.
"""

import asyncio
import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.owners_elsewhere import ECHO
from benchmarks.side_by_side import take_turns, tell
from copriv.learner.checkpoint import Checkpoint
from copriv.learner.learner import Session, train_live
from copriv.learner.roster import Roster, rule_of
from copriv.learner.scrutiny import demands_of
from copriv.owner.sqlite_ledger import connect as connect_durably
from copriv.protocol.commitment import commitment_of
from copriv.protocol.messages import Query
from copriv.protocol.plain_terms import plain_terms
from copriv.protocol.study_file import StudyFile, dictionary_digest, write_study
from copriv.protocol.wire import encode
from copriv.rules.paper import PaperState
from copriv.runtime.rehearsal import learner_of, make_quarters
from copriv.transport import subjects
from copriv.transport.learner_workspace import LearnerWorkspace
from copriv.transport.link import connect
from copriv.transport.nats_learner import NatsLearner

# FACTS of the field, quoted: Flower 1.41, three clients on loopback, ten numbers a message, iterations a second.
FLOWER_SIMULATION, FLOWER_SUPERLINK = 9.9, 0.19
BATCH, ROUNDS = 150, 15
DICTIONARY: dict[str, object] = {"columns": []}
TERMS = plain_terms(
    parameters=10,
    limit=1.0,
    horizon=10**6,
    step=0.01,
    dictionary=dictionary_digest(DICTIONARY),
    answers=100_000,
)


def main() -> None:
    """Print both tables."""
    compare_with_bare()
    compare_crowds()


def compare_with_bare() -> None:
    """Three owner processes: iterations end to end and bare request and reply, in turns."""
    with tempfile.TemporaryDirectory() as folder, _consortium(Path(folder), 3, 3, 10_000) as (learner, quarters, _):
        iterations = _iterations(learner, Path(folder))
        with asyncio.Runner() as runner, ExitStack() as stack:
            echo = Bare(quarters, runner)
            stack.callback(echo.close)
            disk = Disk(Path(folder) / "disk.sqlite")
            stack.callback(disk.close)
            contenders = {"bare": echo.ask, "copriv": lambda: _advance(iterations, BATCH), "disk": disk.commit}
            seconds = take_turns(contenders, ROUNDS)
    bare, ours = BATCH / seconds["bare"], BATCH / seconds["copriv"]
    floor = BATCH / (seconds["bare"] + seconds["disk"])
    rows = [
        ("bare NATS request–reply, mutual TLS", bare, 1.0, "measured"),
        ("the same, and two commits of SQLite", floor, floor / bare, "added up"),
        ("copriv, end to end", ours, ours / bare, "measured"),
        ("Flower 1.41, simulation engine", FLOWER_SIMULATION, FLOWER_SIMULATION / bare, "quoted"),
        ("Flower 1.41, SuperLink and SuperNodes", FLOWER_SUPERLINK, FLOWER_SUPERLINK / bare, "quoted"),
    ]
    tell(
        "consortium",
        f"three owner processes with 10,000 × 10 records each; medians of {ROUNDS} rounds of {BATCH}, taken in turns; "
        "end to end: secure Laplace noise, durable ledgers (two commits an answer) and checkpoint (one commit, beside "
        f"the query); copriv is {ours / FLOWER_SIMULATION:.0f} × Flower's simulation engine and "
        f"{ours / FLOWER_SUPERLINK:,.0f} × its SuperLink deployment, both quoted from a run elsewhere (`python -m "
        "benchmarks flower` runs them here)",
        ["one query at a time", "per second", "ratio to bare", "figure"],
        rows,
    )


def compare_crowds() -> None:
    """10, 100 and 1,000 owners on one broker, in two processes."""
    rows = []
    for owners in (10, 100, 1000):
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            with _consortium(Path(folder), owners, 2, 100) as (learner, _, memory):
                gathered = time.perf_counter() - began
                iterations = _iterations(learner, Path(folder))
                _advance(iterations, 50)
                began = time.perf_counter()
                _advance(iterations, BATCH)
                rate = BATCH / (time.perf_counter() - began)
                rows.append((owners, rate, memory / owners / 1024, gathered))
    tell(
        "crowd",
        f"{BATCH} iterations end to end with 100 × 10 records an owner, owners in two processes, each with its own "
        "certificate, link and durable ledger; memory: growth of the owners' processes over their start",
        ["owners", "iterations per second", "KiB an owner", "seconds to gather all"],
        rows,
    )


@contextmanager
def _consortium(
    folder: Path, owners: int, processes: int, records: int
) -> Iterator[tuple[NatsLearner, LearnerWorkspace, int]]:
    """A broker, owners in processes of their own, and a learner that knows them; and what the owners take of memory."""
    names = [f"owner-{place:04d}" for place in range(owners)]
    quarters = make_quarters(folder / "quarters", write_study(StudyFile(TERMS, DICTIONARY)), names)
    with quarters.start_broker(), ExitStack() as stack:
        started = [_start(quarters, records, names[first::processes]) for first in range(processes)]
        stack.callback(lambda: [process.wait() for process in started])
        stack.callback(lambda: [process.kill() for process in started])
        told = [json.loads(process.stdout.readline()) for process in started if process.stdout is not None]
        with learner_of(quarters, TERMS) as learner:
            present = learner.gather(lambda present: len(present) == owners)
            learner.begin({name: present[name] for name in names})
            yield learner, quarters, sum(each["after"] - each["before"] for each in told)


def _start(quarters: LearnerWorkspace, records: int, names: list[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.owners_elsewhere", str(quarters.folder), str(records), *names]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own module


def _iterations(learner: NatsLearner, folder: Path) -> Iterator[None]:
    """An endless run with its checkpoint on disk."""
    roster = Roster.of(learner.present)
    checkpoint = Checkpoint.create(folder / "checkpoint.sqlite", run="bench", terms="t", schedule="s")
    rule = rule_of(TERMS, roster)
    parameters = TERMS.parameters
    demands = {
        hello.owner: demands_of(commitment_of(hello, TERMS).parts, parameters=parameters, records=hello.records)
        for hello in roster.owners
    }
    learning: Session[PaperState] = Session(rule, roster.names, TERMS.digest(), checkpoint.run, demands)
    for iteration in train_live(learning, learner, learner, checkpoint, horizon=TERMS.horizon):
        if iteration.refusal is not None:
            raise SystemExit(f"{iteration.refusal.owner} refuses: {iteration.refusal.text}")
        checkpoint.hold(rule, iteration)
        yield


def _advance(iterations: Iterator[None], count: int) -> None:
    for _ in itertools.islice(iterations, count):
        pass


class Disk:
    """What durability alone takes: as many transactions of one small row as answers need, with a ledger's settings."""

    def __init__(self, path: Path) -> None:
        path.touch()
        self._connection = connect_durably(path)
        self._connection.execute("CREATE TABLE row (data BLOB)")

    def commit(self) -> None:
        """Two transactions for each request of a batch."""
        for _ in range(2 * BATCH):
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute("INSERT INTO row VALUES (zeroblob(300))")
            self._connection.execute("COMMIT")

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()


class Bare:
    """Request and reply and nothing else, in the learner's name, with a query's bytes."""

    def __init__(self, quarters: LearnerWorkspace, runner: asyncio.Runner) -> None:
        link = quarters.link()
        self._runner, self._names = runner, quarters.invited()
        self._stack = connect(link, link.context())
        self._session = runner.get_loop().run_until_complete(self._stack.__aenter__())
        self._data = encode(Query("bench:1", TERMS.digest(), self._names[0], (0.123456789,) * TERMS.parameters))

    def ask(self) -> None:
        """A batch of requests, one after the other, to one owner after the other."""
        self._runner.get_loop().run_until_complete(self._ask())

    async def _ask(self) -> None:
        for name in itertools.islice(itertools.cycle(self._names), BATCH):
            if await self._session.request(subjects.query(name, ECHO), self._data, 10) is None:
                raise SystemExit("an echo was lost")

    def close(self) -> None:
        """Hang up."""
        self._runner.get_loop().run_until_complete(self._stack.__aexit__(None, None, None))
