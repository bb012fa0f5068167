"""Pages from templates: everything that others have named is text, and a value that is missing is an error."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from copriv.protocol.text import plain
from copriv.report.menu import kind_name, told_along

if TYPE_CHECKING:
    from collections.abc import Sequence

    import jinja2


@dataclass(frozen=True, slots=True)
class Tabled:
    """A table of a page.

    Args:
        caption: what it shows.
        headings: of its columns.
        rows: the first cell of each says what the row is about.
        words: places of columns that hold words, not numbers.
        first: whether the first row is the one that matters most.
    """

    caption: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: frozenset[int] = frozenset()
    first: bool = False


@cache
def _environment() -> jinja2.Environment:
    import jinja2

    loader = jinja2.PackageLoader("copriv.report")
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters["plain"] = plain
    environment.filters["kind_name"] = kind_name
    environment.filters["told_along"] = told_along
    return environment


def render(template: str, statement: object, **more: object) -> str:
    """A page that needs nothing else."""
    return _environment().get_template(template).render(statement=statement, **more)


def day_and_time(stamp: str) -> str:
    """A time as people write it; whatever else it is, as it is.

    >>> day_and_time("2026-11-17T11:03:28+00:00"), day_and_time("")
    ('2026-11-17 11:03 UTC', '')
    """
    day, found, clock = stamp.partition("T")
    return f"{day} {clock[:5]} UTC" if found and stamp.endswith("+00:00") else plain(stamp)
