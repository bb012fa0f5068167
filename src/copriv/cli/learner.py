"""`copriv learner`: set up a study, invite owners, and train with them over the network."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from copriv.cli.command import argument, command, group, option
from copriv.cli.options import OUTPUT, AsJson
from copriv.cli.page import HOST, PAGE, PORT, page_beside
from copriv.cli.plan import plan
from copriv.cli.say import say

if TYPE_CHECKING:
    from copriv.runtime.learner_setup import InvitationOptions

learner = group("The learner's side of a consortium: draft a study, invite owners, train with whoever comes.")


_Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

authority = group("The authority that signs certificates: let a new one take over from the old one.")
learner.add_typer(authority, name="authority")
learner.command(name="draft")(plan)


_OWNER, _BROKER, _MEETING = "Owner", "Broker", "Meetings"


@dataclass(frozen=True, kw_only=True)
class _Folder(AsJson):
    folder: Annotated[Path, option("--folder", OUTPUT, "The learner's folder.")] = Path("learner")


@dataclass(frozen=True, kw_only=True)
class _Init(_Folder):
    study: Annotated[Path, argument("The study file.")]
    host: Annotated[
        list[str] | None,
        option("--host", _BROKER, "A name or address under which owners reach this machine; repeatable."),
    ] = None
    listen: Annotated[str, option("--listen", _BROKER, "The address on which the broker listens.")] = "127.0.0.1"
    port: Annotated[int, option("--port", _BROKER, "The broker's port.")] = 4222


@dataclass(frozen=True, kw_only=True)
class _Inviting(_Folder):
    out: Annotated[Path | None, option("--out", OUTPUT, "The file to write (default: NAME.invitation).")] = None
    days: Annotated[int, option("--days", _OWNER, "How long each of its certificates is valid: 30 to 90.")] = 60
    records: Annotated[
        int | None,
        option("--records", _OWNER, "The most records it may claim (default: 10 times what the study expects)."),
    ] = None
    again: Annotated[bool, option("--again", _OWNER, "Let it in a second time; its old certificate is revoked.")] = (
        False
    )

    def how(self) -> InvitationOptions:
        from copriv.runtime.learner_setup import InvitationOptions

        names = ("folder", "out", "days", "records", "again")
        return InvitationOptions(**{name: getattr(self, name) for name in names})


@dataclass(frozen=True, kw_only=True)
class _Invite(_Inviting):
    name: Annotated[str, argument("The owner's name: letters, digits, - and _.")]


@dataclass(frozen=True, kw_only=True)
class _Approve(_Inviting):
    request: Annotated[Path, argument("What `copriv owner request` has written.")]


@dataclass(frozen=True, kw_only=True)
class _Revoke(_Folder):
    name: Annotated[str, argument("The owner's name.")]


@dataclass(frozen=True, kw_only=True)
class _Run(_Folder):
    at_least: Annotated[
        int | None, option("--at-least", _MEETING, "Begin with this many owners (default: all that are invited).")
    ] = None
    wait: Annotated[float, option("--wait", _MEETING, "With --at-least: seconds to wait for the others, too.")] = 30.0
    deadline: Annotated[float, option("--deadline", _MEETING, "Seconds that an owner has for an answer.")] = 30.0
    connect: Annotated[bool, option("--connect", _BROKER, "Use a broker that runs already, and never start one.")] = (
        False
    )
    schedule: Annotated[
        Path | None, option("--schedule", _MEETING, "Meet owners along the schedule.json of another run.")
    ] = None
    log: Annotated[
        Path | None, option("--log", OUTPUT, "Add everything that happens to this file, one JSON line each.")
    ] = None
    dashboard: Annotated[int | None, option("--dashboard", PAGE, PORT)] = None
    dashboard_host: Annotated[str, option("--dashboard-host", PAGE, HOST)] = "127.0.0.1"


@dataclass(frozen=True, kw_only=True)
class _Retire(_Folder):
    force: Annotated[bool, option("--force", _OWNER, "Lock out whoever still depends on the old one.")] = False


@command(learner, _Init)
def init(options: _Init) -> None:
    """Make the learner's folder: its certificate authority, its certificates and a strict broker configuration.

    copriv learner init study.toml --host learner.example.org --listen 0.0.0.0
    """
    from copriv.report.network_sentences import learner_made
    from copriv.runtime.learner_setup import make_learner
    from copriv.transport.learner_workspace import Address

    address = Address(options.host or ["127.0.0.1"], options.listen, options.port)
    told = make_learner(options.study, options.folder, address)
    say(told, learner_made(told), as_json=options.as_json)


@command(learner, _Invite)
def invite(options: _Invite) -> None:
    """For rehearsals on one machine: make one file for one owner with certificate, key, address and terms, a secret.

    copriv learner invite first-bank
    """
    from copriv.report.network_sentences import invited
    from copriv.runtime.learner_setup import invite_owner

    told = invite_owner(options.name, options.how())
    say(told, invited(told), as_json=options.as_json)


@command(learner, _Approve)
def approve(options: _Approve) -> None:
    """Answer an owner's request with certificate, authority, address and terms. Its key stays with the owner.

    copriv learner approve first-bank.request
    """
    from copriv.report.network_sentences import approved
    from copriv.runtime.learner_setup import approve_owner

    told = approve_owner(options.request, options.how())
    say(told, approved(told), as_json=options.as_json)


@command(learner, _Revoke)
def revoke(options: _Revoke) -> None:
    """Shut an owner out, at once: its link is cut, and it cannot come back.

    copriv learner revoke first-bank
    """
    from copriv.report.network_sentences import revoked
    from copriv.runtime.learner_setup import revoke_owner

    told = revoke_owner(options.name, options.folder)
    say(told, revoked(told), as_json=options.as_json)


@command(learner, _Folder)
def status(options: _Folder) -> None:
    """Show the study, how far it is, and who is connected, waited for, done or expelled.

    copriv learner status
    """
    from copriv.report.network_sheets import learner_lines
    from copriv.runtime.learner_status import learner_status
    from copriv.transport.learner_workspace import LearnerWorkspace

    told = learner_status(LearnerWorkspace(options.folder))
    say(told, learner_lines(told), as_json=options.as_json)


@command(learner, _Run)
def run(options: _Run) -> None:
    """Start the broker, wait for the owners and train; a run that was interrupted goes on where it stood.

    copriv learner run --at-least 8
    """
    from copriv.cli.person import heed_termination
    from copriv.report.narrator import narrated
    from copriv.report.network_run import ARCHIVE
    from copriv.report.network_sheets import show_joint
    from copriv.runtime.learner_server import ServerOptions, run_study
    from copriv.runtime.schedule_file import read_trace
    from copriv.transport.learner_workspace import LearnerWorkspace

    heed_termination()
    names = ("folder", "at_least", "wait", "deadline", "connect")
    trace = None if options.schedule is None else read_trace(options.schedule)
    page = page_beside("learner", LearnerWorkspace(options.folder).folder, options.dashboard, options.dashboard_host)
    with page, narrated(options.log) as tell:
        server = ServerOptions(**{name: getattr(options, name) for name in names}, trace=trace)
        told = run_study(server, tell, ARCHIVE)
    if options.as_json:
        say(told, (), as_json=True)
    else:
        show_joint(told)


@command(authority, _Folder)
def roll(options: _Folder) -> None:
    """Make a second authority: it signs from now on, both are trusted, and owners learn of it when they renew.

    copriv learner authority roll
    """
    from copriv.report.network_sentences import rolled
    from copriv.runtime.learner_setup import roll_authority

    told = roll_authority(options.folder)
    say(told, rolled(told, options.folder), as_json=options.as_json)


@command(authority, _Retire)
def retire(options: _Retire) -> None:
    """Trust the old authority no more, when nobody depends on it.

    copriv learner authority retire
    """
    from copriv.report.network_sentences import retired
    from copriv.runtime.learner_setup import retire_authority

    told = retire_authority(options.folder, force=options.force)
    say(told, retired(told), as_json=options.as_json)
