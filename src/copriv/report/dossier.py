"""The dossier of a run: what a validator asks for, every figure with the file and the place that it comes from.

It is made of the files that may be passed on, read as plain JSON, and of nothing else: model.json, privacy.json,
report.json and schedule.json. A figure is a number that stands in one of them, or follows from such numbers by a
formula that is named. `verify` walks every link, finds the very number, and works out the others again.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from copriv.errors import BadInput
from copriv.privacy.attack import most_certain, most_power

FILES = ("model.json", "privacy.json", "report.json", "schedule.json")
FORMAT = 1
_ALIKE = 1e-12

# What follows from linked numbers, by the name of the formula.
FORMULAS: Mapping[str, Callable[[Sequence[Any]], float]] = {
    "sum": math.fsum,
    "largest": max,
    "smallest": min,
    "count": lambda values: float(len(values[0])),
    "(e^ε + δ)/(1 + e^ε)": lambda values: most_certain(values[0], values[1]),
    "hits at 1 % false alarms": lambda values: most_power(values[0], values[1], 0.01),
    "hits at 5 % false alarms": lambda values: most_power(values[0], values[1], 0.05),
}


class Link(msgspec.Struct, frozen=True):
    """A place in a file of the run, as a JSON pointer (RFC 6901)."""

    file: str
    path: str


class Entry(msgspec.Struct, frozen=True):
    """One figure or fact: the value, and the places that it comes from; with a formula, it follows from them."""

    name: str
    value: float | str
    links: tuple[Link, ...]
    formula: str = ""

    @property
    def shown(self) -> str:
        """The value for people."""
        return self.value if isinstance(self.value, str) else f"{self.value:,.6g}"


class Section(msgspec.Struct, frozen=True):
    """A part of the dossier: a heading, words without any figure, and figures."""

    title: str
    words: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()


class FileSeal(msgspec.Struct, frozen=True):
    """A file of the run, and the SHA-256 of its bytes; no file of a run carries a signature of its own."""

    file: str
    sha256: str
    signature: str | None = None


class SignOff(msgspec.Struct, frozen=True):
    """Who stands for what; an empty name is a line to be signed by hand."""

    role: str
    name: str = ""


class Dossier(msgspec.Struct, frozen=True):
    """Everything; `private` says whether it may be passed on."""

    title: str
    private: bool
    date: str
    sections: tuple[Section, ...]
    files: tuple[FileSeal, ...]
    sign_offs: tuple[SignOff, ...]
    format: int = FORMAT

    @property
    def entries(self) -> list[Entry]:
        """All figures and facts."""
        return [entry for section in self.sections for entry in section.entries]


class Sources:
    """The files of a run, as they are; entries are made of what is found in them."""

    def __init__(self, folder: Path) -> None:
        self.bytes: dict[str, bytes] = {}
        for name in FILES:
            path = folder / name
            if not path.is_file():
                raise BadInput(
                    f"{folder} has no {name}", remedy="write the reports first: copriv report RUN", value=str(path)
                )
            self.bytes[name] = path.read_bytes()
        self._values = {name: json.loads(content) for name, content in self.bytes.items()}

    def find(self, file: str, path: str) -> Any:  # noqa: ANN401 - whatever JSON has
        """What stands at a place; None if there is no such place."""
        return find(self._values[file], path)

    def entry(self, name: str, file: str, path: str) -> list[Entry]:
        """A figure that stands in a file; nothing if it is not there or not said."""
        value = self.find(file, path)
        if isinstance(value, bool) or not isinstance(value, int | float | str) or value == "":
            return []
        return [Entry(name, value if isinstance(value, str) else float(value), (Link(file, path),))]

    def derived(self, name: str, formula: str, file: str, paths: Sequence[str]) -> list[Entry]:
        """A figure that follows from others; nothing if one of them is missing."""
        values = [self.find(file, path) for path in paths]
        if not values or any(value is None for value in values):
            return []
        links = tuple(Link(file, path) for path in paths)
        return [Entry(name, float(FORMULAS[formula](values)), links, formula)]

    def seals(self) -> tuple[FileSeal, ...]:
        """Every file with its SHA-256."""
        return tuple(FileSeal(name, hashlib.sha256(content).hexdigest()) for name, content in self.bytes.items())


def find(value: Any, path: str) -> Any:  # noqa: ANN401 - whatever JSON has
    """What a JSON pointer leads to; None if it leads nowhere.

    >>> find({"a": [{"b/c": 7}]}, "/a/0/b~1c"), find({"a": []}, "/a/0")
    (7, None)
    """
    for part in path.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list):
            value = value[int(key)] if key.isdigit() and int(key) < len(value) else None
        else:
            value = value.get(key) if isinstance(value, dict) else None
        if value is None:
            return None
    return value


def verify(dossier: Dossier, folder: Path) -> list[str]:
    """What is wrong with a dossier: figures without a source or not as their source says, and files that changed."""
    sources = Sources(folder)
    wrong = [f"{seal.file} is not the file that the dossier was made of" for seal in _changed(dossier, sources)]
    sealed = {seal.file for seal in dossier.files}
    for entry in dossier.entries:
        if not entry.links:
            wrong.append(f"{entry.name}: no source")
        elif any(link.file not in sealed for link in entry.links):
            wrong.append(f"{entry.name}: a source that is no file of the run")
        elif not _agrees(entry, [sources.find(link.file, link.path) for link in entry.links]):
            wrong.append(f"{entry.name}: {entry.value} is not what its source says")
    return wrong


def _changed(dossier: Dossier, sources: Sources) -> list[FileSeal]:
    now = {seal.file: seal for seal in sources.seals()}
    return [seal for seal in dossier.files if now.get(seal.file) != seal]


def _agrees(entry: Entry, values: Sequence[Any]) -> bool:
    if any(value is None for value in values) or (entry.formula and entry.formula not in FORMULAS):
        return False
    there = FORMULAS[entry.formula](values) if entry.formula else values[0]
    if isinstance(entry.value, str) or isinstance(there, str):
        return len(values) == 1 and bool(there == entry.value)
    return (bool(entry.formula) or len(values) == 1) and math.isclose(there, entry.value, rel_tol=_ALIKE, abs_tol=0.0)


def parse_sign_off(text: str) -> SignOff:
    """A role and a name, as they are written on a command line.

    >>> parse_sign_off("validator: A. Kim"), parse_sign_off("owner")
    (SignOff(role='validator', name='A. Kim'), SignOff(role='owner', name=''))
    """
    role, _, name = text.partition(":")
    if not role.strip():
        raise BadInput(f"a sign-off {text!r}", remedy="write it as ROLE: NAME, or ROLE alone", value=text)
    return SignOff(role.strip(), name.strip())
