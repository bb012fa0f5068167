"""A diary keeps what is rare, survives torn lines, does not grow without end, and never ends a run."""

from copriv.runtime import diary
from copriv.runtime.diary import Diary, read_diary, read_vitals
from copriv.runtime.events import Answered, Met, Note, Progress
from copriv.runtime.network_events import Arrived, Committed


def _kinds(folder):
    return [event["kind"] for event in read_diary(folder)]


def test_what_is_on_record_elsewhere_is_left_out(tmp_path):
    book = Diary(tmp_path, lambda: "now")
    for event in (Arrived("east"), Met(1, "east"), Answered(1, "east"), Progress("training", 1, 2), Note("<b>")):
        book.note(event)
    assert list(read_diary(tmp_path)) == [
        {"at": "now", "kind": "arrived", "owner": "east"},
        {"at": "now", "kind": "note", "words": "<b>"},
    ]
    assert (tmp_path / "events.jsonl").stat().st_mode & 0o077 == 0


def test_of_commits_the_last_count_is_kept(tmp_path):
    assert read_vitals(tmp_path) is None
    book = Diary(tmp_path, lambda: "now")
    book.note(Committed(1, 0.5))
    book.note(Committed(3, 0.75))
    assert read_vitals(tmp_path) == Committed(3, 0.75)
    assert _kinds(tmp_path) == []


def test_torn_lines_are_passed_over(tmp_path):
    (tmp_path / "events.jsonl").write_bytes(b'{"kind":"note"}\n{"kind":"no\n[1]\n{"kind":"done"}')
    assert _kinds(tmp_path) == ["note", "done"]


def test_it_does_not_grow_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(diary, "MOST_BYTES", 500)
    book = Diary(tmp_path, lambda: "now")
    for number in range(100):
        book.note(Note(f"{number}"))
    kept = [event["words"] for event in read_diary(tmp_path)]
    assert kept == [f"{number}" for number in range(100 - len(kept), 100)]
    assert 10 < len(kept) < 40


def test_a_folder_that_cannot_be_written_ends_nothing(tmp_path):
    Diary(tmp_path / "nothing", lambda: "now").note(Note("words"))
