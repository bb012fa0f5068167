"""A study or a run, looked at from outside: everything is read from what the learner keeps on the disk."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from copriv.dashboard.charts import decimate
from copriv.dashboard.learner_shown import Asked, Certificate, LearnerShown, OwnerRow
from copriv.dashboard.live import Mark, mark_of
from copriv.dashboard.meetings import ANSWER, Meetings
from copriv.learner.public_rows import read_sample
from copriv.learner.roster import Roster, meetings_of
from copriv.losses.sample import Sample
from copriv.privacy.guarantee import NANO, UNIT, Guarantee
from copriv.privacy.weakness import weakness_of
from copriv.protocol.commitment import commitment_of
from copriv.protocol.meeting import Hello
from copriv.protocol.terms import Terms
from copriv.protocol.text import plain
from copriv.runtime.diary import DIARY, read_diary
from copriv.runtime.events import Predicted
from copriv.runtime.learner_board import State, at_work, read_state
from copriv.runtime.learner_status import as_left, own_certificates_of, owners_certificates_of, place_of
from copriv.transport.expiry import Expiry
from copriv.transport.learner_workspace import LearnerWorkspace
from copriv.vectors import FloatArray

MOST_EVENTS = 200
_MOST_POINTS = 400
_MOST_PUBLIC_ROWS = 2_000
_SECONDS_BETWEEN_CERTIFICATES = 30.0
_DAY = 86_400
_LONGEST_NAME, _LONGEST_WORDS = 120, 500


class StudyView:
    """A learner's folder. It remembers what it has read: a memo, and not a value.

    Args:
        folder: where `copriv learner init` has made it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self._quarters = folder, LearnerWorkspace(folder)
        self._study = self._quarters.study()
        self.meetings = Meetings(folder / "run" / "checkpoint.sqlite")
        self._certificates: tuple[float, dict[str, float], dict[str, float]] = (-_SECONDS_BETWEEN_CERTIFICATES, {}, {})
        self._losses: dict[int, float] = {}
        self._public = _public_rows(folder / "public.npz")

    def mark(self) -> Mark:
        """What changes when there is something new to see."""
        run = self.folder / "run"
        names = ("checkpoint.sqlite", "checkpoint.sqlite-wal", "run.json", "roster.json")
        own = (self.folder / name for name in ("state.json", DIARY, "members.json"))
        return mark_of(*own, *(run / name for name in names))

    def show(self, asked: Asked) -> LearnerShown:
        """The study as it stands now."""
        self.meetings.refresh()
        terms, running = self._study.terms, at_work(self.folder)
        state = as_left(read_state(self.folder), running=running)
        events = list(deque(read_diary(self.folder), maxlen=None))
        roster = _roster(self.folder / "run" / "roster.json")
        rows = self._rows(state, roster, events)
        shown = _about(terms, self.meetings, rows, asked)
        shown.stage, shown.running = state.stage if state.at or running else "not begun", running
        shown.finished = (self.folder / "run" / "run.json").is_file()
        shown.seen, shown.horizon = state.at or None, terms.horizon if roster is None else meetings_of(terms, roster)
        shown.waited_for = [row.owner for row in rows if row.place == "waited for"]
        shown.predicted = [found for event in events if (found := _predicted(event)) is not None]
        shown.events = [_clean(event) for event in events[-MOST_EVENTS:]][::-1]
        shown.certificates = [Certificate(holder, days) for holder, days in self._days()[0].items()]
        shown.public_loss = self._public_loss(terms)
        return shown

    def _members(self) -> Mapping[str, Any]:
        return self._quarters.register().owners

    def _rows(self, state: State, roster: Roster | None, events: Sequence[dict[str, Any]]) -> list[OwnerRow]:
        out = {each.owner: each.why for each in state.expelled} | {
            each.owner: each.why for each in self.meetings.expelled
        }
        said = {event["owner"]: event.get("words", "") for event in events if event.get("kind") == "refused"}
        hellos = {} if roster is None else {hello.owner: hello for hello in roster.owners}
        outcomes, spent, last = self.meetings.outcomes(), self.meetings.spent(), self.meetings.last_times()
        end, days = float(self.meetings.times[-1]) if len(self.meetings) else 0.0, self._days()[1]
        rows = []
        for name, member in sorted(self._members().items()):
            counted = outcomes.get(name, {})
            row = OwnerRow(
                name, place_of(name, member, state, out), plain(out.get(name) or said.get(name, ""), _LONGEST_WORDS)
            )
            row.answers = counted.get(ANSWER, 0)
            row.refused = {reason: count for reason, count in counted.items() if reason != ANSWER}
            row.silence = None if name not in last else round(end - last[name], 3)
            row.days = days.get(name)
            if name in hellos:
                _promise(row, hellos[name], self._study.terms, spent.get(name, 0))
            rows.append(row)
        return rows

    def _days(self) -> tuple[dict[str, float], dict[str, float]]:
        """How long the learner's own certificates last, and the owners'; they are read now and then."""
        at, own, owners = self._certificates
        if time.monotonic() - at >= _SECONDS_BETWEEN_CERTIFICATES:
            own = _days_left(own_certificates_of(self._quarters))
            owners = _days_left(owners_certificates_of(self._quarters))
            self._certificates = (time.monotonic(), own, owners)
        return own, owners

    def _public_loss(self, terms: Terms) -> list[tuple[int, float]]:
        """Of the models that were kept, the average loss on public rows; each is worked out once."""
        public, models = self._public, self.meetings.models
        if public is None or any(model.size != public.parameters for model in models.values()):
            return []
        objective = terms.objective()
        self._losses = {number: loss for number, loss in self._losses.items() if number in models}
        for number, model in models.items():
            if number not in self._losses:
                self._losses[number] = float(objective.fitness(public, model))
        return sorted(self._losses.items())


class RunView:
    """The folder of a run on one machine; only what a learner would know is shown.

    Args:
        folder: where `copriv train` has made it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.meetings = Meetings(folder / "checkpoint.sqlite")

    def mark(self) -> Mark:
        """What changes when there is something new to see."""
        names = ("checkpoint.sqlite", "checkpoint.sqlite-wal", "run.json")
        return mark_of(*(self.folder / name for name in names))

    def show(self, asked: Asked) -> LearnerShown:
        """The run as it stands now."""
        self.meetings.refresh()
        figures = _figures(self.folder / "run.json")
        rows = self._rows(figures)
        promised = figures.get("guarantee", {})
        shown = _about(None, self.meetings, rows, asked)
        shown.study, shown.rule = plain(self.folder.name, _LONGEST_NAME), str(figures.get("rule", ""))
        shown.terms, shown.finished = str(figures.get("terms", "")), bool(figures)
        shown.stage, shown.running = ("finished" if figures else "not finished"), False
        shown.horizon = int(figures.get("horizon", 0))
        shown.epsilon, shown.delta = promised.get("epsilon"), promised.get("delta")
        shown.weakness = figures.get("weakness")
        shown.predicted = [msgspec.convert(each, Predicted) for each in map(_tagged, figures.get("foreseen", []))]
        shown.noise = str(figures.get("noise", shown.noise))
        shown.notes = ["A run on one machine: figures that were measured on records are in its report, and not here."]
        return shown

    def _rows(self, figures: Mapping[str, Any]) -> list[OwnerRow]:
        outcomes, last = self.meetings.outcomes(), self.meetings.last_times()
        spent = {entry["owner"]: entry for entry in figures.get("spent", [])}
        end = float(self.meetings.times[-1]) if len(self.meetings) else 0.0
        rows = []
        for name in sorted({*outcomes, *spent}):
            counted, known = outcomes.get(name, {}), spent.get(name, {})
            row = OwnerRow(name, "done" if figures else "connected", answers=counted.get(ANSWER, 0))
            row.refused = {reason: count for reason, count in counted.items() if reason != ANSWER}
            row.silence = None if name not in last else round(end - last[name], 3)
            row.records, row.epsilon, row.delta = known.get("records"), known.get("promised"), known.get("delta")
            if known:
                row.measure, row.budget = "epsilon", known["promised"]
                row.left = max(known["promised"] - known["epsilon"], 0.0)
            rows.append(row)
        return rows


def _about(terms: Terms | None, meetings: Meetings, rows: list[OwnerRow], asked: Asked) -> LearnerShown:
    """What follows from meetings and owners."""
    chosen = asked.choose(rows)
    pages = max(1, -(-len(chosen) // asked.per))
    page = min(asked.page, pages)
    refusals: Counter[str] = Counter()
    for row in rows:
        refusals.update(row.refused)
    return LearnerShown(
        study="" if terms is None else plain(terms.name, _LONGEST_NAME),
        learner="" if terms is None else plain(terms.learner, _LONGEST_NAME),
        terms="" if terms is None else terms.digest(),
        rule="" if terms is None else terms.rule,
        stage="",
        running=False,
        finished=False,
        meetings=len(meetings),
        horizon=0,
        seconds=float(meetings.times[-1]) if len(meetings) else 0.0,
        seen=None,
        waited_for=[],
        counts=dict(Counter(row.place for row in rows)),
        refusals=dict(sorted(refusals.items())),
        epsilon=None if terms is None else terms.epsilon,
        delta=None if terms is None else terms.delta,
        weakness=None if terms is None else weakness_of(terms.epsilon, terms.delta),
        unit=UNIT if terms is None else terms.unit_words,
        owners=chosen[(page - 1) * asked.per : page * asked.per],
        matching=len(chosen),
        page=page,
        pages=pages,
        convergence=_convergence(meetings.models),
        progress=_progress(meetings),
    )


def _progress(meetings: Meetings) -> list[tuple[float, int]]:
    """How many answers there were by when, in no more points than show."""
    times, counts = meetings.times, np.cumsum(meetings.answered())
    if not times.size:
        return []
    few, many = decimate(times, counts.astype(float), _MOST_POINTS // 4)
    return [(round(at, 3), int(count)) for at, count in zip(few.tolist(), many.tolist(), strict=True)]


def _convergence(models: Mapping[int, FloatArray]) -> list[tuple[int, float]]:
    """How far the models that were kept are from the last one, relative to its length."""
    if len(models) < 2:
        return []
    *before, last = sorted(models)
    length = float(np.linalg.norm(models[last])) or 1.0
    return [(number, float(np.linalg.norm(models[number] - models[last])) / length) for number in before]


def _promise(row: OwnerRow, hello: Hello, terms: Terms, spent: int) -> None:
    """What an owner has promised, and what is left of it."""
    guarantee = Guarantee(hello.nano_epsilon, hello.delta)
    budget, measure = _budget(terms, msgspec.structs.replace(hello, owner="", instance="", ledger="", records=1))
    row.records, row.epsilon, row.delta = hello.records, guarantee.epsilon, guarantee.delta
    row.measure, row.budget = measure, budget / NANO
    row.left = max(budget - spent, 0) / NANO


@lru_cache(maxsize=10_000)
def _budget(terms: Terms, hello: Hello) -> tuple[int, str]:
    """What a study may cost whoever promises this; sizes and names do not matter."""
    found = commitment_of(hello, terms).budget
    return found.nano, found.measure


def _days_left(expiries: Sequence[Expiry]) -> dict[str, float]:
    now = datetime.now(UTC)
    return {
        each.holder: round((datetime.fromisoformat(each.expires) - now).total_seconds() / _DAY, 3) for each in expiries
    }


def _roster(path: Path) -> Roster | None:
    return Roster.from_json(path.read_bytes()) if path.is_file() else None


def _figures(path: Path) -> dict[str, Any]:
    return msgspec.json.decode(path.read_bytes(), type=dict[str, Any]) if path.is_file() else {}


def _public_rows(path: Path) -> Sample | None:
    """Some of the public rows, evenly spread: enough to see where a run goes."""
    if not path.is_file():
        return None
    public = read_sample(path.read_bytes()).usable()
    if public.records <= _MOST_PUBLIC_ROWS:
        return public
    chosen = np.linspace(0, public.records - 1, _MOST_PUBLIC_ROWS).astype(int)
    return public.take(chosen)


def _predicted(event: Mapping[str, Any]) -> Predicted | None:
    return msgspec.convert(event, Predicted) if event.get("kind") == "predicted" else None


def _tagged(found: Mapping[str, Any]) -> dict[str, Any]:
    return {**found, "kind": "predicted"}


def _clean(event: dict[str, Any]) -> dict[str, Any]:
    """An event whose words can be shown."""
    return {name: plain(value, _LONGEST_WORDS) if isinstance(value, str) else value for name, value in event.items()}
