"""Who is connected, waited for, done and expelled: kept in the learner's folder for `copriv learner status`.

It follows from the events of a run alone. Every change replaces state.json at once, complete or not at all. The events
themselves go to a diary beside it.
"""

from __future__ import annotations

import fcntl
import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from copriv.errors import BadInput
from copriv.runtime.diary import Diary, write_for_onlookers
from copriv.runtime.events import Done, Waiting
from copriv.runtime.network_events import (
    Arrived,
    Began,
    Expelled,
    Finished,
    NetworkEvent,
    Silent,
    TellNetwork,
    TurnedAway,
)

Stage: TypeAlias = Literal["gathering", "training", "finished", "stopped"]

_LOCK, _STATE = "run.lock", "state.json"


class Out(msgspec.Struct, frozen=True):
    """An owner that is out, and why."""

    owner: str
    why: str


class State(msgspec.Struct, frozen=True):
    """Where a run stands.

    Args:
        at: when this changed last.
        stage: what the learner is at.
        expected: the owners that are invited or, once training has begun, take part.
        connected: those that are there, as far as the learner knows.
        done: those that are asked no more.
        expelled: those that were caught lying.
        turned_away: those that said hello and have no place.
    """

    at: str = ""
    stage: Stage = "gathering"
    expected: tuple[str, ...] = ()
    connected: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    expelled: tuple[Out, ...] = ()
    turned_away: tuple[str, ...] = ()

    @property
    def waited_for(self) -> tuple[str, ...]:
        """Those that are expected, and are not there.

        >>> State(expected=("a", "b", "c"), connected=("b",), done=("c",)).waited_for
        ('a',)
        """
        if self.stage in {"finished", "stopped"}:
            return ()
        there = {*self.connected, *self.done, *(out.owner for out in self.expelled)}
        return tuple(name for name in self.expected if name not in there)


def after(state: State, event: NetworkEvent) -> State:
    """What an event makes of a state.

    >>> after(State(expected=("a", "b")), Arrived("b")).connected
    ('b',)
    """
    change = msgspec.structs.replace
    match event:
        case Began(owners):
            return change(state, stage="training", expected=owners)
        case Arrived(owner):
            return change(
                state, connected=_with(state.connected, owner), turned_away=_without(state.turned_away, owner)
            )
        case Silent(owner):
            return change(state, connected=_without(state.connected, owner))
        case TurnedAway(owner):
            return change(state, turned_away=_with(state.turned_away, owner))
        case Finished(owner):
            return change(state, done=_with(state.done, owner))
        case Expelled(_, owner, words):
            known = [out for out in state.expelled if out.owner != owner]
            return change(state, expelled=(*known, Out(owner, words)), connected=_without(state.connected, owner))
        case Done():
            out = {each.owner for each in state.expelled}
            return change(state, stage="finished", done=tuple(name for name in state.expected if name not in out))
        case _:
            return state


def now() -> str:
    """The time, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Board:
    """Takes note of every event, keeps state.json, and passes the event on; a change in who is waited for is told, too.

    Args:
        folder: the learner's.
        expected: the owners that are invited.
        tell: is told everything.
        clock: tells the time.
    """

    def __init__(
        self, folder: Path, expected: Iterable[str], tell: TellNetwork, clock: Callable[[], str] = now
    ) -> None:
        self._path, self._tell, self._clock = folder / _STATE, tell, clock
        self._diary = Diary(folder, clock)
        self._one_at_a_time = threading.Lock()
        self.state = State()
        self._take(State(expected=tuple(sorted(expected))))

    def __call__(self, event: NetworkEvent, /) -> None:
        """This has happened."""
        self._tell(event)
        with self._one_at_a_time:
            self._diary.note(event)
            self._take(after(self.state, event))

    def close(self) -> None:
        """The learner stops; unless the study is finished, somebody has to start it again."""
        stage: Stage = "finished" if self.state.stage == "finished" else "stopped"
        with self._one_at_a_time:
            self._take(msgspec.structs.replace(self.state, stage=stage, connected=()))

    def _take(self, state: State) -> None:
        if state == self.state:
            return
        waited, self.state = self.state.waited_for, state
        write_for_onlookers(self._path, msgspec.json.encode(msgspec.structs.replace(state, at=self._clock())))
        if state.waited_for not in {waited, ()}:
            words = "" if state.stage == "gathering" else "the others are met meanwhile"
            waiting = Waiting(state.waited_for, words)
            self._diary.note(waiting)
            self._tell(waiting)


def read_state(folder: Path) -> State | None:
    """Where the last run of a learner's folder stands, or stood when it ended; None if there was none."""
    path = folder / _STATE
    if not path.is_file():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=State)
    except msgspec.DecodeError as problem:
        raise BadInput(
            f"{path} cannot be read: {problem}", remedy="remove it: the next run writes it anew", value=str(path)
        ) from problem


def lock_of(folder: Path) -> Path:
    """The file that a learner at work holds."""
    return folder / _LOCK


def at_work(folder: Path) -> bool:
    """Whether a learner is at work in a folder now."""
    path = lock_of(folder)
    if not path.is_file():
        return False
    with path.open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        return False


def _with(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    return names if name in names else (*names, name)


def _without(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    return tuple(each for each in names if each != name)
