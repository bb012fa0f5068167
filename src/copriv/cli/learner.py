"""`copriv learner`: set up a study, invite owners, and train with them over the network."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from copriv.cli.train import CentralName, LossName, RuleName

learner = typer.Typer(
    help="The learner's side of a consortium: draft a study, invite owners, train with whoever comes.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class MeetingName(StrEnum):
    """Who speaks first."""

    request = "request"
    broadcast = "broadcast"


class ClockName(StrEnum):
    """When owners are there."""

    always = "always"
    poisson = "poisson"


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


@learner.command()
def draft(
    public: Annotated[Path, typer.Option("--public", help="A CSV or Parquet table of public rows.")],
    target: Annotated[str, typer.Option("--target", help="The column to predict.")],
    owners: Annotated[int, typer.Option("--owners", help="How many owners are expected.")] = 10,
    records: Annotated[int, typer.Option("--records", help="How many records each is expected to have.")] = 10_000,
    epsilon: Annotated[str, typer.Option("--epsilon", help="Asked of every owner.", metavar="FLOAT")] = "1",
    delta: Annotated[float, typer.Option("--delta", help="0 for pure epsilon, else a small probability.")] = 0.0,
    answers: Annotated[int | None, typer.Option("--answers", help="The most answers of an owner.")] = None,
    name: Annotated[str, typer.Option("--name", help="What people call the study.")] = "study",
    asks: Annotated[str, typer.Option("--learner", help="Who asks, as owners will read it (default: not named).")] = "",
    ordinal: Annotated[bool, typer.Option("--ordinal", help="Number the categories of a text target 1, 2 …")] = False,
    positive_above: Annotated[
        float | None, typer.Option("--positive-above", help="For the logistic loss: targets above this are positive.")
    ] = None,
    skip: Annotated[list[str] | None, typer.Option("--skip", help="A column that is no feature; repeatable.")] = None,
    features: Annotated[int, typer.Option("--features", help="Principal components to keep.")] = 10,
    loss: Annotated[LossName, typer.Option("--loss", help="What a mistake costs.")] = LossName.squared,
    huber_threshold: Annotated[
        float, typer.Option("--huber-threshold", help="Residual beyond which the Huber loss grows linearly.")
    ] = 0.25,
    rule: Annotated[
        RuleName, typer.Option("--rule", help="How answers become a model; auto: what should cost the least.")
    ] = RuleName.auto,
    horizon: Annotated[int, typer.Option("--horizon", help="How many meetings (T), for the paper's rule.")] = 1000,
    step: Annotated[float | None, typer.Option("--step", help="The rule's step (default: from public rows).")] = None,
    clip: Annotated[float | None, typer.Option("--clip", help="The clip (default: from public rows).")] = None,
    central: Annotated[
        CentralName, typer.Option("--central", help="Central step: of the proof, or as printed.")
    ] = CentralName.proof,
    regularization: Annotated[float, typer.Option("--regularization", help="Weight of the squared length.")] = 1e-5,
    meeting: Annotated[
        MeetingName, typer.Option("--meeting", help="Who speaks first: owners request, or the learner broadcasts.")
    ] = MeetingName.request,
    clock: Annotated[
        ClockName, typer.Option("--clock", help="Owners are always on, or have Poisson clocks.")
    ] = ClockName.always,
    evaluations: Annotated[
        int, typer.Option("--evaluations", help="How often an owner may be asked for its average loss.")
    ] = 0,
    evaluation_share: Annotated[
        float, typer.Option("--evaluation-share", help="The part of every budget set aside for that.")
    ] = 0.1,
    seed: Annotated[int, typer.Option("--seed", help="Seeds the choice of clip and step.")] = 0,
    out: Annotated[Path, typer.Option("--out", help="The study file to write.")] = Path("study.toml"),
    as_json: _Json = False,
) -> None:
    """Write a study file from public rows: features, rule, clip and box. No private record is looked at.

    The public rows themselves, reduced to numbers, go into a file beside it, for the learner alone.

    copriv learner draft --public public.parquet --target int_rate --owners 10 --records 10000 --epsilon 1
    """
    from copriv.cli.learner_draft import DraftOptions, run_draft

    run_draft(
        DraftOptions(
            public=public,
            target=target,
            owners=owners,
            records=records,
            epsilon=epsilon,
            delta=delta,
            answers=answers,
            name=name,
            ordinal=ordinal,
            positive_above=positive_above,
            skip=tuple(skip or ()),
            features=features,
            loss=loss.value,
            huber_threshold=huber_threshold,
            rule=rule.value,
            horizon=horizon,
            step=step,
            clip=clip,
            central=central.value,
            regularization=regularization,
            meeting=meeting.value,
            clock=clock.value,
            evaluations=evaluations,
            evaluation_share=evaluation_share,
            seed=seed,
            out=out,
            learner=asks,
        ),
        as_json=as_json,
    )


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
