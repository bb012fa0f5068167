"""What `copriv learner status` tells: the study, how far it is, and who is connected, waited for, done or out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from typing import Literal, TypeAlias

import msgspec

from copriv.learner.checkpoint import Checkpoint, Entry, Expelled
from copriv.privacy.weakness import weakness_of
from copriv.runtime.learner_board import State, at_work, read_state
from copriv.transport.certificates import fingerprint
from copriv.transport.expiry import Expiry, expiry_of
from copriv.transport.learner_workspace import LearnerWorkspace, Member

Place: TypeAlias = Literal["revoked", "expelled", "done", "connected", "turned away", "waited for", "invited"]


class OwnerSeen(msgspec.Struct):
    """One owner as it is shown; when its certificate ends is not known of folders of earlier versions."""

    owner: str
    invited: str
    revoked: bool
    answers: int
    expires: str | None
    place: Place = "invited"
    why: str = ""


class LearnerStatus(msgspec.Struct):
    """A learner's folder as it is shown.

    `running` says whether a learner is at work now. `seen` is when the last change of who is there was noted, and
    `seconds` how long ago that is; both are null before the first run.
    """

    study: str
    terms: str
    host: str
    port: int
    broker: bool
    meetings: int
    horizon: int
    finished: bool
    owners: list[OwnerSeen]
    weakness: str | None
    certificates: list[Expiry]
    running: bool = False
    stage: str = ""
    seen: str | None = None
    seconds: float | None = None
    waited_for: list[str] = []


def learner_status(quarters: LearnerWorkspace) -> LearnerStatus:
    """Where a learner's folder stands."""
    register, terms = quarters.register(), quarters.study().terms
    log, expelled = _progress(quarters)
    state, running = read_state(quarters.folder), at_work(quarters.folder)
    shown = as_left(state, running=running)
    answers = Counter(entry.owner for entry in log if entry.outcome == "answer")
    certificates = certificates_of(quarters)
    ends = {expiry.holder: expiry.expires for expiry in certificates}
    out = {**{each.owner: each.why for each in shown.expelled}, **{each.owner: each.why for each in expelled}}
    return LearnerStatus(
        study=terms.name,
        terms=terms.digest(),
        host=register.host,
        port=register.port,
        broker=quarters.broker_runs(),
        meetings=len(log),
        horizon=terms.horizon,
        finished=(quarters.folder / "run" / "run.json").is_file(),
        owners=[
            OwnerSeen(
                name,
                member.invited,
                member.revoked,
                answers[name],
                ends.get(name),
                place_of(name, member, shown, out),
                out.get(name, ""),
            )
            for name, member in sorted(register.owners.items())
        ],
        weakness=weakness_of(terms.epsilon, terms.delta),
        certificates=certificates,
        running=running,
        stage=shown.stage if state else "",
        seen=shown.at or None,
        seconds=_age(shown.at),
        waited_for=[name for name in shown.waited_for if name not in out and quarters.admits(name)],
    )


def as_left(state: State | None, *, running: bool) -> State:
    """What is known of a run; of one that was killed, nobody is connected any more."""
    if state is None:
        return State(stage="stopped")
    if running or state.stage == "finished":
        return state
    return msgspec.structs.replace(state, stage="stopped", connected=())


def place_of(name: str, member: Member, state: State, out: Mapping[str, str]) -> Place:
    """What an owner is at; `out` are those that were expelled."""
    places: list[tuple[bool, Place]] = [
        (member.revoked, "revoked"),
        (name in out, "expelled"),
        (name in state.done, "done"),
        (name in state.connected, "connected"),
        (name in state.waited_for, "waited for"),
        (name in state.turned_away, "turned away"),
    ]
    return next((place for holds, place in places if holds), "invited")


def _progress(quarters: LearnerWorkspace) -> tuple[list[Entry], list[Expelled]]:
    """The meetings so far, and who was expelled in them."""
    path = quarters.folder / "run" / "checkpoint.sqlite"
    if not path.is_file():
        return [], []
    with closing(Checkpoint(path)) as checkpoint:
        return checkpoint.log(), checkpoint.expelled()


def _age(at: str) -> float | None:
    return (datetime.now(UTC) - datetime.fromisoformat(at)).total_seconds() if at else None


def certificates_of(quarters: LearnerWorkspace) -> list[Expiry]:
    """Of the authorities, of broker and learner, and the ones that owners use."""
    return [*own_certificates_of(quarters), *owners_certificates_of(quarters)]


def own_certificates_of(quarters: LearnerWorkspace) -> list[Expiry]:
    """Of the authorities, of broker and learner."""
    roots = [(f"authority {fingerprint(root)}", root) for root in quarters.keys.roots()]
    return [expiry_of(*entry) for entry in (*roots, *quarters.keys.own().items())]


def owners_certificates_of(quarters: LearnerWorkspace) -> list[Expiry]:
    """Of the owners; one may be called as the broker is, so these are counted apart."""
    return [expiry_of(name, held[0]) for name in quarters.invited() if (held := quarters.issued.held(name))]
