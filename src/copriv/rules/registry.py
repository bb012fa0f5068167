"""Every rule that can be used, by its name: those of this project, and those that others bring.

A rule from outside comes by entry point (group `copriv.rules`, the object is a `RuleEntry`), or is passed as an entry
and known from then on in this process. The names of this project's rules cannot be taken.
"""

from __future__ import annotations

from copriv.errors import BadInput
from copriv.extensions import extension_names, load_extension
from copriv.rules import averaged, newton, paper, statistics
from copriv.rules.entry import RuleEntry

GROUP = "copriv.rules"

_BUILT_IN = {entry.name: entry for entry in (newton.ENTRY, statistics.ENTRY, averaged.ENTRY, paper.ENTRY)}
_PASSED: dict[str, RuleEntry] = {}


def built_in() -> tuple[RuleEntry, ...]:
    """The rules of this project."""
    return tuple(_BUILT_IN.values())


def rule_names() -> tuple[str, ...]:
    """The names of all rules that can be used here.

    >>> rule_names()[:4]
    ('newton', 'statistics', 'averaged', 'paper')
    """
    outside = sorted({*_PASSED, *extension_names(GROUP)} - set(_BUILT_IN))
    return (*_BUILT_IN, *outside)


def resolve(rule: str | RuleEntry) -> RuleEntry:
    """The entry of a rule: by name, or as it is passed; an entry that is passed is known by its name from then on.

    Fails if no rule has the name, or if another rule has the name of the entry.

    >>> resolve("newton").asks
    'gradient'
    """
    return _remember(rule) if isinstance(rule, RuleEntry) else _find(rule)


def _find(name: str) -> RuleEntry:
    known = _BUILT_IN.get(name) or _PASSED.get(name)
    if known is not None:
        return known
    entry = load_extension(GROUP, name)
    if entry is None:
        raise BadInput(
            f"the rule {name!r} is not known here",
            remedy=f"use one of {', '.join(rule_names())}, or install the package that brings it",
            value=name,
        )
    if not isinstance(entry, RuleEntry) or entry.name != name:
        raise BadInput(
            f"what is installed as the rule {name!r} is no RuleEntry of that name",
            remedy=f"let its entry point in the group {GROUP} name a copriv.rules.entry.RuleEntry",
            value=name,
        )
    return entry


def _remember(entry: RuleEntry) -> RuleEntry:
    taken = _BUILT_IN.get(entry.name)
    if taken is not None and taken != entry:
        raise BadInput(f"a rule from outside is called {entry.name!r}", remedy="give it another name", value=entry.name)
    if taken is None:
        _PASSED[entry.name] = entry
    return entry
