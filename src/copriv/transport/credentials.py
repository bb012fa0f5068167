"""A private key and its certificate in one file, so that both change in one moment. What is named .key is secret."""

from __future__ import annotations

import os
from pathlib import Path

from copriv.errors import BadInput
from copriv.transport.authority import Pair
from copriv.transport.certificates import split

_END_OF_KEY = "-----END PRIVATE KEY-----\n"


def credentials_text(pair: Pair) -> str:
    """Key and certificate as one text."""
    return pair.key + pair.certificate


def read_credentials(path: Path) -> Pair:
    """Key and certificate of a file."""
    join_files(path)
    if not path.is_file():
        raise BadInput(f"there is no {path}", remedy="restore it, or make a new request", value=str(path))
    text = path.read_text(encoding="ascii", errors="replace")
    certificates, end = split(text), text.find(_END_OF_KEY)
    if not certificates or end < 0:
        raise BadInput(
            f"{path} does not hold a key and its certificate",
            remedy="restore it, or make a new request",
            value=str(path),
        )
    return Pair(certificates[0], text[: end + len(_END_OF_KEY)])


def write_credentials(path: Path, pair: Pair) -> None:
    """Both at once, or nothing."""
    replace_file(path, credentials_text(pair).encode())


def join_files(path: Path) -> None:
    """Folders of earlier versions have the certificate in a file of its own: join it to the key, once."""
    apart = path.with_suffix(".pem")
    if apart.is_file() and path.is_file():
        key = path.read_text(encoding="ascii")
        if not split(key):
            replace_file(path, (key + apart.read_text(encoding="ascii")).encode())
        apart.unlink()


def replace_file(path: Path, content: bytes) -> None:
    """A new content that nobody else may read, complete or not at all."""
    draft_file(path, content).rename(path)


def draft_file(path: Path, content: bytes) -> Path:
    """A file beside this one, written to the disk, that may take its place."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return draft
