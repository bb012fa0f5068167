"""What `copriv owner status` tells: what is promised, spent and left, and the last contact."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from copriv.owner.block_sheet import BlockShown, show_blocks
from copriv.owner.pause import Pause, pause, read_pause, resume
from copriv.owner.remaining import Remaining, remaining
from copriv.owner.workspace import OwnerWorkspace, commitment_of
from copriv.privacy.guarantee import ADJACENCY
from copriv.privacy.weakness import weakness
from copriv.runtime.owner_request import expiries_of
from copriv.transport.expiry import Expiry


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
    paused: Pause | None = None
    blocks: list[BlockShown] = []
    reads: tuple[str, ...] = ()


class PauseTold(msgspec.Struct):
    """Whether an owner is paused, and since when and by whom."""

    owner: str
    paused: Pause | None


def pause_owner(folder: Path, by: str) -> PauseTold:
    """Have the owner of a folder answer nothing from now on."""
    owner = OwnerWorkspace(folder).enrollment.owner
    pause(folder, Pause(datetime.now(UTC).isoformat(timespec="seconds"), by))
    return PauseTold(owner, read_pause(folder))


def resume_owner(folder: Path) -> PauseTold:
    """Have it answer again."""
    owner = OwnerWorkspace(folder).enrollment.owner
    resume(folder)
    return PauseTold(owner, read_pause(folder))


def owner_status(home: OwnerWorkspace) -> OwnerStatus:
    """Where the owner of a folder stands."""
    enrollment, terms = home.enrollment, home.study.terms
    guarantee, (left, blocks) = enrollment.guarantee, _remaining(home)
    contact, approval = home.last_contact(), home.approval()
    return OwnerStatus(
        owner=enrollment.owner,
        study=terms.name,
        terms=terms.digest(),
        approved=home.is_approved(),
        epsilon=guarantee.epsilon,
        epsilon_spent=left.epsilon_spent,
        epsilon_left=left.epsilon_left,
        delta=guarantee.delta,
        unit=terms.unit_words,
        adjacency=ADJACENCY,
        answers=left.answers,
        answers_left=left.answers_left,
        broker=f"{enrollment.host}:{enrollment.port}",
        last_contact=None if contact is None else contact.at,
        last_word=None if contact is None else contact.words,
        model=(home.folder / "model.json").is_file(),
        learner=terms.learner,
        weakness=weakness(guarantee, approval.records if approval else None),
        certificates=expiries_of(home.folder),
        paused=read_pause(home.folder),
        blocks=blocks,
        reads=enrollment.blocks,
    )


def _remaining(home: OwnerWorkspace) -> tuple[Remaining, list[BlockShown]]:
    """What is left of the promise, and the blocks; prices of answers hardly depend on how many records there are."""
    approval, terms = home.approval(), home.study.terms
    commitment = commitment_of(home.enrollment, terms, (approval.records if approval else 0) or 1)
    with closing(home.open_ledger()) as ledger:
        state = ledger.state()
        return remaining(state, ledger.entries(), commitment, terms.digest()), show_blocks(state)
