"""What `copriv owner status` does: what is promised, spent and left, and the last contact."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import msgspec
import typer

from copriv.cli.expiry import Expiry, warnings_of, words_of
from copriv.cli.owner_request import expiries_of
from copriv.cli.study_origin import NOT_NAMED
from copriv.owner.remaining import Remaining, remaining
from copriv.owner.workspace import OwnerWorkspace, commitment_of
from copriv.privacy.guarantee import ADJACENCY, NANO, UNIT, written
from copriv.privacy.weakness import weakness
from copriv.protocol.text import plain, quoted


class OwnerStatus(msgspec.Struct):
    """Where an owner stands, as it is shown."""

    owner: str
    study: str
    terms: str
    approved: bool
    epsilon: float
    epsilon_spent: float
    epsilon_left: float
    delta: float
    unit: str
    adjacency: str
    answers: int
    answers_left: int
    broker: str
    last_contact: str | None
    last_word: str | None
    model: bool
    learner: str
    weakness: str | None
    certificates: list[Expiry]


def run_status(folder: Path, *, as_json: bool) -> None:
    """Show what is promised, spent and left."""
    home = OwnerWorkspace(folder)
    status = _status(home)
    if as_json:
        typer.echo(msgspec.json.encode(status).decode())
        return
    contact = (
        f"{plain(status.last_contact)}: {plain(status.last_word or '', 200)}" if status.last_contact else "none yet"
    )
    for name, value in (
        ("owner", f"{plain(status.owner)} in {quoted(status.study)}{'' if status.approved else ' (NOT APPROVED)'}"),
        ("terms", status.terms),
        ("promised", home.engagement.guarantee.words),
        ("spent", f"ε = {_shown(status.epsilon_spent)}, {status.answers} answers"),
        ("left", f"ε = {_shown(status.epsilon_left)}, {status.answers_left} answers"),
        *([("beware", status.weakness)] if status.weakness else []),
        ("learner", quoted(status.learner) if status.learner else NOT_NAMED),
        ("broker", plain(status.broker, 300)),
        ("contact", contact),
        ("model", "received" if status.model else "not yet"),
        ("keys", ", ".join(f"{kept.holder} {words_of(kept)}" for kept in status.certificates)),
    ):
        typer.echo(f"  {name:<9} {value}")
    for warning in warnings_of(status.certificates, "it renews itself while `copriv owner serve` and the learner run"):
        typer.echo(warning)


def _status(home: OwnerWorkspace) -> OwnerStatus:
    engagement, terms = home.engagement, home.study.terms
    guarantee, left = engagement.guarantee, _remaining(home)
    contact, approval = home.last_contact(), home.approval()
    return OwnerStatus(
        owner=engagement.owner,
        study=terms.name,
        terms=terms.digest(),
        approved=home.is_approved(),
        epsilon=guarantee.epsilon,
        epsilon_spent=left.epsilon_spent,
        epsilon_left=left.epsilon_left,
        delta=guarantee.delta,
        unit=UNIT,
        adjacency=ADJACENCY,
        answers=left.answers,
        answers_left=left.answers_left,
        broker=f"{engagement.host}:{engagement.port}",
        last_contact=None if contact is None else contact.at,
        last_word=None if contact is None else contact.words,
        model=(home.folder / "model.json").is_file(),
        learner=terms.learner,
        weakness=weakness(guarantee, approval.records if approval else None),
        certificates=expiries_of(home.folder),
    )


def _remaining(home: OwnerWorkspace) -> Remaining:
    """What is left of the promise; prices of answers hardly depend on how many records there are."""
    approval, terms = home.approval(), home.study.terms
    commitment = commitment_of(home.engagement, terms, (approval.records if approval else 0) or 1)
    with closing(home.open_ledger()) as ledger:
        return remaining(ledger.book(), ledger.entries(), commitment, terms.digest())


def _shown(epsilon: float) -> str:
    """To the nearest billionth."""
    return written(round(epsilon * NANO))
