"""The text of a file as UTF-8: as it lies on disk, or unpacked and converted in memory.

A plain UTF-8 file stays where it is and may be larger than memory. Any other one is held in memory: a second, readable
copy of private records never lies on a disk. Each letter is converted by itself, so no record changes another.
"""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TypeAlias, cast

from copriv.errors import BadTable

Tell: TypeAlias = Callable[[int, int], None]
# Where the text is: in a file, or here.
Source: TypeAlias = Path | bytes

PACKED = ".gz"
_CHUNK = 4 << 20
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_UTF32_MARKS = (b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")


def open_text(path: Path, encoding: str | None, tell: Tell, *, header: bool = True) -> Source:
    """The file itself if it is plain UTF-8, or else its text as UTF-8; one that cannot be unpacked is refused.

    Args:
        path: the file.
        encoding: as the user says it; a byte order mark before a header wins.
        tell: is told how many bytes of how many are read.
        header: whether the first line is no record; if it is one, its first bytes say nothing about the others.
    """
    try:
        found = _marked_encoding(path, encoding) if header else _said_encoding(encoding)
        packed = path.suffix.lower() == PACKED
        return path if found == "utf-8" and not packed else _convert(path, found, tell)
    except (OSError, EOFError, zlib.error) as problem:
        raise BadTable(
            f"{path.name} cannot be read: {problem}", remedy="check that the file is complete", value=str(path)
        ) from problem


def read_chunks(source: Source, tell: Tell) -> Iterator[bytes]:
    """The text in pieces, without a byte order mark; `tell` is told how many bytes of how many are read."""
    total = source.stat().st_size if isinstance(source, Path) else len(source)
    with _file(source) as file:
        if file.read(len(_UTF8_MARK)) != _UTF8_MARK:
            file.seek(0)
        while chunk := file.read(_CHUNK):
            yield chunk
            tell(file.tell(), total)


def read_line(source: Source, most: int) -> bytes:
    """The first line with its end, without a byte order mark; not more than `most` bytes of it."""
    with _file(source) as file:
        return file.readline(most).removeprefix(_UTF8_MARK)


def read_lines(source: Source, tell: Tell) -> Iterator[bytes]:
    """Every line without its end; what follows the last line end is a line only if there is something."""
    rest = b""
    for chunk in read_chunks(source, tell):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
    if rest:
        yield rest


def _file(source: Source) -> IO[bytes]:
    return source.open("rb") if isinstance(source, Path) else io.BytesIO(source)


def _said_encoding(given: str | None) -> str:
    """The user says it, or else it is UTF-8; UTF-16 is little endian if nothing else is said."""
    return "utf-16-le" if given == "utf-16" else given or "utf-8"


def _marked_encoding(path: Path, given: str | None) -> str:
    """A byte order mark says it, or else the user does."""
    with path.open("rb") as file:
        start = _unpacked(path, file).read(4)
    if start.startswith(_UTF32_MARKS):
        raise BadTable(f"{path.name} is UTF-32", remedy="convert it: iconv -f UTF-32 -t UTF-8", value=str(path))
    if start.startswith(_UTF8_MARK):
        return "utf-8"
    if start.startswith(_UTF16_MARKS):
        return "utf-16"
    return _said_encoding(given)


def _convert(path: Path, encoding: str, tell: Tell) -> bytes:
    """The text as UTF-8; of a file that says it is UTF-8, the bytes as they are."""
    pieces = list(_pieces(path, tell))
    if encoding == "utf-8":
        return b"".join(pieces)
    if encoding.startswith("utf-16") and sum(map(len, pieces)) % 2:
        raise BadTable(
            f"{path.name} has an odd number of bytes, so it is not UTF-16",
            remedy="check that the file is complete, or say its --encoding",
            value=str(path),
        )
    return b"".join(piece.encode() for piece in codecs.iterdecode(iter(pieces), encoding, errors="replace"))


def _pieces(path: Path, tell: Tell) -> Iterator[bytes]:
    total = path.stat().st_size
    with path.open("rb") as file:
        unpacked = _unpacked(path, file)
        while piece := unpacked.read(_CHUNK):
            yield piece
            tell(file.tell(), total)


def _unpacked(path: Path, file: IO[bytes]) -> IO[bytes]:
    return cast(IO[bytes], gzip.GzipFile(fileobj=file)) if path.suffix.lower() == PACKED else file
