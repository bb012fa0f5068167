"""A number for each owner from a file: one a line, `owner,value` lines, or JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

from copriv.errors import BadInput


def read_values(path: Path, owners: Sequence[str], what: str) -> list[str]:
    """The values of a file in the order of the owners, as they are written."""
    if not path.is_file():
        raise BadInput(f"there is no file {path}", remedy=f"give a file with one {what} an owner", value=str(path))
    content = path.read_text(encoding="utf-8")
    given = _from_json(content, path) if path.suffix.lower() == ".json" else _from_lines(content)
    return match_values(given, owners, what)


def match_values(given: list[str] | dict[str, str], owners: Sequence[str], what: str) -> list[str]:
    """Values in the order of the owners: one each, or by name.

    >>> match_values({"b": "2", "a": "1"}, ["a", "b"], "epsilon")
    ['1', '2']
    """
    return _by_name(given, owners, what) if isinstance(given, dict) else _in_order(given, owners, what)


def _from_json(content: str, path: Path) -> list[str] | dict[str, str]:
    try:
        found = json.loads(content, parse_float=str, parse_int=str, parse_constant=str)
    except json.JSONDecodeError as problem:
        raise BadInput(f"{path} is not JSON: {problem}", remedy="correct it", value=str(path)) from problem
    if isinstance(found, dict):
        return {str(owner): str(value) for owner, value in found.items()}
    if isinstance(found, list):
        return [str(value) for value in found]
    raise BadInput(f"{path} holds neither a list nor an object", remedy="give one number an owner", value=str(path))


def _from_lines(content: str) -> list[str] | dict[str, str]:
    rows = [row for row in csv.reader(content.splitlines()) if row and not row[0].startswith("#")]
    if all(len(row) == 1 for row in rows):
        return [row[0].strip() for row in rows]
    if rows and rows[0][-1].strip().lower() in {"epsilon", "rate", "value"}:
        rows = rows[1:]
    return {row[0].strip(): row[-1].strip() for row in rows}


def _in_order(given: list[str], owners: Sequence[str], what: str) -> list[str]:
    if len(given) != len(owners):
        raise BadInput(
            f"{len(given)} values of {what} for {len(owners)} owners",
            remedy=f"give {len(owners)}, one an owner, in this order: {_some(owners)}",
            value=len(given),
        )
    return given


def _by_name(given: dict[str, str], owners: Sequence[str], what: str) -> list[str]:
    missing = [owner for owner in owners if owner not in given]
    unknown = [owner for owner in given if owner not in owners]
    if missing or unknown:
        problem = f"no {what} for {_some(missing)}" if missing else f"{what} for unknown owners: {_some(unknown)}"
        raise BadInput(problem, remedy=f"name exactly these owners: {_some(owners)}", value=missing or unknown)
    return [given[owner] for owner in owners]


def _some(names: Sequence[str], most: int = 8) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
