"""Meetings are read as they come, while another connection writes them, and never change the file."""

import sqlite3

import numpy as np
import pytest

from copriv.dashboard.meetings import Meetings
from copriv.learner.checkpoint import Checkpoint


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "checkpoint.sqlite"
    Checkpoint.create(path, run="first", terms="t", schedule="s").close()
    writer = sqlite3.connect(path, isolation_level=None)
    yield Meetings(path), writer
    writer.close()


def _add(writer, number, owner, outcome="answer", time=None, model=None):
    row = (number, owner, outcome, f"q{number}", float(number if time is None else time), 10, model)
    writer.execute("INSERT INTO reply (number, owner, outcome, query, time, nano, model) VALUES (?,?,?,?,?,?,?)", row)


def test_only_what_is_new_is_read(scene):
    meetings, writer = scene
    meetings.refresh()
    assert len(meetings) == 0
    for number, owner in enumerate(("east", "west", "east"), start=1):
        _add(writer, number, owner, model=np.full(2, float(number)).tobytes())
    meetings.refresh()
    writer.execute("UPDATE reply SET owner = 'changed' WHERE number = 1")
    _add(writer, 4, "west", "failed")
    meetings.refresh()
    assert meetings.outcomes() == {"east": {"answer": 2}, "west": {"answer": 1, "failed": 1}}
    assert meetings.spent() == {"east": 20, "west": 20}
    assert meetings.last_times() == {"east": 3.0, "west": 4.0}
    assert meetings.times.tolist() == [1, 2, 3, 4]
    assert sorted(meetings.models) == [1, 2, 3]


def test_whoever_is_expelled_takes_models_along(scene):
    meetings, writer = scene
    _add(writer, 1, "east", model=np.zeros(2).tobytes())
    meetings.refresh()
    writer.execute("INSERT INTO expelled VALUES ('east', 1, 'it lied')")
    meetings.refresh()
    assert meetings.models == {}
    assert [out.why for out in meetings.expelled] == ["it lied"]


def test_another_run_in_its_place_is_read_from_the_start(scene):
    meetings, writer = scene
    _add(writer, 1, "east")
    meetings.refresh()
    writer.execute("DELETE FROM reply")
    writer.execute("UPDATE run SET name = 'second'")
    _add(writer, 1, "north")
    meetings.refresh()
    assert meetings.names == ("north",)


def test_a_checkpoint_that_is_not_there_or_none_is_passed_over(tmp_path):
    meetings = Meetings(tmp_path / "nothing.sqlite")
    meetings.refresh()
    (tmp_path / "none.sqlite").write_bytes(b"no database")
    other = Meetings(tmp_path / "none.sqlite")
    other.refresh()
    assert len(meetings) == len(other) == 0


def test_many_rows_make_room(scene):
    meetings, writer = scene
    writer.execute("BEGIN")
    for number in range(1, 45_001):
        _add(writer, number, f"owner-{number % 7}", time=number / 10)
    writer.execute("COMMIT")
    meetings.refresh()
    assert len(meetings) == 45_000
    assert sum(counts["answer"] for counts in meetings.outcomes().values()) == 45_000
    assert bool(np.all(np.diff(meetings.times) > 0))
