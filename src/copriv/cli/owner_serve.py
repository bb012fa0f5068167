"""What `copriv owner serve` does: dial out, answer, remember, and keep the model that comes of it."""

from __future__ import annotations

import asyncio
import fcntl
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import typer
from rich.console import Console

from copriv.cli.progress import bar, heed_termination
from copriv.entropy import secure
from copriv.errors import CoprivError
from copriv.owner.joining import require_registered
from copriv.owner.owner import Owner
from copriv.owner.registry import Registry
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.owner.workspace import Contact, Enrollment, OwnerWorkspace, prepare
from copriv.protocol.meeting import VERSION, Hello
from copriv.protocol.terms import Terms
from copriv.protocol.text import plain
from copriv.records.dictionary import Dictionary
from copriv.report.model_file import ModelFile, Promised
from copriv.report.network_run import write_afresh
from copriv.transport import subjects
from copriv.transport.certificates import require_valid
from copriv.transport.credentials import read_credentials
from copriv.transport.link import Link
from copriv.transport.nats_owner import OwnerEndpoint, serve
from copriv.transport.renewal import Renewals

_SECONDS_BETWEEN_NOTES = 1.0
_LONGEST_WORDS = 1000


def run_serve(folder: Path, *, as_json: bool) -> None:
    """The whole of `copriv owner serve`."""
    heed_termination()
    home, console = OwnerWorkspace(folder), Console(stderr=True)
    home.require_approved()
    require_valid(read_credentials(folder / "owner.key").certificate, datetime.now(UTC))
    with _only_one(folder):
        ledger = home.open_ledger()
        try:
            with Registry() as registry:
                require_registered(registry, Path(home.engagement.data), ledger, Path(home.engagement.ledger))
            with bar(console, "reading your records") as tell:
                prepared = prepare(home.engagement, home.study, tell)
            owner, records = home.open_owner(ledger, prepared), prepared.sample.records
            model = asyncio.run(answer(home, owner, records, Log(home, ledger, console)))
        finally:
            ledger.close()
    _keep_model(home, model)
    told = {"owner": home.engagement.owner, "study": home.study.terms.name, "model": str(folder / "model.json")}
    words = f"the study has ended; its model is {told['model']}\nnext: copriv owner verdict --folder {folder}"
    typer.echo(msgspec.json.encode(told).decode() if as_json else words)


async def answer(home: OwnerWorkspace, owner: Owner, records: int, log: Log) -> tuple[float, ...]:
    """Answer until the study ends, and return its model."""
    terms, chance, link = home.study.terms, secure(), link_of(home)
    desk = OwnerEndpoint(
        hello=hello_of(home.engagement, terms, records, f"{chance.getrandbits(64):016x}", log.ledger.book().id),
        handle=owner.handle,
        meeting=terms.meeting,
        clock=terms.clock,
        wait=lambda: chance.expovariate(home.engagement.rate),
        jitter=chance.random,
        tell=log.tell,
        contact=log.contact,
        witnesses=log.ledger.witnesses,
        attend=Renewals(home.engagement.owner, link, chance.random, log.tell).attend,
    )
    return await serve(desk, link)


def hello_of(engagement: Enrollment, terms: Terms, records: int, instance: str, ledger: str) -> Hello:
    """What the learner may know of an owner."""
    return Hello(
        terms=terms.digest(),
        owner=engagement.owner,
        instance=instance,
        records=records,
        nano_epsilon=engagement.nano_epsilon,
        delta=engagement.delta,
        accountant=engagement.accountant,
        answers=engagement.answers,
        rate=engagement.rate if terms.clock == "poisson" else 0.0,
        ledger=ledger,
        version=VERSION,
    )


def link_of(home: OwnerWorkspace) -> Link:
    """How an owner reaches the broker."""
    engagement, folder = home.engagement, home.folder
    files = (folder / "owner.key", folder / "authority.pem")
    return Link(engagement.host, engagement.port, *files, subjects.inbox(engagement.owner))


@dataclass(slots=True)
class Log:
    """What happens, on the terminal and, now and then, in the folder."""

    home: OwnerWorkspace
    ledger: SqliteLedger
    console: Console
    answered: int = 0
    last_words: str = ""
    last_note: float = field(default_factory=lambda: -_SECONDS_BETWEEN_NOTES)

    def tell(self, words: str) -> None:
        """Something changed."""
        if words != self.last_words:
            shown = plain(words, most=_LONGEST_WORDS)
            line = f"{datetime.now().astimezone():%H:%M:%S} {shown}"
            self.console.print(line, style="dim", highlight=False, markup=False)
            self.last_words = words
            self._note(shown)

    def contact(self) -> None:
        """A query was answered."""
        self.answered += 1
        self.last_words = ""
        if time.monotonic() - self.last_note >= _SECONDS_BETWEEN_NOTES:
            self._note(f"{self.answered} queries in this session")
            if self.console.is_terminal:
                book = self.ledger.book()
                shares = [account.spent / account.budget.nano for account in book.accounts.values()]
                spent = f"{max(shares):.1%} of the ledger's budget"
                self.console.print(f"{self.answered} queries in this session, {spent} spent", end="\r")

    def _note(self, words: str) -> None:
        self.last_note = time.monotonic()
        self.home.note_contact(Contact(datetime.now(UTC).isoformat(timespec="seconds"), words))


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    with (folder / "serve.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            raise CoprivError(
                f"an owner serves from {folder} already", remedy="let it run, or stop it first", value=str(folder)
            ) from problem
        yield


def _keep_model(home: OwnerWorkspace, theta: tuple[float, ...]) -> None:
    """The joint model, so that it can be judged and used at home."""
    if len(theta) != home.study.terms.parameters or not all(map(math.isfinite, theta)):
        raise CoprivError(
            f"the study has ended, and what the learner gave as its model is not {home.study.terms.parameters} numbers",
            remedy="ask whoever runs the learner",
            value=len(theta),
        )
    engagement = home.engagement
    promised = (Promised(engagement.owner, engagement.guarantee.epsilon, engagement.delta),)
    dictionary = Dictionary.from_study(home.study.dictionary)
    write_afresh(ModelFile(theta, home.study.terms, dictionary, promised, "secure"), home.folder / "model.json")
