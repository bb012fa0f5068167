"""Settings given by name: unknown names are refused with the known ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from copriv.errors import BadInput


def check_names(given: Mapping[str, object], known: Iterable[str], verb: str) -> None:
    """Refuse names that a verb does not know."""
    names = sorted(known)
    for name in given:
        if name not in names:
            near = get_close_matches(name, names, 1)
            meant = f"did you mean {near[0]}? " if near else ""
            raise BadInput(f"{verb} has no setting {name}", remedy=f"{meant}it has {', '.join(names)}", value=name)
