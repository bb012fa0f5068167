"""Where a user's registry lies: one folder for nobody else to read, with a key, a database and the marks of ledgers.

The key is not in the database: whoever gets the database alone can test no file against its fingerprints.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from copriv.entropy import secure
from copriv.errors import BadInput, CoprivError, LedgerFailure
from copriv.owner.watermark import Watermark
from copriv.records.source import hash_files

FORMAT = 1
_KEY_BYTES = 32
_LEDGER_ID = re.compile(r"[0-9A-Za-z_-]{8,128}")

_SCHEMA = (
    "CREATE TABLE registry (only_one INTEGER PRIMARY KEY CHECK (only_one = 1), format INTEGER NOT NULL) STRICT",
    """CREATE TABLE dataset (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    ledger     TEXT NOT NULL,
    ledger_id  TEXT NOT NULL UNIQUE,
    first_seen TEXT NOT NULL
) STRICT""",
    """CREATE TABLE file (
    fingerprint BLOB PRIMARY KEY,
    dataset     TEXT REFERENCES dataset (id),
    path        TEXT NOT NULL,
    rows        INTEGER NOT NULL,
    columns     TEXT NOT NULL,
    seen        TEXT NOT NULL,
    signed_off_by TEXT NOT NULL
) STRICT""",
    """CREATE TABLE sketch (
    file     BLOB NOT NULL REFERENCES file (fingerprint),
    kind     TEXT NOT NULL CHECK (kind IN ('rows', 'ids')),
    columns  TEXT NOT NULL,
    distinct_hashes INTEGER NOT NULL,
    hashes   BLOB NOT NULL,
    places   BLOB NOT NULL,
    PRIMARY KEY (file, kind, columns)
) STRICT""",
    """CREATE TABLE split (
    file    BLOB PRIMARY KEY REFERENCES file (fingerprint),
    public  BLOB NOT NULL,
    private BLOB NOT NULL,
    options TEXT NOT NULL,
    seed    INTEGER
) STRICT""",
    """CREATE TABLE unrelated (
    file    BLOB NOT NULL,
    other   BLOB NOT NULL,
    signed_off_by TEXT NOT NULL,
    seen    TEXT NOT NULL,
    PRIMARY KEY (file, other)
) STRICT""",
)

# Made also in a database that was there before; a hash under the key, which says nothing about it.
_KEY_CHECK = """CREATE TABLE IF NOT EXISTS key_check (
    only_one INTEGER PRIMARY KEY CHECK (only_one = 1),
    value    BLOB NOT NULL
) STRICT"""

# Likewise: which block of its dataset a file is.
_BLOCK = """CREATE TABLE IF NOT EXISTS block (
    file BLOB PRIMARY KEY REFERENCES file (fingerprint),
    name TEXT NOT NULL
) STRICT"""

# Likewise: how a file is written, where somebody has said it.
_FORM = """CREATE TABLE IF NOT EXISTS form (
    file BLOB PRIMARY KEY REFERENCES file (fingerprint),
    form TEXT NOT NULL
) STRICT"""

# Likewise: hashes of the rows of blocks of people without their ids.
_NAMELESS = """CREATE TABLE IF NOT EXISTS nameless (
    file     BLOB NOT NULL REFERENCES file (fingerprint),
    kind     TEXT NOT NULL CHECK (kind = 'rows'),
    columns  TEXT NOT NULL,
    distinct_hashes INTEGER NOT NULL,
    hashes   BLOB NOT NULL,
    places   BLOB NOT NULL,
    PRIMARY KEY (file, columns)
) STRICT"""


def default_folder() -> Path:
    """The registry of this user: $COPRIV_REGISTRY, else copriv in $XDG_STATE_HOME, else in ~/.local/state."""
    given = os.environ.get("COPRIV_REGISTRY")
    if given:
        return Path(given)
    state = os.environ.get("XDG_STATE_HOME")
    try:
        return (Path(state) if state else Path.home() / ".local" / "state") / "copriv"
    except RuntimeError as problem:
        raise BadInput(
            "this user has no home folder for the registry of its datasets",
            remedy="say where it is: COPRIV_REGISTRY=FOLDER",
        ) from problem


def watermark_path(ledger_id: str, folder: Path | None = None) -> Path:
    """Where the high-water mark of a ledger lies, if it has one."""
    if not _LEDGER_ID.fullmatch(ledger_id):
        raise LedgerFailure(f"{ledger_id!r} is no ledger's id", remedy="restore the ledger", value=ledger_id)
    return (folder or default_folder()) / "marks" / f"{ledger_id}.mark"


def known_mark(ledger_id: str) -> Watermark | None:
    """The high-water mark of a ledger; None if it was never registered here."""
    path = watermark_path(ledger_id)
    return Watermark(path) if path.is_file() else None


class Store:
    """The open folder of a registry; made on first use.

    Args:
        folder: where it is; the user's own by default.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or default_folder()
        with store_failures(self.folder):
            _make_private_folder(self.folder)
            with self.exclusive():
                self.connection = _open_database(self.folder / "registry.sqlite")
                try:
                    self.key = _settle_key(self.connection, self.folder / "key")
                except BaseException:
                    self.connection.close()
                    raise

    def mark(self, ledger_id: str) -> Watermark:
        """The high-water mark of a ledger, made if there is none."""
        path = watermark_path(ledger_id, self.folder)
        with store_failures(path):
            _make_private_folder(path.parent)
        return Watermark(path)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep every other process out of the registry's decisions until this one is made; not to be nested."""
        with store_failures(self.folder):
            handle = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                yield
            finally:
                os.close(handle)

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, kept whole or not at all."""
        with store_failures(self.folder):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                self.connection.execute("ROLLBACK")
                raise

    def rows(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        """What a query finds."""
        with store_failures(self.folder):
            return self.connection.execute(statement, values).fetchall()

    def fingerprint(self, path: Path) -> bytes:
        """The keyed hash of a file's bytes, or of those of all files of a folder."""
        found = hashlib.blake2b(digest_size=32, key=self.key, person=b"copriv file")
        hash_files(path, found)
        return found.digest()

    def close(self) -> None:
        """Let go of the database."""
        self.connection.close()


@contextmanager
def store_failures(folder: Path) -> Iterator[None]:
    """What the disk or the database says becomes one kind of failure."""
    try:
        yield
    except CoprivError:
        raise
    except (sqlite3.Error, OSError) as problem:
        raise LedgerFailure(
            f"the registry {folder} cannot be used: {problem}",
            remedy="nothing was sent; check that the folder can be written, or name another: COPRIV_REGISTRY=FOLDER",
            value=str(folder),
        ) from problem


def _make_private_folder(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if folder.stat().st_mode & 0o077:
        folder.chmod(0o700)


def _settle_key(connection: sqlite3.Connection, path: Path) -> bytes:
    """The key of all fingerprints, if the database was written with it; called by one process at a time.

    A new key recognises nothing that is known, so that every file would have a fresh budget: it is made only where
    nothing is known.
    """
    connection.execute(_KEY_CHECK)
    if not path.exists():
        if connection.execute("SELECT 1 FROM file").fetchone():
            raise _wrong_key(path, "is missing")
        connection.execute("DELETE FROM key_check")
        _make_key(path)
    key = path.read_bytes()
    if len(key) != _KEY_BYTES:
        raise _wrong_key(path, "has another length")
    check = hashlib.blake2b(digest_size=32, key=key, person=b"copriv key").digest()
    connection.execute("INSERT OR IGNORE INTO key_check VALUES (1, ?)", (check,))
    if connection.execute("SELECT value FROM key_check").fetchone() != (check,):
        raise _wrong_key(path, "is that of another registry")
    return key


def _make_key(path: Path) -> None:
    draft = path.with_name(".key.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(secure().randbytes(_KEY_BYTES))
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)


def _wrong_key(path: Path, how: str) -> LedgerFailure:
    return LedgerFailure(
        f"the registry {path.parent} cannot be used: its key {path} {how}, so it recognises nothing",
        remedy="restore the key from a backup of this folder; a new key would give every file a fresh budget",
        value=str(path),
    )


def _open_database(path: Path) -> sqlite3.Connection:
    """The database, made if there is none; called by one process at a time."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    connection = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA foreign_keys = ON")
        if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            _fill(connection)
        _require_format(connection, path.parent)
        connection.execute(_BLOCK)
        connection.execute(_FORM)
        connection.execute(_NAMELESS)
    except BaseException:
        connection.close()
        raise
    return connection


def _require_format(connection: sqlite3.Connection, folder: Path) -> None:
    found = connection.execute("SELECT format FROM registry").fetchone()
    if found != (FORMAT,):
        raise _damaged(folder, f"its format is {found and found[0]}, and this version of copriv knows {FORMAT}")


def _fill(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    for statement in _SCHEMA:
        connection.execute(statement)
    connection.execute("INSERT INTO registry VALUES (1, ?)", (FORMAT,))
    connection.execute("COMMIT")


def _damaged(folder: Path, how: str) -> LedgerFailure:
    return LedgerFailure(
        f"the registry {folder} cannot be used: {how}",
        remedy="restore the folder, or use the version of copriv that wrote it",
        value=str(folder),
    )
