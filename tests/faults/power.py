"""A disk that remembers every operation, so that a power cut can be tried at each of them.

What was synchronised is on the disk for good. Of everything later, an arbitrary part may be there and the rest not, and
a write may be torn between two sectors. A file that was deleted may still be there; then nothing written to its
successor is.
"""

from contextlib import contextmanager
from dataclasses import dataclass

import apsw

SECTOR = 512


@dataclass(frozen=True, slots=True)
class Write:
    file: str
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Truncate:
    file: str
    size: int


@dataclass(frozen=True, slots=True)
class Delete:
    file: str


@dataclass(frozen=True, slots=True)
class Sync:
    file: str


@dataclass(frozen=True, slots=True)
class Sent:
    """Not an operation of the disk: at this point an answer left the owner."""

    file = None
    query: bytes
    reply: bytes


class _File(apsw.VFSFile):
    def __init__(self, log, name, flags):
        super().__init__("", name, flags)
        self._log, self._name = log, _plain(name)

    def xWrite(self, data, offset):
        super().xWrite(data, offset)
        self._log.append(Write(self._name, offset, bytes(data)))

    def xTruncate(self, size):
        super().xTruncate(size)
        self._log.append(Truncate(self._name, size))

    def xSync(self, flags):
        super().xSync(flags)
        self._log.append(Sync(self._name))


class _Disk(apsw.VFS):
    def __init__(self, log, name):
        super().__init__(name, "")
        self._log = log

    def xOpen(self, name, flags):
        return _File(self._log, name, flags)

    def xDelete(self, name, and_directory):
        super().xDelete(name, and_directory)
        self._log.append(Delete(_plain(name)))
        if and_directory:
            self._log.append(Sync(_plain(name)))


class Hasty:
    """A connection that does not let itself be told to wait for the disk."""

    def __init__(self, connection):
        self._connection = connection

    def execute(self, statement, *parameters):
        if not statement.startswith("PRAGMA synchronous"):
            return self._connection.execute(statement, *parameters)
        return None

    def close(self):
        self._connection.close()


@contextmanager
def recording(log, pragmas, *, waits=True):
    """A way of connecting to a ledger that logs what happens to its disk, and waits for it or does as it likes."""
    disk = _Disk(log, f"recording-{id(log)}")

    def connect(path):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE, vfs=f"recording-{id(log)}")
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")
        return connection if waits else Hasty(connection)

    try:
        yield connect
    finally:
        disk.unregister()


def cut(log, before, generator):
    """The files as a power cut after these operations may leave them: name to bytes.

    Args:
        log: every operation until the cut.
        before: the files, all safely on disk, before the first operation.
        generator: what survives, and where a write is torn.
    """
    survival = generator.choice([0.0, 1.0, generator.random()])
    return {
        name: data
        for name in sorted({operation.file for operation in log if operation.file} | set(before))
        if (data := _what_is_left([o for o in log if o.file == name], before.get(name), survival, generator))
        is not None
    }


def _what_is_left(operations, data, survival, generator):
    """One file: everything up to its last synchronisation, then some."""
    safe = max((number for number, operation in enumerate(operations) if isinstance(operation, Sync)), default=-1)
    for number, operation in enumerate(operations):
        survives = number <= safe or generator.random() < survival
        if isinstance(operation, Delete) and not survives:
            return data
        if survives:
            data = _apply(operation, data, torn=number > safe and generator.random() < 0.3, generator=generator)
    return data


def _apply(operation, data, *, torn, generator):
    if isinstance(operation, Delete):
        return None
    if isinstance(operation, Sync):
        return data
    held = bytearray(data or b"")
    if isinstance(operation, Truncate):
        held = held[: operation.size].ljust(operation.size, b"\0")
    else:
        new = _tear(operation, generator) if torn else operation.data
        held = held.ljust(operation.offset + len(new), b"\0")
        held[operation.offset : operation.offset + len(new)] = new
    return bytes(held)


def _tear(write, generator):
    """Only the first sectors of a write."""
    sectors = generator.integers(0, len(write.data) // SECTOR + 1)
    return write.data[: max(0, (write.offset // SECTOR + sectors) * SECTOR - write.offset)]


def _plain(name):
    return str(name.filename() if isinstance(name, apsw.URIFilename) else name).rpartition("/")[2]
