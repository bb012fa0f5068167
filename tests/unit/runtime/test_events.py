"""Events are JSON lines that can be read back."""

import json
from typing import get_args

import msgspec
import pytest

from copriv.runtime import events

SAMPLES = [
    events.Note("5 rows have no owner"),
    events.Warned("ε = 12 means little"),
    events.Progress("training", 3, 10),
    events.Waiting(("east", "west")),
    events.Met(1, "east"),
    events.Answered(1, "east"),
    events.Refused(2, "west", "exhausted"),
    events.Predicted(3, 4e-4, (1e-4, 2e-3), 0.01),
    events.Charged("a.sqlite", 1.0, 0.0),
    events.Done(10, 1, "run"),
]


@pytest.mark.parametrize("event", SAMPLES, ids=lambda event: type(event).__name__)
def test_an_event_is_one_line_and_comes_back(event):
    line = events.as_line(event)
    assert line.count(b"\n") == 1
    assert json.loads(line)["kind"] == type(event).__name__.lower()
    assert events.from_line(line) == event


def test_there_is_a_sample_of_every_kind():
    assert {type(event) for event in SAMPLES} == set(get_args(events.Event))


@pytest.mark.parametrize("line", [b'{"kind":"danced"}', b'{"kind":"met"}', b"met"])
def test_what_is_no_event_is_refused(line):
    with pytest.raises(msgspec.DecodeError):
        events.from_line(line)


def test_what_is_spent_names_its_unit_and_adjacency():
    told = json.loads(events.as_line(events.Charged("a.sqlite", 1.0, 0.0)))
    assert (told["unit"], told["adjacency"]) == ("record", "replace-one")
