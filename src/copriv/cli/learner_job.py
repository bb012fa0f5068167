"""What `copriv learner init`, `invite`, `revoke` and `status` do."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import typer

from copriv.cli.expiry import Expiry, expiry_of, warnings_of, words_of
from copriv.cli.learner_approve import require_new
from copriv.entropy import secure
from copriv.errors import BadInput
from copriv.learner.checkpoint import Checkpoint
from copriv.learner.public_rows import public_rows_beside, read_sample
from copriv.privacy.weakness import weakness_of
from copriv.protocol.study_file import read_study
from copriv.rules.newton import NewtonRule
from copriv.transport.certificates import fingerprint
from copriv.transport.invitation import write_invitation
from copriv.transport.learner_workspace import LearnerWorkspace
from copriv.transport.subjects import require_name

_REMEDY = (
    "certificates renew themselves while `copriv learner run` and `copriv owner serve` do; "
    "for an authority: copriv learner authority roll"
)


def run_init(study: Path, folder: Path, hosts: Sequence[str], listen: str, port: int, *, as_json: bool) -> None:
    """Make the learner's folder."""
    if not study.is_file():
        raise BadInput(
            f"there is no study file {study}", remedy="write one with `copriv learner draft`", value=str(study)
        )
    made = LearnerWorkspace.create(
        folder,
        study.read_text(encoding="utf-8"),
        hosts=hosts,
        listen=listen,
        port=port,
        now=datetime.now(UTC),
        serial=_serial(),
        public=_public_rows(study),
    )
    terms = made.study().terms
    _say(
        {"folder": str(folder), "study": terms.name, "terms": terms.digest(), "host": hosts[0], "port": port},
        f"the learner's folder is {folder}; owners will reach it at {hosts[0]}:{port}\n"
        f"next: copriv learner approve REQUEST --folder {folder}, for every owner's request",
        as_json=as_json,
    )


def _public_rows(study: Path) -> bytes:
    """The public rows beside a study file; a rule that starts from them cannot do without."""
    path = public_rows_beside(study)
    if path.is_file():
        data = path.read_bytes()
        read_sample(data)
        return data
    rule = read_study(study.read_text(encoding="utf-8")).terms.rule
    if rule == NewtonRule.name:
        raise BadInput(
            f"there is no {path}, and the rule {rule!r} starts from public rows",
            remedy="keep it beside the study file, as `copriv learner draft` has written it",
            value=str(path),
        )
    return b""


def run_invite(
    name: str, folder: Path, out: Path, days: int, records: int | None, *, again: bool, as_json: bool
) -> None:
    """Make an invitation."""
    require_name(name)
    quarters = LearnerWorkspace(folder)
    require_new(quarters, name, out, days, records, again=again)
    [invitation] = quarters.invite({name: _serial()}, now=datetime.now(UTC), days=days, most_records=records or 0)
    write_invitation(invitation, out)
    _say(
        {"owner": name, "invitation": str(out), "days": days},
        f"the invitation of {name} is {out}: it holds a key, and is for a rehearsal on this machine only",
        as_json=as_json,
    )


def run_revoke(name: str, folder: Path, *, as_json: bool) -> None:
    """Shut an owner out."""
    effective = LearnerWorkspace(folder).revoke(name)
    words = (
        "the broker on this machine has cut it off"
        if effective
        else "no broker runs here; it is out from the next start"
    )
    _say({"owner": name, "revoked": True, "broker": effective}, f"{name} is revoked: {words}", as_json=as_json)


class Invited(msgspec.Struct):
    """One owner as it is shown; when its certificate ends is not known of folders of earlier versions."""

    owner: str
    invited: str
    revoked: bool
    answers: int
    expires: str | None


class Status(msgspec.Struct):
    """A learner's folder as it is shown."""

    study: str
    terms: str
    host: str
    port: int
    broker: bool
    meetings: int
    horizon: int
    finished: bool
    owners: list[Invited]
    weakness: str | None
    certificates: list[Expiry]


def run_status(folder: Path, *, as_json: bool) -> None:
    """Show the study, who is invited, and how far the run is."""
    status = _status(LearnerWorkspace(folder))
    if as_json:
        typer.echo(msgspec.json.encode(status).decode())
        return
    stage = f"{status.meetings:,} of {status.horizon:,} meetings" + (", finished" if status.finished else "")
    broker = "runs" if status.broker else "does not run"
    typer.echo(f"study     {status.study} ({stage})\nterms     {status.terms}")
    typer.echo(f"broker    {status.host}:{status.port}, {broker} on this machine")
    if status.weakness:
        typer.echo(f"beware    {status.weakness}")
    for owner in status.owners:
        state = "revoked" if owner.revoked else f"{owner.answers} answers"
        typer.echo(f"  {owner.owner:<20} {state}, invited {owner.invited}")
    typer.echo("certificates")
    for expiry in status.certificates:
        typer.echo(f"  {expiry.holder:<20} {words_of(expiry)}")
    for warning in warnings_of(status.certificates, _REMEDY):
        typer.echo(warning)


def _certificates(quarters: LearnerWorkspace) -> list[Expiry]:
    """Of the authorities, of broker and learner, and the ones that owners use."""
    keys = quarters.keys
    roots = [(f"authority {fingerprint(root)}", root) for root in keys.roots()]
    owners = [(name, held[0]) for name in quarters.invited() if (held := quarters.issued.held(name))]
    return [expiry_of(*entry) for entry in (*roots, *keys.own().items(), *owners)]


def _status(quarters: LearnerWorkspace) -> Status:
    register, terms = quarters.register(), quarters.study().terms
    path = quarters.folder / "run" / "checkpoint.sqlite"
    log = []
    if path.is_file():
        checkpoint = Checkpoint(path)
        log = checkpoint.log()
        checkpoint.close()
    answers = [entry.owner for entry in log if entry.outcome == "answer"]
    certificates = _certificates(quarters)
    ends = {expiry.holder: expiry.expires for expiry in certificates}
    return Status(
        study=terms.name,
        terms=terms.digest(),
        host=register.host,
        port=register.port,
        broker=quarters.broker_runs(),
        meetings=len(log),
        horizon=terms.horizon,
        finished=(quarters.folder / "run" / "run.json").is_file(),
        owners=[
            Invited(name, member.invited, member.revoked, answers.count(name), ends.get(name))
            for name, member in sorted(register.owners.items())
        ],
        weakness=weakness_of(terms.epsilon, terms.delta),
        certificates=certificates,
    )


def _serial() -> str:
    return f"{secure().getrandbits(64):016x}"


def _say(told: dict[str, object], words: str, *, as_json: bool) -> None:
    typer.echo(msgspec.json.encode(told).decode() if as_json else words)
