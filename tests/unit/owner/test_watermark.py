"""A high-water mark survives torn writes, other processes and copies of its ledger."""

import os
import subprocess
import sys

import pytest

from copriv.errors import LedgerFailure
from copriv.owner.registry_store import watermark_path
from copriv.owner.watermark import _SLOT, Watermark


def _head(number):
    return f"{number:064x}"


class Chain:
    """A ledger as far as a mark can see."""

    def __init__(self, heads):
        self.heads = heads

    def check(self, mark):
        mark.check(len(self.heads), lambda number, head: self.heads[number - 1 : number] == [head])


@pytest.fixture
def mark(tmp_path):
    opened = Watermark(tmp_path / "a.mark")
    yield opened
    opened.close()


def test_a_new_mark_allows_everything_and_is_for_nobody_else(mark, tmp_path):
    assert mark.newest() is None
    Chain([]).check(mark)
    assert (tmp_path / "a.mark").stat().st_mode & 0o777 == 0o600


def test_a_ledger_that_went_on_is_in_order_and_one_that_went_back_is_not(mark):
    heads = [_head(number) for number in range(1, 8)]
    for number, head in enumerate(heads[:5], start=1):
        mark.raise_to(number, head)
    Chain(heads[:5]).check(mark)
    Chain(heads).check(mark)
    with pytest.raises(LedgerFailure, match="it has 4 entries, and it had 5"):
        Chain(heads[:4]).check(mark)
    with pytest.raises(LedgerFailure, match="entry 5 is not the one"):
        Chain([*heads[:4], _head(50), _head(60)]).check(mark)


def test_an_older_entry_does_not_lower_the_mark_and_two_copies_are_told_apart(mark):
    mark.raise_to(9, _head(9))
    mark.raise_to(8, _head(8))
    assert mark.newest().sequence == 9
    mark.raise_to(9, _head(9))
    with pytest.raises(LedgerFailure, match="copied"):
        mark.raise_to(9, _head(90))


class OneSlot(Watermark):
    """A broken twin: it writes over its only record."""

    def _read(self):
        return super()._read()[0], 0


def _tear(path, write_bytes, kind):
    """All that a power cut can leave of the write from 6 to 7: the newest mark that can be read after each."""
    found = set()
    for cut in write_bytes:
        place = path.with_name(f"{cut}.mark")
        opened = kind(place)
        for number in range(1, 7):
            opened.raise_to(number, _head(number))
        before = place.read_bytes()
        opened.raise_to(7, _head(7))
        after = place.read_bytes()
        opened.close()
        changed = [i for i, (a, b) in enumerate(zip(before.ljust(len(after), b"\0"), after, strict=True)) if a != b]
        slot = changed[0] // _SLOT * _SLOT
        place.write_bytes(after[: slot + cut] + before.ljust(len(after), b"\0")[slot + cut :])
        again = kind(place)
        try:
            newest = again.newest()
            found.add(None if newest is None else newest.sequence)
        except LedgerFailure:
            found.add("damaged")
        finally:
            again.close()
    return found


def test_a_torn_write_leaves_the_mark_before_it_and_a_twin_with_one_slot_is_caught(tmp_path):
    cuts = range(0, _SLOT + 1, 4)
    assert _tear(tmp_path / "x", cuts, Watermark) == {6, 7}
    (tmp_path / "twin").mkdir()
    assert "damaged" in _tear(tmp_path / "twin" / "x", cuts, OneSlot)


def test_a_mark_that_is_damaged_throughout_is_no_fresh_one(mark, tmp_path):
    mark.raise_to(1, _head(1))
    (tmp_path / "a.mark").write_bytes(b"x" * 2 * _SLOT)
    with pytest.raises(LedgerFailure, match="damaged"):
        mark.newest()


def test_it_is_forced_to_the_disk_at_most_once_a_second_and_at_the_end(tmp_path, monkeypatch):
    now, synced = [0.0], []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (synced.append(now[0]), real(handle)))
    opened = Watermark(tmp_path / "a.mark", clock=lambda: now[0])
    for number in range(1, 41):
        now[0] = number / 10
        opened.raise_to(number, _head(number))
    assert len(synced) == 4
    opened.close()
    opened.close()
    assert len(synced) == 5


_RAISE = """
import sys
from pathlib import Path
from copriv.owner.watermark import Watermark
mark = Watermark(Path(sys.argv[1]))
for number in range(int(sys.argv[2]), 2001, 2):
    mark.raise_to(number, f"{number:064x}")
mark.close()
"""


def test_processes_that_raise_it_at_once_never_lower_it(tmp_path):
    path = tmp_path / "a.mark"
    workers = [subprocess.Popen([sys.executable, "-c", _RAISE, str(path), str(first)]) for first in (1, 2)]
    assert [worker.wait() for worker in workers] == [0, 0]
    opened = Watermark(path)
    Chain([_head(number) for number in range(1, 2001)]).check(opened)
    assert opened.newest().sequence == 2000
    opened.close()


def test_an_id_that_is_no_name_never_becomes_a_path(registry_folder):
    assert watermark_path("a1" * 16) == registry_folder / "marks" / ("a1" * 16 + ".mark")
    for bad in ("", "../../etc/passwd", "a/b" * 9, "x\n" * 9):
        with pytest.raises(LedgerFailure):
            watermark_path(bad)
