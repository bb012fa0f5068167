"""One owner's life, from a raw file to the last byte that leaves: join, hello, replies, restarts, log, statement.

All of it is the owner's own code over real files and a real ledger. Two things are not as in production, and only here:
receipts and the ledger's id are fixed instead of drawn, and the noisy values of an answer are replaced by how many they
are and whether they are finite. A ledger's salt stays random, because it may not leave at all.
"""

from __future__ import annotations

import hashlib
import io
import logging
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TextIO, TypeAlias

import msgspec
import numpy as np

from copriv.audit.errands import Choice, Errand, models
from copriv.errors import CoprivError
from copriv.losses.sample import Sample
from copriv.owner.dataset_ledger import Word
from copriv.owner.joining import require_registered, settle_joining
from copriv.owner.owner import Owner
from copriv.owner.registry import Registry
from copriv.owner.responder import records_for
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.owner.workspace import Enrollment, OwnerWorkspace, Prepared, prepare
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.commitment import Commitment
from copriv.protocol.meeting import Hello, encode_notice
from copriv.protocol.messages import Answer, Reply
from copriv.protocol.study_file import StudyFile, read_study
from copriv.protocol.terms import Terms
from copriv.protocol.wire import decode_reply
from copriv.records.resources import Resources
from copriv.vectors import FloatArray, Norm

Draw: TypeAlias = Callable[[], str]

NAME = "audited"
_INSTANCE = "0" * 16
_LEDGER = "1" * 64
_SIGNED = "nobody"
_MOST_NUMBERS = 1000
_CLOCK = re.compile(r"\d\d:\d\d:\d\d")


class Said(NamedTuple):
    """Something that left: where it belongs, and what it was."""

    where: str
    what: object


class Exact(NamedTuple):
    """An exact answer, which never leaves, and how far one record may move it."""

    where: str
    values: FloatArray
    sensitivity: float
    norm: Norm


class Log(Protocol):
    """What an owner notes while it serves."""

    def tell(self, words: str) -> None:
        """Something changed."""

    def contact(self, reply: bytes) -> None:
        """A query was replied to, with this."""


class Prepare(Protocol):
    """Reads the records and works out the promise."""

    def __call__(self, enrollment: Enrollment, study: StudyFile, *, resources: Resources | None = None) -> Prepared:
        """An owner's side of a study; with other resources, records may be read anew for every answer."""


@dataclass(frozen=True, slots=True)
class House:
    """Every function that has a say in what leaves an owner; a broken twin has one of its own.

    Args:
        hello: what the learner is told of an owner.
        state: what is passed on about the study.
        log: what is written down while an owner serves, to a text.
        metrics: what its page gives to those that count, times left out.
        prepare: reads the records and works out the promise.
        open_ledger: the ledger of an owner's folder, with receipts as drawn.
        handle: query in, reply out.
    """

    hello: Callable[[Enrollment, Terms, int, str, str], Hello]
    state: Callable[[StudyFile, Hello, Sequence[Reply]], bytes]
    log: Callable[[OwnerWorkspace, SqliteLedger, TextIO], Log]
    metrics: Callable[[OwnerWorkspace, SqliteLedger, Log], str]
    prepare: Prepare = prepare
    open_ledger: Callable[[OwnerWorkspace, Draw], SqliteLedger] = OwnerWorkspace.open_ledger
    handle: Callable[[Owner, bytes], bytes] = Owner.handle


@dataclass(slots=True)
class Life:
    """What left an owner, in order; and, at home, whether it joined, its records as rows, and its exact answers."""

    said: list[Said] = field(default_factory=list)
    exact: list[Exact] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    joined: bool = False
    rows: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    divided: bool = False

    def say(self, where: str, what: object) -> None:
        """Something leaves."""
        self.said.append(Said(where, what))


def receipt(number: int) -> str:
    """The receipt that an audited owner gives to its answer of this number, counted from 0."""
    return hashlib.sha256(f"receipt {number}".encode()).hexdigest()


def live(
    house: House,
    folder: Path,
    data: Path,
    study: str,
    errands: Callable[[Terms, str, Sequence[Choice]], list[Errand]],
) -> Life:
    """Join a study with a file, answer, restart, state; whatever fails is part of what is seen."""
    life = Life()
    try:
        _live(house, life, folder, data, study, errands)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as problem:  # noqa: BLE001 - a panic of polars is no Exception, and others would see it too
        life.say("serve" if life.joined else "join", _complaint(problem, folder, data))
    return life


def _live(
    house: House,
    life: Life,
    folder: Path,
    data: Path,
    study: str,
    errands: Callable[[Terms, str, Sequence[Choice]], list[Errand]],
) -> None:
    terms = read_study(study).terms
    prepared = _join(house, folder, data, study)
    life.joined = True
    life.say("join", "joined")
    life.exact += _exact_answers(prepared)
    sides = [prepared.sample] if prepared.held_back is None else [prepared.sample, prepared.held_back]
    life.rows = np.hstack([rows for side in sides for rows in side.each(_rows)]).T
    life.divided = prepared.held_back is not None
    choices = choices_of(prepared.commitment)
    hello = _serve(house, life, folder, errands(terms, NAME, choices))
    life.say("statement", house.state(prepared.study, hello, life.replies))


def choices_of(commitment: Commitment) -> list[Choice]:
    """What may be asked for, the cheapest of every kind first: what follows finds the budget spent.

    After its coarsest gradient comes what makes that finer by one level.
    """
    cheapest = {part.kind: part.share for part in reversed(commitment.parts)}
    parts = sorted(commitment.parts, key=lambda part: part.share > cheapest[part.kind])
    choices: list[Choice] = [(part.kind, part.share, 0) for part in parts]
    levels = commitment.levels("gradient", 0)
    steps = [fine.after(coarse) for fine, coarse in pairwise(levels)]
    choices[1:1] = [(step.kind, step.share, step.before) for step in steps[-1:] if step is not None]
    return choices


def _rows(sample: Sample) -> FloatArray:
    return sample.by_record(np.vstack([sample.columns, sample.targets, sample.offsets.reshape(-1, sample.rows)]))


def _join(house: House, folder: Path, data: Path, study: str) -> Prepared:
    """Read, recognise, approve, and make folder and ledger, as `copriv owner join` does."""
    found = read_study(study)
    enrollment = _engage(found.terms, data, folder / "ledger.sqlite")
    prepared = house.prepare(enrollment, found)
    with Registry() as registry:
        joining = settle_joining(registry, registry.lookup(data), Word(_SIGNED), None, folder / "ledger.sqlite")
    joining.choose_reading(enrollment.guarantee, enrollment.accountant, found.terms)
    take = partial(joining.take, NAME, enrollment.guarantee, enrollment.accountant, lambda: _LEDGER)
    home = OwnerWorkspace.create(folder, enrollment, study, {}, take)
    home.approve(_SIGNED, "2026-01-01T00:00:00+00:00", prepared.sample.records)
    return prepared


def _engage(terms: Terms, data: Path, ledger: Path) -> Enrollment:
    guarantee = Guarantee.of(f"{terms.epsilon:.9f}", terms.delta)
    return Enrollment(
        owner=NAME,
        host="127.0.0.1",
        port=4222,
        data=str(data),
        target=None,
        nano_epsilon=guarantee.nano_epsilon,
        delta=guarantee.delta,
        accountant="zcdp",
        answers=terms.answers,
        rate=1.0,
        ledger=str(ledger),
    )


def _serve(house: House, life: Life, folder: Path, errands: list[Errand]) -> Hello:
    """Answer from a folder that is opened afresh at every restart, as `copriv owner serve` does."""
    drawn = iter(range(1 << 62))
    shifts: list[list[bytes]] = [[]]
    for errand in errands:
        if isinstance(errand, bytes):
            shifts[-1].append(errand)
        else:
            shifts.append([])
    for number, shift in enumerate(shifts, start=1):
        hello = _serve_once(house, life, folder, shift, number, lambda: receipt(next(drawn)))
    return hello


def _serve_once(house: House, life: Life, folder: Path, shift: list[bytes], number: int, draw: Draw) -> Hello:
    home, written = OwnerWorkspace(folder), io.StringIO()
    home.require_approved()
    with _overhear(written):
        ledger = house.open_ledger(home, draw)
        try:
            with Registry() as registry:
                require_registered(registry, Path(home.enrollment.data), ledger, Path(home.enrollment.ledger))
            prepared = house.prepare(home.enrollment, home.study)
            owner, log = home.open_owner(ledger, prepared), house.log(home, ledger, written)
            hello = house.hello(
                home.enrollment, home.study.terms, prepared.sample.records, _INSTANCE, ledger.state().id
            )
            _note_hello(life, f"hello {number}", hello)
            log.tell("connected to the broker")
            for place, query in enumerate(shift, start=1):
                reply = house.handle(owner, query)
                _note_reply(life, f"reply {number}.{place}", reply)
                log.contact(reply)
            life.say(f"metrics {number}", house.metrics(home, ledger, log))
        finally:
            ledger.close()
    life.say(f"log {number}", _CLOCK.sub("now", written.getvalue()))
    return hello


@contextmanager
def _overhear(written: TextIO) -> Iterator[None]:
    """Whatever any part of an owner logs or warns of belongs to its log."""
    handler, root = logging.StreamHandler(written), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            yield
        written.writelines(f"{warning.category.__name__}: {warning.message}\n" for warning in warned)
    finally:
        root.setLevel(level)
        root.removeHandler(handler)


def _note_hello(life: Life, where: str, hello: Hello) -> None:
    life.say(f"{where}: bytes", len(encode_notice(hello)))
    for name, value in msgspec.structs.asdict(hello).items():
        life.say(f"{where}: {name}", value)


def _note_reply(life: Life, where: str, data: bytes) -> None:
    """A reply: its length, and every field of it, with noisy values masked."""
    life.say(f"{where}: bytes", len(data))
    reply = decode_reply(data)
    life.replies.append(reply)
    fields: dict[str, Any] = msgspec.structs.asdict(reply)
    if isinstance(reply, Answer):
        fields["values"] = ["finite" if np.isfinite(value) else "not finite" for value in reply.values]
    life.say(f"{where}: kind", type(reply).__name__)
    for name, value in fields.items():
        life.say(f"{where}: {name}", value)


def _exact_answers(prepared: Prepared) -> list[Exact]:
    """What the noise is added to, at every model, of every kind of question."""
    found: list[Exact] = []
    if prepared.study.terms.parameters > _MOST_NUMBERS:
        return found
    for part in prepared.commitment.parts:
        for place, theta in enumerate(models(prepared.study.terms)):
            values = part.exact(records_for(part.kind, prepared.sample, prepared.held_back), np.asarray(theta))
            where = f"exact {part.kind} {part.share} {place}" if part.share else f"exact {part.kind} {place}"
            found.append(Exact(where, values, part.sensitivity.value, part.sensitivity.norm))
    return found


def _complaint(problem: BaseException, folder: Path, data: Path) -> str:
    """What an error says, wherever the files happen to lie."""
    words = f"{problem.problem} · {problem.remedy}" if isinstance(problem, CoprivError) else str(problem)
    for place in (str(data.parent), str(folder)):
        words = words.replace(place, "…")
    return f"{type(problem).__name__}: {words}"
