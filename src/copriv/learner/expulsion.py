"""Taking an owner out: the study as it would be had the owner never been on the roster.

An owner that is caught lying must not leave anything behind. So the rule is set up again for the owners that are left,
and what they have answered is absorbed again: the same answers, in the same order, each with what was asked. No owner
is asked or pays for anything again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from copriv.rules.rule import AnyRule, Ask, learn_from
from copriv.schedule.trace import Meeting
from copriv.vectors import FloatArray

State = TypeVar("State")


def rebuild(rule: AnyRule[State], names: Sequence[str], answers: Iterable[tuple[str, Ask, FloatArray]]) -> State:
    """The state that the answers of these owners lead to; those of others are left out.

    Args:
        rule: for these owners.
        names: the owners, in the order of the rule.
        answers: whose, what was asked, and the numbers, in the order in which they were absorbed.
    """
    places, state = {name: place for place, name in enumerate(names)}, rule.begin()
    for owner, ask, values in answers:
        if owner in places:
            state = learn_from(rule, state, places[owner], values, ask)
    return state


def run_name(run: str, expelled: int) -> str:
    """The name under which queries are asked after some owners were expelled.

    A query that was under way at the time may be known to its owner under an id that is free again, so ids begin anew.

    >>> run_name("c0ffee", 0), run_name("c0ffee", 2)
    ('c0ffee', 'c0ffee.2')
    """
    return f"{run}.{expelled}" if expelled else run


def still_planned(meetings: Iterable[Meeting], names: Sequence[str], expelled: Mapping[str, int]) -> list[Meeting]:
    """A schedule that was known ahead, after some owners were expelled, for the order of those that are left.

    Up to the meeting at which an owner was caught it was met as planned; from there on its meetings are left out.

    Args:
        meetings: as planned.
        names: all owners, in the order of the plan.
        expelled: at which meeting each owner that is out was caught.
    """
    left = {name: place for place, name in enumerate(name for name in names if name not in expelled)}
    planned: list[Meeting] = []
    for meeting in meetings:
        name = names[meeting.owner]
        if name in left or len(planned) < expelled[name]:
            planned.append(Meeting(meeting.time, left.get(name, 0)))
    return planned
