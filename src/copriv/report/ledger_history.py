"""What happened in a ledger, in order, as people read it: who asked what and when, what it cost, and what was sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec

from copriv.owner.entries import (
    OPEN,
    Answered,
    Block,
    Charge,
    Enrolled,
    Entry,
    Epoch,
    Expired,
    Opening,
    Renewed,
    Version,
)
from copriv.owner.ledger_state import LedgerState
from copriv.owner.owner import study_of
from copriv.owner.payload import read_stored
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import ADJACENCY, NANO, UNIT, Amount
from copriv.privacy.release import Release
from copriv.protocol.text import plain
from copriv.report.menu import at_share, kind_name, told_along

NOT_NAMED = "not named"
NOT_NOTED = "not noted"


class Sent(msgspec.Struct):
    """What left with an answer: noisy numbers, and the noise on them; of a menu, the share in per cents.

    `before` is the level of an earlier answer to the same question, which this one made finer: it has the noise of both
    shares together, and only the difference was paid.
    """

    kind: str
    numbers: int
    mechanism: str
    scale: float
    values: tuple[float, ...] | None
    share: int = 0
    before: int = 0


class LedgerEvent(msgspec.Struct):
    """One thing that happened.

    Args:
        number: of its entry.
        date: in UTC; "before …" or "not noted" if the ledger is from a version that kept no dates.
        event: opened, enrolled, answer, charge (without an answer), epoch, version, block, renewed or expired.
        words: the same for people.
        study: its name.
        learner: who asked.
        terms: the digest of the study's terms.
        epsilon: what it cost or promised, in ε.
        rho: what it cost in ρ.
        delta: what an epoch promises.
        person: who approved or signed off.
        query: the id of the question.
        sent: what left.
        blocks: the blocks that paid, each the whole price; none if the records never arrived in blocks.
    """

    number: int
    date: str
    event: str
    words: str
    study: str = ""
    learner: str = ""
    terms: str = ""
    epsilon: float | None = None
    rho: float | None = None
    delta: float | None = None
    person: str = ""
    query: str = ""
    sent: Sent | None = None
    blocks: tuple[str, ...] = ()


class LedgerHistory(msgspec.Struct):
    """Everything that happened in one ledger."""

    ledger: str
    owner: str
    events: list[LedgerEvent]
    unit: str = UNIT


def read_history(path: Path, *, values: bool) -> LedgerHistory:
    """The history of the ledger in a file; with `values`, also the numbers that left."""
    with closing(SqliteLedger(path)) as ledger:
        state = ledger.state()
        return LedgerHistory(str(path), state.owner, history(ledger, values=values), state.unit_words)


def history_lines(told: LedgerHistory) -> Iterator[str]:
    """The same for a terminal."""
    yield f"the ledger {told.ledger} of {plain(told.owner)}; times are UTC, every price is for any one {told.unit}"
    yield from lines(told.events)


def history(ledger: SqliteLedger, *, values: bool, after: int = 0) -> list[LedgerEvent]:
    """Everything that happened, oldest first, or what did after an entry; with `values`, also the numbers that left."""
    entries, book = list(ledger.entries(after)), ledger.state()
    answers = {entry.body.query: entry for entry in entries if isinstance(entry.body, Answered)}
    before = _undated(entries)
    events = []
    for entry in entries:
        body = entry.body
        if isinstance(body, Charge):
            answer = answers.get(body.query)
            payload = None if answer is None else ledger.answer_to(body.query)
            events.append(_charged(body, entry if answer is None else answer, book, payload, values=values))
        elif isinstance(body, Block | Renewed | Expired):
            events.append(_of_block(entry, body))
        elif not isinstance(body, Answered):
            events.append(_told(entry, body, book.unit_words))
    return [msgspec.structs.replace(event, date=event.date or before) for event in events]


def study_name(book: LedgerState, digest: str) -> str:
    """What people call a study; part of its digest if nobody has said."""
    enrolled = book.enrolled.get(digest)
    return plain(enrolled.name) if enrolled is not None and enrolled.name else f"study {plain(digest)[:12]}"


def learner_name(book: LedgerState, digest: str) -> str:
    """Who asks in a study."""
    enrolled = book.enrolled.get(digest)
    return plain(enrolled.learner) if enrolled is not None and enrolled.learner else NOT_NAMED


def _undated(entries: Iterable[Entry]) -> str:
    """When an entry without a date was made, as far as that is known."""
    first = next((entry.at for entry in entries if entry.at), None)
    return f"before {first[:10]}" if first else NOT_NOTED


def _charged(charge: Charge, dated: Entry, book: LedgerState, payload: bytes | None, *, values: bool) -> LedgerEvent:
    digest, amount = study_of(charge.study), Amount(charge.nano, charge.measure)
    sent, words = (None, "charged, and no answer is kept here")
    if payload is not None:
        sent, words = _sent(payload, _kind(charge.study, book.enrolled.get(digest)), values=values)
    return LedgerEvent(
        number=dated.sequence,
        date=dated.at,
        event="charge" if payload is None else "answer",
        words=f"{amount.words}{_paid(charge.blocks)}: {words}",
        blocks=charge.blocks,
        study=study_name(book, digest),
        learner=learner_name(book, digest),
        terms=digest,
        epsilon=charge.nano / NANO if charge.measure == "epsilon" else None,
        rho=charge.nano / NANO if charge.measure == "rho" else None,
        query=charge.query,
        sent=sent,
    )


def _paid(blocks: tuple[str, ...]) -> str:
    """Which blocks have paid, in words; long lists are cut."""
    if not blocks:
        return ""
    some = ", ".join(map(plain, blocks if len(blocks) < 4 else (blocks[0], "…", blocks[-1])))
    return f" each for {some}" if len(blocks) > 1 else f" for {some}"


def _of_block(entry: Entry, body: Block | Renewed | Expired) -> LedgerEvent:
    by = f"signed off by {plain(body.signed_off_by)}"
    if isinstance(body, Block):
        counted = f"{body.units:,} new {'people' if body.person else 'records'}"
        words = f"{plain(body.name)} has arrived: {counted}, {by}"
        return LedgerEvent(entry.sequence, entry.at, "block", words, person=body.signed_off_by, blocks=(body.name,))
    name, why = plain(body.block), plain(body.why)
    if isinstance(body, Expired):
        words = f"{name} is read no more: {why}; {by}"
        return LedgerEvent(entry.sequence, entry.at, "expired", words, person=body.signed_off_by, blocks=(body.block,))
    words = f"{name} may lose ε = {body.nano_epsilon / NANO:g}, δ = {body.delta:g} in all: {why}; {by}"
    return LedgerEvent(
        number=entry.sequence,
        date=entry.at,
        event="renewed",
        words=words,
        epsilon=body.nano_epsilon / NANO,
        delta=body.delta,
        person=body.signed_off_by,
        blocks=(body.block,),
    )


def _kind(account: str, enrolled: Enrolled | None) -> str:
    for kind in ("loss", "validation"):
        if account.endswith(f":{kind}"):
            return kind_name(kind)
    named = {"gradient": "average gradient", "moments": "average moments"}
    return named.get("" if enrolled is None else enrolled.asks, "average gradient or moments")


def _sent(payload: bytes, kind: str, *, values: bool) -> tuple[Sent | None, str]:
    found = read_stored(payload)
    if found is None:
        return None, f"{len(payload)} bytes were sent that are no answer of this version"
    numbers, release = found.values, found.release
    kind = kind_name(found.kind) if found.kind else kind
    shown = numbers if values else None
    sent = Sent(kind, len(numbers), release.mechanism, release.scale, shown, found.share, found.before)
    many = "number" if len(numbers) == 1 else "numbers"
    return sent, f"{kind}{at_share(found.share, found.before)}, {len(numbers)} {many}, {_noise(release)}"


def _noise(release: Release) -> str:
    return f"{plain(release.mechanism)} noise of scale {release.scale:.3g}"


def _told(entry: Entry, body: Opening | Enrolled | Epoch | Version, unit: str) -> LedgerEvent:
    if isinstance(body, Enrolled):
        return _enrolled(entry, body)
    if isinstance(body, Version):
        words = f"a new version of the records, signed off by {plain(body.signed_off_by)}; the spending stays"
        return LedgerEvent(entry.sequence, entry.at, "version", words, person=body.signed_off_by)
    signed = "" if isinstance(body, Opening) else f", signed off by {plain(body.signed_off_by)}"
    opened = isinstance(body, Opening)
    declared = body.nano_epsilon < OPEN
    commitment = f"ε = {body.nano_epsilon / NANO:g}, δ = {body.delta:g}" if declared else "no budget is declared"
    words = f"{'' if opened else 'a new promise: '}{commitment} for any one {unit} ({ADJACENCY}){signed}"
    return LedgerEvent(
        number=entry.sequence,
        date=entry.at,
        event="opened" if opened else "epoch",
        words=words,
        epsilon=body.nano_epsilon / NANO if declared else None,
        delta=body.delta,
        person="" if isinstance(body, Opening) else body.signed_off_by,
    )


def _enrolled(entry: Entry, body: Enrolled) -> LedgerEvent:
    public = "" if body.public is None else f"; {body.public.words}"
    along = f"; {told_along(body.axes)}" if body.axes else ""
    return LedgerEvent(
        number=entry.sequence,
        date=entry.at,
        event="enrolled",
        words=f"approved by {plain(body.approved_by)}{public}{along}",
        study=plain(body.name) or f"study {plain(body.study)[:12]}",
        learner=plain(body.learner) or NOT_NAMED,
        terms=body.study,
        person=body.approved_by,
    )


def lines(events: Iterable[LedgerEvent]) -> Iterator[str]:
    """The events for a terminal, one a line, and one more for the numbers of an answer if they are there."""
    for event in events:
        asked = f"{event.study}, {event.learner}: " if event.study else ""
        yield f"  {event.date:<25}  {event.event:<8}  {asked}{event.words}"
        if event.sent is not None and event.sent.values is not None:
            yield f"  {'':<37}{' '.join(f'{value:.17g}' for value in event.sent.values)}"
