"""What the page of a study shows, as plain values: the page and its JSON are made of the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from copriv.errors import BadInput
from copriv.privacy.guarantee import ADJACENCY, UNIT
from copriv.runtime.events import Predicted

# In this order places are counted and sorted, with a sign that needs no colour.
PLACES = {
    "connected": "●",
    "waited for": "○",
    "done": "✓",
    "expelled": "✕",
    "revoked": "✕",
    "turned away": "–",
    "invited": "·",
}
SORTS = ("owner", "place", "answers", "refused", "silence", "left", "days")
PER_PAGE = 50
_MOST_PER_PAGE = 1000
_LONGEST_SEARCH = 200


class OwnerRow(msgspec.Struct):
    """One owner.

    Args:
        owner: its name.
        place: connected, waited for, done, expelled, revoked, turned away or invited.
        why: why it is out, or what it said when it refused last.
        answers: how many it has given.
        refused: how many meetings came to nothing, by reason.
        silence: seconds of the run since it was met last; None if it never was.
        records: how many it says it has; None before it has said hello.
        epsilon: what it promises about any one record (replace-one); with `delta`.
        delta: likewise.
        measure: of `budget` and `left`: ε, or ρ for Gaussian noise.
        budget: what the study may cost it.
        left: what is left of that.
        days: until its certificate ends.
    """

    owner: str
    place: str
    why: str = ""
    answers: int = 0
    refused: dict[str, int] = {}
    silence: float | None = None
    records: int | None = None
    epsilon: float | None = None
    delta: float | None = None
    measure: str = ""
    budget: float | None = None
    left: float | None = None
    days: float | None = None

    @property
    def refusals(self) -> int:
        """How many meetings came to nothing."""
        return sum(self.refused.values())


class Certificate(msgspec.Struct):
    """How long a certificate lasts that is not an owner's."""

    holder: str
    days: float


class LearnerShown(msgspec.Struct, kw_only=True):
    """A study as it stands; `owners` are those of the page that was asked for, out of `matching`.

    Unit and adjacency are those of every ε here. `noise` is secure, or what a simulation had: then nobody is protected.
    """

    study: str
    learner: str
    terms: str
    rule: str
    stage: str
    running: bool
    finished: bool
    meetings: int
    horizon: int
    seconds: float
    seen: str | None
    waited_for: list[str]
    counts: dict[str, int]
    refusals: dict[str, int]
    epsilon: float | None
    delta: float | None
    unit: str = UNIT
    adjacency: str = ADJACENCY
    weakness: str | None = None
    owners: list[OwnerRow] = []
    matching: int = 0
    page: int = 1
    pages: int = 1
    predicted: list[Predicted] = []
    convergence: list[tuple[int, float]] = []
    public_loss: list[tuple[int, float]] = []
    progress: list[tuple[float, int]] = []
    certificates: list[Certificate] = []
    events: list[dict[str, Any]] = []
    notes: list[str] = []
    noise: str = "secure"


@dataclass(frozen=True, slots=True)
class Asked:
    """Which owners somebody wants to see.

    Args:
        q: a part of the name.
        place: only those at this.
        sort: by what.
        down: from the largest to the smallest.
        page: counted from 1.
        per: owners a page.
    """

    q: str = ""
    place: str = ""
    sort: str = "place"
    down: bool = False
    page: int = 1
    per: int = PER_PAGE

    @classmethod
    def read(cls, given: dict[str, str]) -> Asked:
        """From the query of an address.

        Raises:
            BadInput: a value makes no sense.
        """
        known = {"q", "place", "sort", "order", "page", "per"}
        for name, value in given.items():
            allowed = {"sort": SORTS, "order": ("up", "down"), "place": ("", *PLACES)}.get(name)
            if name not in known or (allowed is not None and value not in allowed):
                raise BadInput(f"{name}={value[:_LONGEST_SEARCH]}", remedy=f"use {', '.join(allowed or sorted(known))}")
        page, per = (_number(given, name, default) for name, default in (("page", 1), ("per", PER_PAGE)))
        found = cls(given.get("q", "")[:_LONGEST_SEARCH], given.get("place", ""), given.get("sort", "place"))
        return cls(found.q, found.place, found.sort, given.get("order") == "down", page, min(per, _MOST_PER_PAGE))

    def choose(self, rows: Sequence[OwnerRow]) -> list[OwnerRow]:
        """Those that match, in the order that was asked for."""
        needle = self.q.casefold()
        found = [row for row in rows if needle in row.owner.casefold() and (not self.place or row.place == self.place)]
        return sorted(sorted(found, key=lambda row: row.owner), key=lambda row: _key(row, self.sort), reverse=self.down)


def _key(row: OwnerRow, sort: str) -> Any:  # noqa: ANN401 - whatever is compared
    order = list(PLACES)
    keys = {
        "owner": row.owner,
        "place": order.index(row.place) if row.place in PLACES else len(order),
        "answers": row.answers,
        "refused": row.refusals,
        "silence": math.inf if row.silence is None else row.silence,
        "left": math.inf if row.left is None else row.left,
        "days": math.inf if row.days is None else row.days,
    }
    return keys[sort]


def _number(given: dict[str, str], name: str, default: int) -> int:
    text = given.get(name, str(default))
    if not (text.isascii() and text.isdigit() and int(text[:9]) > 0):
        raise BadInput(f"{name}={text[:20]}", remedy="give a whole number of at least 1", value=text[:20])
    return int(text[:9])
