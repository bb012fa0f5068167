"""What `copriv ledger history` does: tell what happened, when, for whom, at which price, and what was sent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import typer

from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.protocol.text import plain
from copriv.report.ledger_history import Event, history, lines


class Told(msgspec.Struct):
    """The history of one ledger."""

    ledger: str
    owner: str
    events: list[Event]


def run_history(paths: Sequence[Path], *, values: bool, as_json: bool) -> None:
    """Tell the history of some ledgers; as JSON everything, one object or a list of them if there are several."""
    told = [_told(path, values=values or as_json) for path in paths]
    if as_json:
        typer.echo(msgspec.json.encode(told[0] if len(told) == 1 else told).decode())
        return
    for each in told:
        typer.echo(f"the ledger {each.ledger} of {plain(each.owner)}; times are UTC, every price is for any one record")
        for line in lines(each.events):
            typer.echo(line)


def _told(path: Path, *, values: bool) -> Told:
    ledger = SqliteLedger(path)
    try:
        return Told(str(path), ledger.book().owner, history(ledger, values=values))
    finally:
        ledger.close()
