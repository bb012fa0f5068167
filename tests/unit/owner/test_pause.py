"""A pause is durable, and in doubt an owner is paused."""

from pathlib import Path

import pytest

from copriv.owner.pause import Pause, is_paused, pause, read_pause, resume


def test_it_stands_until_it_is_lifted(tmp_path):
    assert read_pause(tmp_path) is None
    pause(tmp_path, Pause("today", "me"))
    pause(tmp_path, Pause("tomorrow", "you"))
    assert read_pause(tmp_path) == Pause("today", "me")
    resume(tmp_path)
    resume(tmp_path)
    assert not is_paused(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b"[1]"])
def test_a_mark_that_cannot_be_read_is_a_pause(tmp_path, content):
    (tmp_path / "paused.json").write_bytes(content)
    assert is_paused(tmp_path)
    assert read_pause(tmp_path) == Pause()


def test_so_is_a_folder_that_cannot_be_looked_into(tmp_path, monkeypatch):
    def refuse(*_given, **_more):
        raise PermissionError

    monkeypatch.setattr(Path, "lstat", refuse)
    assert is_paused(tmp_path)


def test_and_a_mark_that_leads_nowhere(tmp_path):
    (tmp_path / "paused.json").symlink_to(tmp_path / "nothing")
    assert is_paused(tmp_path)
