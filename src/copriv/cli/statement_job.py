"""What `copriv ledger statement` and `copriv owner statement` do: say what a dataset has lost in all studies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import typer

from copriv.owner.workspace import OwnerWorkspace
from copriv.protocol.text import plain
from copriv.report.dataset_statement import FOR_WHOM, DatasetStatement, state_dataset, write_dataset_statements


def run_statement(ledgers: Sequence[Path], out: Path | None, *, as_json: bool) -> None:
    """State what the datasets of some ledgers have lost; as JSON one object, or a list of them if there are several."""
    date = datetime.now(UTC).isoformat(timespec="seconds")
    statements = [state_dataset(path, date) for path in ledgers]
    written = [] if out is None else write_dataset_statements(statements, out)
    if as_json:
        typer.echo(msgspec.json.encode(statements[0] if len(statements) == 1 else statements).decode())
        return
    for statement in statements:
        for line in _lines(statement):
            typer.echo(line)
    typer.echo(FOR_WHOM)
    for path in written:
        typer.echo(f"written: {path}")


def run_owner_statement(folder: Path, out: Path | None, *, as_json: bool) -> None:
    """State what the records of an owner's folder have lost."""
    run_statement([Path(OwnerWorkspace(folder).engagement.ledger)], out, as_json=as_json)


def _lines(told: DatasetStatement) -> Iterator[str]:
    yield f"what the records of {plain(told.owner)} have lost; stated {told.date} by copriv {told.copriv}"
    lost = f"ε = {told.spent.epsilon:.6g}, δ = {told.spent.delta:g}"
    yield f"  lost      {lost} for any one {told.unit} ({told.adjacency})"
    if told.promised is None or told.left is None:
        yield "  promised  no budget is declared: spending is noted"
    else:
        yield f"  promised  ε = {told.promised.epsilon:g}, δ = {told.promised.delta:g}; left: ε = {told.left:.6g}"
    if told.weakness:
        yield f"  beware    {told.weakness}"
    for account in told.accounts:
        left = "no limit" if account.left is None else f"{account.left:.12g} left"
        yield f"  account   {account.currency}: {account.spent:.12g} spent, {left}"
    for study in told.studies:
        spent = f"ε = {study.spent.epsilon:.6g}, δ = {study.spent.delta:g} in {study.answers} answers"
        who = f"{study.study}, learner: {study.learner}, approved by {plain(study.approved_by)}"
        yield f"  study     {who}: {spent}, {study.first or 'no answer yet'}"
    for change in told.changes:
        yield f"  signed    {change.date}: {change.words}"
    for words in told.public:
        yield f"  public    {words}"
