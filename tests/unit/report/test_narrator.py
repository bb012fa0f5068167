"""Events on a terminal and in a log: with the time, in fixed words, and nothing that a terminal would obey."""

import io
import json
import re

import pytest
from rich.console import Console
from rich.progress import Progress as Bars

from copriv.errors import BadInput
from copriv.report.narrator import Narrator, narrated
from copriv.runtime.events import Answered, Done, Note, Progress, Refused, Waiting
from copriv.runtime.network_events import Arrived, Expelled, Replied

LINE = re.compile(r"\d\d:\d\d:\d\d ")
EVENTS = (
    Note("the learner has welcomed us"),
    Arrived("east"),
    Answered(1, "east"),
    Refused(2, "north", "failed", "[/x] [bold]no"),
    Expelled(3, "north", "its answer is too large"),
    Replied(1, 0.25, 0.5, 0.5, "epsilon", "answer"),
    Progress("training", 3, 10),
    Done(3, 1, "learner/run"),
)


def _printed(*events):
    file = io.StringIO()
    console = Console(file=file, width=40)
    narrator = Narrator(console, Bars(console=console, disable=True), None)
    for event in events:
        narrator(event)
    return file.getvalue().splitlines()


def test_lines_have_the_time_of_day_and_are_not_wrapped():
    lines = _printed(*EVENTS)
    assert all(LINE.match(line) for line in lines)
    assert [line[9:] for line in lines] == [
        "the learner has welcomed us",
        "note: north refuses (failed): [/x] [bold]no",
        "note: north is expelled, and its answers are taken out: its answer is too large",
        "query 1: ε = 0.25 for any one record (replace-one); this study ε = 0.5, ledger ε = 0.5 left",
        "done: 3 meetings, 1 without an answer; learner/run",
    ]


def test_a_log_has_every_event_but_bars_and_is_added_to(tmp_path, capsys):
    path = tmp_path / "events.jsonl"
    for _ in range(2):
        with narrated(path) as tell:
            for event in EVENTS:
                tell(event)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    kinds = ["note", "arrived", "answered", "refused", "expelled", "replied", "done"]
    assert [line["kind"] for line in lines] == 2 * kinds
    assert all(line["at"].endswith("+00:00") for line in lines)
    assert lines[5] | {"at": ""} == {
        "at": "",
        "kind": "replied",
        "query": 1,
        "price": 0.25,
        "spent": 0.5,
        "left": 0.5,
        "measure": "epsilon",
        "outcome": "answer",
        "unit": "record",
        "adjacency": "replace-one",
    }
    assert path.stat().st_mode & 0o077 == 0


def test_a_log_that_cannot_be_opened_is_named_before_anything_happens(tmp_path):
    with pytest.raises(BadInput, match="cannot be opened"), narrated(tmp_path / "no" / "log"):
        pytest.fail("nothing happens")


def test_many_that_are_waited_for_are_counted():
    [line] = _printed(Waiting(tuple(f"bank-{place}" for place in range(30))))
    assert line.endswith("bank-7 and 22 more")
