"""`copriv learner`: set up a study, invite owners, and train with them over the network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from copriv.cli.plan import plan

learner = typer.Typer(
    help="The learner's side of a consortium: draft a study, invite owners, train with whoever comes.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


_Folder = Annotated[Path, typer.Option("--folder", help="The learner's folder.")]
_Name = Annotated[str, typer.Argument(help="The owner's name: letters, digits, - and _.")]
_Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
_Days = Annotated[int, typer.Option("--days", help="How long each of its certificates is valid: 30 to 90.")]
_Again = Annotated[bool, typer.Option("--again", help="Let an owner in a second time; its old certificate is revoked.")]
_Records = Annotated[
    int | None,
    typer.Option("--records", help="The most records it may claim (default: 10 times what the study expects)."),
]
_HERE = Path("learner")

authority = typer.Typer(
    help="The authority that signs certificates: let a new one take over from the old one.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
learner.add_typer(authority, name="authority")
learner.command(name="draft")(plan)


@learner.command()
def init(
    study: Annotated[Path, typer.Argument(help="The study file.")],
    folder: _Folder = _HERE,
    host: Annotated[
        list[str] | None,
        typer.Option("--host", help="A name or address under which owners reach this machine; repeatable."),
    ] = None,
    listen: Annotated[str, typer.Option("--listen", help="The address on which the broker listens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="The broker's port.")] = 4222,
    as_json: _Json = False,
) -> None:
    """Make the learner's folder: its certificate authority, its certificates and a strict broker configuration.

    copriv learner init study.toml --host learner.example.org --listen 0.0.0.0
    """
    from copriv.cli.learner_job import run_init

    run_init(study, folder, host or ["127.0.0.1"], listen, port, as_json=as_json)


@learner.command()
def invite(
    name: _Name,
    folder: _Folder = _HERE,
    out: Annotated[Path | None, typer.Option("--out", help="The file to write (default: NAME.invitation).")] = None,
    days: _Days = 60,
    records: _Records = None,
    again: _Again = False,
    as_json: _Json = False,
) -> None:
    """For rehearsals on one machine: make one file for one owner with certificate, key, address and terms, a secret.

    copriv learner invite first-bank
    """
    from copriv.cli.learner_job import run_invite

    run_invite(name, folder, out or Path(f"{name}.invitation"), days, records, again=again, as_json=as_json)


@learner.command()
def approve(
    request: Annotated[Path, typer.Argument(help="What `copriv owner request` has written.")],
    folder: _Folder = _HERE,
    out: Annotated[Path | None, typer.Option("--out", help="The file to write (default: NAME.invitation).")] = None,
    days: _Days = 60,
    records: _Records = None,
    again: _Again = False,
    as_json: _Json = False,
) -> None:
    """Answer an owner's request with certificate, authority, address and terms. Its key stays with the owner.

    copriv learner approve first-bank.request
    """
    from copriv.cli.learner_approve import run_approve

    run_approve(request, folder, out, days, records, again=again, as_json=as_json)


@learner.command()
def revoke(name: _Name, folder: _Folder = _HERE, as_json: _Json = False) -> None:
    """Shut an owner out, at once: its link is cut, and it cannot come back.

    copriv learner revoke first-bank
    """
    from copriv.cli.learner_job import run_revoke

    run_revoke(name, folder, as_json=as_json)


@learner.command()
def status(folder: _Folder = _HERE, as_json: _Json = False) -> None:
    """Show the study, who is invited, and how far the run is.

    copriv learner status
    """
    from copriv.cli.learner_job import run_status

    run_status(folder, as_json=as_json)


@learner.command()
def run(
    folder: _Folder = _HERE,
    at_least: Annotated[
        int | None, typer.Option("--at-least", help="Begin with this many owners (default: all that are invited).")
    ] = None,
    wait: Annotated[float, typer.Option("--wait", help="With --at-least: seconds to wait for the others, too.")] = 30.0,
    deadline: Annotated[float, typer.Option("--deadline", help="Seconds that an owner has for an answer.")] = 30.0,
    connect: Annotated[
        bool, typer.Option("--connect", help="Use a broker that runs already, and never start one.")
    ] = False,
    schedule: Annotated[
        Path | None, typer.Option("--schedule", help="Meet owners along the schedule.json of another run.")
    ] = None,
    as_json: _Json = False,
) -> None:
    """Start the broker, wait for the owners and train; a run that was interrupted goes on where it stood.

    copriv learner run --at-least 8
    """
    from copriv.cli.learner_run import RunOptions, run_learner

    run_learner(RunOptions(folder, at_least, wait, deadline, connect, schedule), as_json=as_json)


@authority.command()
def roll(folder: _Folder = _HERE, as_json: _Json = False) -> None:
    """Make a second authority: it signs from now on, both are trusted, and owners learn of it when they renew.

    copriv learner authority roll
    """
    from copriv.cli.learner_approve import run_roll

    run_roll(folder, as_json=as_json)


@authority.command()
def retire(
    folder: _Folder = _HERE,
    force: Annotated[bool, typer.Option("--force", help="Lock out whoever still depends on the old one.")] = False,
    as_json: _Json = False,
) -> None:
    """Trust the old authority no more, when nobody depends on it.

    copriv learner authority retire
    """
    from copriv.cli.learner_approve import run_retire

    run_retire(folder, force=force, as_json=as_json)
