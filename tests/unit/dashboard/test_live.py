"""Server-sent events: that something changed, at most so often, and that it is over."""

import asyncio
from itertools import pairwise

from copriv.dashboard import live
from copriv.dashboard.live import Ending, mark_of


def _listen(look, ending, monkeypatch):
    """Everything that is said until it is over; no time passes."""

    async def at_once(_seconds):
        return None

    monkeypatch.setattr(live.asyncio, "sleep", at_once)

    async def hear():
        return [part async for part in live._changes(look, ending)]

    return asyncio.run(hear())


def test_changes_are_told_but_not_too_often(monkeypatch):
    looks, ending = iter(range(1000)), Ending()

    def look():
        number = next(looks)
        if number == 20:
            ending.set()
        return ((number // 2, 0),)

    said = _listen(look, ending, monkeypatch)
    assert said[0].startswith("retry:")
    assert said[-1].startswith("event: over")
    changes = [int(part.split("data: ")[1]) for part in said if part.startswith("event: change")]
    assert len(changes) >= 4
    assert all(later - earlier >= 4 for earlier, later in pairwise(changes))
    assert ending.watchers == 0


def test_nothing_is_told_of_what_stays_but_a_sign_of_life(monkeypatch):
    looks, ending = iter(range(1000)), Ending()

    def look():
        if next(looks) == 60:
            ending.set()
        return ((1, 1),)

    said = _listen(look, ending, monkeypatch)
    assert [part[:6] for part in said] == ["retry:", ": stil", ": stil", "event:"]


def test_a_mark_changes_with_a_file_and_with_none(tmp_path):
    path = tmp_path / "state.json"
    before = mark_of(path)
    path.write_text("{}")
    assert mark_of(path) != before
    assert mark_of(tmp_path / "nothing") == ((0, 0),)
