"""An owner's new certificate takes the old one's place in one moment, if the broker accepts it, or not at all."""

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from copriv.transport import renewal
from copriv.transport.authority import issue_client, make_authority
from copriv.transport.certificates import is_for_key, split
from copriv.transport.credentials import read_credentials, write_credentials
from copriv.transport.link import Link, Unwelcome
from copriv.transport.renewal import Renewals

NOW = datetime.now(UTC)
IDENTITY = "copriv:owner:bank:1"


@pytest.fixture
def home(tmp_path):
    """A folder with a certificate, and another certificate that would take its place."""
    old, new = make_authority(NOW), make_authority(NOW)
    (tmp_path / "authority.pem").write_text(old.certificate)
    write_credentials(tmp_path / "owner.key", issue_client(old, IDENTITY, NOW))
    return tmp_path, issue_client(new, IDENTITY, NOW), new.certificate + old.certificate


def _install(folder, pair, roots, monkeypatch, trial):
    @asynccontextmanager
    async def connect(link, _context):
        trial(read_credentials(link.credentials))
        yield

    monkeypatch.setattr(renewal, "connect", connect)
    link = Link("localhost", 1, folder / "owner.key", folder / "authority.pem", "inbox")
    asyncio.run(Renewals("bank", link, lambda: 0.5, print)._install(pair, roots))


def _names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_was_tried_is_what_is_kept(home, monkeypatch):
    folder, pair, roots = home
    tried = []
    _install(folder, pair, roots, monkeypatch, tried.append)
    assert tried == [pair] == [read_credentials(folder / "owner.key")]
    assert (folder / "authority.pem").read_text() == roots
    assert _names(folder) == ["authority.pem", "owner.key"]
    assert (folder / "owner.key").stat().st_mode & 0o077 == 0


def test_what_the_broker_refuses_changes_nothing(home, monkeypatch):
    folder, pair, roots = home
    before = {name: (folder / name).read_bytes() for name in _names(folder)}

    def refuse(_pair):
        raise Unwelcome("no", remedy="none")

    with pytest.raises(Unwelcome):
        _install(folder, pair, roots, monkeypatch, refuse)
    assert {name: (folder / name).read_bytes() for name in _names(folder)} == before


@pytest.mark.parametrize("survived", [0, 1])
def test_killed_between_two_files_the_old_pair_still_works(home, monkeypatch, survived):
    """What is on disk then: a pair that fits, and every authority that it needs."""
    folder, pair, roots = home
    old, rename, done = read_credentials(folder / "owner.key"), Path.rename, []

    def die(path, target):
        if len(done) == survived:
            raise KeyboardInterrupt
        done.append(target)
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", die)
    with pytest.raises(KeyboardInterrupt):
        _install(folder, pair, roots, monkeypatch, lambda _pair: None)
    held = read_credentials(folder / "owner.key")
    assert held == old
    assert is_for_key(held.certificate, held.key)
    assert split(roots)[1] in (folder / "authority.pem").read_text()
