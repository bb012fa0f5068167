"""The registry of a user's datasets: one set of records has one ledger, wherever its file lies and however it is cut.

It is a seat-belt against mistakes: a second folder, another partition, a new export of the same records. It is no
defence against an owner that cheats itself, by deleting the registry, say. What it holds never leaves the machine.
Cells and the names of columns are held as keyed hashes only.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import msgspec
import polars as pl

from copriv.entropy import secure
from copriv.errors import BadInput
from copriv.owner.hidden_names import common_names, hide_names, hide_sketches, show_kin, show_wanted
from copriv.owner.kinship import Kin, KnownFile, find_kin
from copriv.owner.registry_rows import (
    form_kept,
    keep_form,
    keep_nameless,
    known_already,
    packed_sketch,
    private_as_public,
    public_as_private,
    read_sketch,
    read_split,
    tables_in,
)
from copriv.owner.registry_store import Store
from copriv.owner.sketch import Recognised, Sketch, Tell, digest_table, recognise
from copriv.owner.split import Split, pack, require_same_split
from copriv.owner.watermark import Watermark
from copriv.records.file_format import PLAIN, FileFormat
from copriv.records.folder import as_one
from copriv.records.table import has_header


@dataclass(frozen=True, slots=True)
class Dataset:
    """One set of records, in one or several versions.

    Args:
        id: a random name that says nothing.
        name: the name of its first file.
        ledger: where its ledger was last seen.
        ledger_id: the ledger's own id, by which it is known wherever it lies.
        first_seen: when.
    """

    id: str
    name: str
    ledger: Path
    ledger_id: str
    first_seen: str


@dataclass(frozen=True, slots=True)
class Found:
    """What the registry knows of a file.

    Args:
        path: the file.
        fingerprint: the keyed hash of its bytes.
        dataset: the dataset that has this very file as a version.
        public: whether this very file was declared public.
        kin: known files that it shares ids or rows with; the nearest first.
        recognised: its rows and ids; None if the file itself is known, or is no table.
        table: in memory, if it is no file; the path is then only what it is called.
        form: how the file is written, as far as somebody has said it.
    """

    path: Path
    fingerprint: bytes
    dataset: Dataset | None
    public: bool
    kin: tuple[Kin, ...]
    recognised: Recognised | None
    table: pl.LazyFrame | None = field(default=None, repr=False, compare=False)
    form: FileFormat = PLAIN

    @property
    def in_memory(self) -> bool:
        """Whether it is no file."""
        return self.table is not None

    @property
    def place(self) -> str:
        """Where it lies; of a table in memory, what it is called."""
        return f"memory: {self.path.name}" if self.in_memory else str(self.path.absolute())

    @property
    def known(self) -> bool:
        """Whether these very bytes were seen before."""
        return self.public or self.dataset is not None


class Registry:
    """The datasets of one user; safe under several processes at once.

    Args:
        folder: where it lies; by default $COPRIV_REGISTRY or the user's state folder. Made on first use.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._store = Store(folder)

    @property
    def folder(self) -> Path:
        """Where the registry lies."""
        return self._store.folder

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the registry."""
        self._store.close()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep other processes out, from a last look at what is known to the entry that follows from it."""
        with self._store.exclusive():
            yield

    def mark(self, ledger_id: str) -> Watermark:
        """The high-water mark of a ledger, made if there is none."""
        return self._store.mark(ledger_id)

    def fingerprint(self, path: Path) -> bytes:
        """The keyed hash of a file's bytes."""
        return self._store.fingerprint(path)

    def keyed(self, content: bytes) -> str:
        """A name for something that says nothing of it to whoever lacks the key of this registry."""
        return hashlib.blake2b(content, digest_size=16, key=self._store.key, person=b"copriv name").hexdigest()

    def lookup(
        self,
        path: Path,
        tell: Tell = lambda _done, _total: None,
        beside: Iterable[Sketch] = (),
        form: FileFormat = PLAIN,
    ) -> Found:
        """What is known of a file: the very bytes, or records that it shares with known files.

        Args:
            path: a table; of any other file only the bytes are compared.
            tell: is told how many rows of how many are read, if they have to be.
            beside: sketches that are not registered, to be comparable with them as well.
            form: how the file is written.
        """
        fingerprint = self._store.fingerprint(path)
        blank = Found(path, fingerprint, None, public=False, kin=(), recognised=None, form=form)
        return self._known_as(blank) or self._compared(blank, tables_in(path, form), beside, tell)

    def lookup_table(
        self, table: pl.LazyFrame, name: str, tell: Tell = lambda _done, _total: None, beside: Iterable[Sketch] = ()
    ) -> Found:
        """What is known of a table in memory: its very content, or records that it shares with known files.

        Args:
            table: the table; nothing of it is written down but keyed hashes.
            name: what it is called.
            tell: is told how many rows of how many are read.
            beside: sketches that are not registered, to be comparable with them as well.
        """
        fingerprint = digest_table(table, self._store.key, tell)
        blank = Found(Path(name), fingerprint, None, public=False, kin=(), recognised=None, table=table)
        return self._known_as(blank) or self._compared(blank, [table], beside, tell)

    def look_again(self, found: Found) -> Found:
        """The same file as it is known now, without reading it: something may have been registered since."""
        return self._known_as(found) or self._with_kin(found, self._files())

    def dataset(self, id: str) -> Dataset:  # noqa: A002 - the word of the field
        """A dataset by its id."""
        rows = self._store.rows("SELECT name, ledger, ledger_id, first_seen FROM dataset WHERE id = ?", id)
        if not rows:
            raise BadInput(f"the registry knows no dataset {id}", remedy="register its file first", value=id)
        name, ledger, ledger_id, seen = msgspec.convert(rows[0], tuple[str, str, str, str])
        return Dataset(id, name, self.folder.absolute() / ledger, ledger_id, seen)

    def dataset_of_ledger(self, ledger_id: str) -> Dataset | None:
        """The dataset that a ledger is for, if it is registered."""
        rows = self._store.rows("SELECT id FROM dataset WHERE ledger_id = ?", ledger_id)
        return self.dataset(str(rows[0][0])) if rows else None

    def datasets(self) -> list[Dataset]:
        """All datasets, the oldest first."""
        return [self.dataset(str(row[0])) for row in self._store.rows("SELECT id FROM dataset ORDER BY first_seen, id")]

    def register(self, found: Found, ledger: Path, ledger_id: str) -> Dataset:
        """A new dataset with its ledger, under `exclusive`; a file that is known already is refused."""
        self._require_new(found)
        dataset = Dataset(f"{secure().getrandbits(128):032x}", found.path.name, ledger.absolute(), ledger_id, _now())
        with self._store.changing() as connection:
            connection.execute(
                "INSERT INTO dataset VALUES (?, ?, ?, ?, ?)",
                (dataset.id, dataset.name, self._place(ledger), ledger_id, dataset.first_seen),
            )
            _keep_file(connection, found, dataset.id, "", self._store.key)
        return dataset

    def add_version(self, dataset: Dataset, found: Found, signed_off_by: str) -> None:
        """A changed file of a known dataset, confirmed by a person."""
        if found.dataset is not None and found.dataset.id == dataset.id:
            self.note_form(found.fingerprint, found.form)
            return
        self._require_new(found)
        with self._store.changing() as connection:
            _keep_file(connection, found, dataset.id, signed_off_by, self._store.key)

    def add_block(self, dataset: Dataset, found: Found, name: str, signed_off_by: str) -> None:
        """A file of records that are new in a dataset; it is known as this block from now on, whatever is killed."""
        known = found.dataset is not None and found.dataset.id == dataset.id
        if not known:
            self._require_new(found)
        with self._store.changing() as connection:
            if not known:
                _keep_file(connection, found, dataset.id, signed_off_by, self._store.key)
            connection.execute("INSERT OR IGNORE INTO block VALUES (?, ?)", (found.fingerprint, name))

    def block_of(self, found: Found | KnownFile) -> str | None:
        """The name of the block that a file is; None if it is none."""
        rows = self._store.rows("SELECT name FROM block WHERE file = ?", found.fingerprint)
        return str(rows[0][0]) if rows else None

    def note_form(self, fingerprint: bytes, form: FileFormat) -> None:
        """A person says how a known file is written; who says nothing takes back nothing."""
        with self._store.changing() as connection:
            keep_form(connection, fingerprint, form)

    def form_of(self, fingerprint: bytes) -> FileFormat:
        """How a file is written, as somebody said last; as its name and header say if nobody did."""
        return form_kept(self._store.rows("SELECT form FROM form WHERE file = ?", fingerprint))

    def person(self, id: str) -> bytes:  # noqa: A002 - the word of the field
        """The keyed hash under which a person is known; without the key of this registry it says nothing."""
        return hashlib.blake2b(id.encode(), digest_size=16, key=self._store.key, person=b"copriv person").digest()

    def note_ledger(self, dataset: Dataset, ledger: Path) -> None:
        """The ledger of a dataset was found at another place."""
        if ledger.absolute() != dataset.ledger:
            with self._store.changing() as connection:
                connection.execute("UPDATE dataset SET ledger = ? WHERE id = ?", (self._place(ledger), dataset.id))

    def note_unrelated(self, found: Found, signed_off_by: str) -> None:
        """A person says that a file has no record in common with those that it looks like."""
        with self._store.changing() as connection:
            for kin in found.kin:
                connection.execute(
                    "INSERT OR IGNORE INTO unrelated VALUES (?, ?, ?, ?)",
                    (found.fingerprint, kin.file.fingerprint, signed_off_by, _now()),
                )

    def note_public(self, found: Found) -> None:
        """A file whose rows are all public."""
        if found.dataset is not None:
            raise private_as_public(found.path, found.dataset.name, found.dataset.ledger)
        if not self.look_again(found).known:
            with self._store.changing() as connection:
                _keep_file(connection, found, None, "", self._store.key)

    def unrelated_to(self, found: Found) -> set[bytes]:
        """The fingerprints of files that a person has declared to be of other records than this one."""
        rows = self._store.rows("SELECT other FROM unrelated WHERE file = ?", found.fingerprint)
        return {msgspec.convert(row[0], bytes) for row in rows}

    def rows_of(self, found: Found) -> int:
        """How many rows a file has."""
        if found.recognised is not None:
            return found.recognised.rows
        return 0 if (known := self.known_file(found.fingerprint)) is None else known.rows

    def sketches_of(self, found: Found) -> tuple[Sketch, ...]:
        """The sketches of a file: full ones if it was read just now, else those that are kept."""
        if found.recognised is not None:
            return found.recognised.sketches
        known = self.known_file(found.fingerprint)
        return () if known is None else known.sketches

    def known_file(self, fingerprint: bytes) -> KnownFile | None:
        """What is kept of a file."""
        return next(iter(self._files(fingerprint)), None)

    def known_files(self) -> list[KnownFile]:
        """What is kept of every file."""
        return self._files()

    def nameless_files(self) -> list[KnownFile]:
        """Files of blocks of people, each with what is kept of its rows without their ids alone."""
        kept = self._store.rows("SELECT file, kind, columns, distinct_hashes, hashes, places FROM nameless")
        return [replace(file, sketches=(read_sketch(row[1:], b""),)) for row in kept for file in self._files(row[0])]

    def keep_nameless(self, fingerprint: bytes, sketch: Sketch) -> None:
        """Keep what a known file's rows say without their ids."""
        with self._store.changing() as connection:
            keep_nameless(connection, fingerprint, sketch)

    def keep_split(self, fingerprint: bytes, split: Split) -> None:
        """Remember which rows of a file are public; rows once declared stay what they are, so it is written once."""
        with self._store.changing() as connection:
            known = self.known_file(fingerprint)
            if known is not None and known.split is not None:
                require_same_split(known.split, split)
                return
            connection.execute(
                "INSERT INTO split VALUES (?, ?, ?, ?, ?)",
                (fingerprint, pack(split.public), pack(split.private), split.options, split.seed),
            )

    def _place(self, ledger: Path) -> str:
        """Where a ledger is; within the registry's own folder relative to it, so that the folder can be moved."""
        place, folder = ledger.absolute(), self.folder.absolute()
        return str(place.relative_to(folder) if place.is_relative_to(folder) else place)

    def _known_as(self, found: Found) -> Found | None:
        """The file as it is known; None if it is not."""
        rows = self._store.rows("SELECT dataset FROM file WHERE fingerprint = ?", found.fingerprint)
        if not rows:
            return None
        dataset = None if rows[0][0] is None else self.dataset(str(rows[0][0]))
        return replace(found, dataset=dataset, public=dataset is None, kin=())

    def _compared(
        self, found: Found, tables: Sequence[pl.LazyFrame] | None, beside: Iterable[Sketch], tell: Tell
    ) -> Found:
        """An unknown file with what it shares with known ones."""
        if tables is None:
            return found
        known, key = self._files(), self._store.key
        comparable = (*beside, *(sketch for file in known for sketch in file.sketches))
        hidden = [(sketch.kind, sketch.columns) for sketch in comparable]
        wanted = show_wanted(hidden, tables[0].collect_schema().names(), key)
        if not (found.in_memory or has_header(found.path)):
            wanted.append(("rows", common_names(as_one(tables))))
        recognised = recognise(tables, key, wanted, tell)
        return self._with_kin(replace(found, recognised=hide_sketches(recognised, key)), known)

    def _with_kin(self, found: Found, known: Iterable[KnownFile]) -> Found:
        if found.recognised is None:
            return found
        apart, columns, key = self.unrelated_to(found), found.recognised.columns, self._store.key
        kin = find_kin(found.recognised, (file for file in known if file.fingerprint not in apart))
        return replace(found, kin=tuple(show_kin(each, columns, key) for each in kin))

    def _require_new(self, found: Found) -> None:
        now = self.look_again(found)
        if now.public:
            raise public_as_private(found.path)
        if now.dataset is not None:
            raise known_already(found.path, now.dataset.ledger)

    def _files(self, fingerprint: object = None) -> list[KnownFile]:
        statement = "SELECT fingerprint, dataset, path, rows FROM file ORDER BY seen, fingerprint"
        return [self._file(row) for row in self._store.rows(statement) if fingerprint in (None, row[0])]

    def _file(self, row: tuple[object, ...]) -> KnownFile:
        fingerprint, dataset, path, rows = row
        sketches = self._store.rows(
            "SELECT kind, columns, distinct_hashes, hashes, places FROM sketch WHERE file = ? ORDER BY kind, rowid",
            fingerprint,
        )
        splits = self._store.rows("SELECT public, private, options, seed FROM split WHERE file = ?", fingerprint)
        return KnownFile(
            fingerprint=msgspec.convert(fingerprint, bytes),
            dataset=None if dataset is None else str(dataset),
            path=Path(str(path)),
            rows=msgspec.convert(rows, int),
            sketches=tuple(read_sketch(each, self._store.key) for each in sketches),
            split=read_split(splits[0], msgspec.convert(rows, int)) if splits else None,
        )


def _keep_file(
    connection: sqlite3.Connection, found: Found, dataset: str | None, signed_off_by: str, key: bytes
) -> None:
    seen = found.recognised or Recognised(0, (), ())
    columns = msgspec.json.encode(hide_names(seen.columns, key)).decode()
    values = (found.fingerprint, dataset, found.place, seen.rows, columns, _now(), signed_off_by)
    connection.execute("INSERT INTO file VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    for sketch in seen.kept():
        connection.execute("INSERT INTO sketch VALUES (?, ?, ?, ?, ?, ?)", (found.fingerprint, *packed_sketch(sketch)))
    keep_form(connection, found.fingerprint, found.form)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
