"""The `copriv` command: one line of help a command, and errors that say what to do."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import typer

from copriv.cli.audit import audit
from copriv.cli.carry import carry
from copriv.cli.coefficients import coefficients
from copriv.cli.dossier import dossier
from copriv.cli.export import export
from copriv.cli.forecast import forecast
from copriv.cli.generate import generate
from copriv.cli.learner import learner
from copriv.cli.ledger import ledger
from copriv.cli.owner import owner
from copriv.cli.page import dashboard
from copriv.cli.periods import periods
from copriv.cli.plan import plan
from copriv.cli.power import power
from copriv.cli.predict import predict
from copriv.cli.report import report
from copriv.cli.reproduce import reproduce
from copriv.cli.sweep import sweep
from copriv.cli.train import train
from copriv.cli.verdict import verdict
from copriv.errors import CoprivError
from copriv.protocol.text import plain

BAD_INPUT = 2
BROKEN = 70
INTERRUPTED = 130
_LONGEST_COMPLAINT = 2_000

_EXTRAS = {
    **dict.fromkeys(("nats", "cryptography", "tomli_w"), "consortium"),
    **dict.fromkeys(("starlette", "uvicorn"), "dashboard"),
    "dask": "dask",
}

app = typer.Typer(
    name="copriv",
    help="Train one model across owners that may not pool their records, each under its own privacy guarantee.\n\n"
    "Start with `copriv train`: ten synthetic banks, nothing to configure.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(train)
app.command()(predict)
app.command()(generate)
app.command()(periods)
app.command()(forecast)
app.command()(power)
app.command()(sweep)
app.command()(audit)
app.command()(reproduce)
app.command()(plan)
app.command()(carry)
app.command()(verdict)
app.command()(dossier)
app.command()(export)
app.command()(dashboard)
app.command()(report)
app.command()(coefficients)
app.add_typer(ledger, name="ledger")
app.add_typer(learner, name="learner")
app.add_typer(owner, name="owner")


@app.callback(invoke_without_command=True)
def root(
    version: bool = typer.Option(False, "--version", help="Show the version and stop.", is_eager=True),
) -> None:
    """Options that stand before a command."""
    if version:
        from copriv import __version__

        typer.echo(__version__)
        raise typer.Exit


def main() -> NoReturn:
    """Run the command line; whatever happens, a user sees a sentence and not a traceback."""
    _share_the_cores()
    try:
        app()
    except CoprivError as problem:
        _complain(f"error: {problem.problem}", f"remedy: {problem.remedy}")
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        _complain("interrupted; what owners have answered is on record in their ledgers")
        sys.exit(INTERRUPTED)
    except ModuleNotFoundError as problem:
        extra = _EXTRAS.get(str(problem.name).partition(".")[0])
        if extra is None:
            raise
        _complain(f"error: {problem.name} is not installed", f"remedy: pip install 'copriv[{extra}]'")
        sys.exit(BAD_INPUT)
    except Exception as problem:
        if os.environ.get("COPRIV_TRACEBACK"):
            raise
        _complain(
            f"error: something broke that should not: {type(problem).__name__}: {problem}",
            "remedy: run it again with COPRIV_TRACEBACK=1 and report what it prints",
        )
        sys.exit(BROKEN)
    sys.exit(0)


def _share_the_cores() -> None:
    """BLAS sees small matrices alone; its idle threads would spin, and slow whoever else computes on this machine."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _complain(*lines: str) -> None:
    for line in lines:
        typer.echo(plain(line, _LONGEST_COMPLAINT), err=True)
