"""Work aside: nobody waits longer than said, only the newest wish is kept, and a problem stops nothing."""

import threading

import pytest

from copriv.dashboard.what_if_work import Aside

LONG = 30.0


class Slow:
    """Work that waits to be let go."""

    def __init__(self):
        self.go, self.begun, self.done = threading.Event(), threading.Event(), []

    def __call__(self, key):
        self.begun.set()
        self.go.wait(LONG)
        if key == "bad":
            raise MemoryError(key)
        self.done.append(key)
        return key.upper()


@pytest.fixture
def slow():
    work = Slow()
    yield work
    work.go.set()


def test_who_cannot_wait_gets_nothing_and_only_the_newest_wish_is_done(slow):
    aside = Aside(slow, kept=4)
    assert aside.within("a", 0.0) is None
    slow.begun.wait(LONG)
    assert [aside.within(key, 0.0) for key in "bcd"] == [None, None, None]
    slow.go.set()
    assert aside.within("d", LONG) == "D"
    assert slow.done == ["a", "d"]
    assert aside.within("a", 0.0) == "A"


def test_a_problem_is_told_each_time_and_the_next_wish_is_done(slow):
    slow.go.set()
    aside = Aside(slow, kept=4)
    for _ in range(2):
        with pytest.raises(MemoryError):
            aside.within("bad", LONG)
        with pytest.raises(MemoryError):
            aside.get("bad")
    assert aside.within("good", LONG) == "GOOD"


def test_no_more_is_kept_than_said(slow):
    slow.go.set()
    aside = Aside(slow, kept=2)
    assert [aside.get(key) for key in "abc"] == ["A", "B", "C"]
    assert aside.get("a") == "A"
    assert slow.done == ["a", "b", "c", "a"]
