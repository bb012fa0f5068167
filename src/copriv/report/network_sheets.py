"""How a study with owners elsewhere looks in a terminal: the result, and where learner and owner stand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from copriv.losses.metrics import little_to_learn
from copriv.owner.block_sheet import block_lines
from copriv.owner.pause import Pause
from copriv.privacy.guarantee import NANO, Guarantee, written
from copriv.protocol.text import plain, quoted
from copriv.report.fit_lines import fit_lines
from copriv.report.ledger_history import NOT_NAMED
from copriv.report.network_run import JointFigures
from copriv.report.quality_lines import compared
from copriv.report.report_files import report_lines
from copriv.report.sentence import many
from copriv.report.validation_table import show_validation
from copriv.report.warning import warn
from copriv.runtime.learner_status import LearnerStatus, OwnerSeen
from copriv.runtime.owner_status import OwnerStatus
from copriv.runtime.owner_verdict import OwnerVerdict
from copriv.transport.expiry import warnings_of, words_of

_LEARNER_REMEDY = (
    "certificates renew themselves while `copriv learner run` and `copriv owner serve` do; "
    "for an authority: copriv learner authority roll"
)
_OWNER_REMEDY = "it renews itself while `copriv owner serve` and the learner run"
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def show_joint(told: JointFigures) -> None:
    """What came of a study, on standard output."""
    console = Console()
    table = Table(title=escape(f"{told.study}: what each owner spent"), title_justify="left")
    table.add_column("owner")
    for heading in ("records", "answers", "ε spent", "ε promised"):
        table.add_column(heading, justify="right")
    for entry in told.spent:
        answers = f"{entry.answers} of {entry.most_answers}"
        table.add_row(escape(entry.owner), f"{entry.records:,}", answers, f"{entry.epsilon:.3f}", f"{entry.promised:g}")
    console.print(table)
    if told.evaluation is not None:
        found = told.evaluation
        console.print(
            f"average loss on the owners' records, by paid queries: {found.average_loss:.5f} ± "
            f"{found.standard_error:.5f} (standard error of the noise)"
        )
    show_validation(told.validation, console)
    for out in told.expelled:
        console.print(f"{out.owner} was expelled ({out.taken_out} of its answers taken out): {out.why}", markup=False)
    if told.meetings < told.horizon and not any(entry.menu for entry in told.spent):
        console.print(
            f"The study ended after {told.meetings:,} of {told.horizon:,} meetings: nobody is left who would answer.",
            style="bold",
        )
    warn(told.weakness, console)
    console.print(
        f"{many(told.meetings, 'meeting')}; unit: one {told.guarantee.unit}; adjacency: {told.guarantee.adjacency}; "
        f"δ = {told.guarantee.delta:g}",
        style="dim",
    )
    console.print(f"model, privacy statement and schedule: {told.run_folder}", style="dim", markup=False)
    for line in report_lines(told.run_folder, private=True, internal=False):
        console.print(line, style="dim", markup=False, highlight=False)


def learner_lines(status: LearnerStatus) -> Iterator[str]:
    """Where a learner's folder stands."""
    stage = f"{status.meetings:,} of {status.horizon:,} meetings" + (", finished" if status.finished else "")
    broker = "runs" if status.broker else "does not run"
    yield f"study     {status.study} ({stage})"
    yield f"terms     {status.terms}"
    yield f"broker    {status.host}:{status.port}, {broker} on this machine"
    yield f"learner   {_learner(status)}"
    if status.waited_for:
        yield f"waiting   for {', '.join(status.waited_for)}"
    if status.weakness:
        yield f"beware    {status.weakness}"
    for owner in status.owners:
        yield f"  {owner.owner:<20} {_owner(owner)}"
    yield "certificates"
    for expiry in status.certificates:
        yield f"  {expiry.holder:<20} {words_of(expiry)}"
    yield from warnings_of(status.certificates, _LEARNER_REMEDY)


def _learner(status: LearnerStatus) -> str:
    """What the learner is at, and how old that news is."""
    if status.seconds is None:
        return "is at work" if status.running else "has not run yet"
    work = f"at work: {status.stage}" if status.running else f"not at work: {status.stage}"
    return f"{work} (last change {_ago(status.seconds)} ago)"


def _owner(owner: OwnerSeen) -> str:
    answers = f"{owner.answers} answer{'' if owner.answers == 1 else 's'}"
    place = "" if owner.place == "invited" else f"{owner.place}, "
    state = "revoked" if owner.revoked else f"{place}{answers}"
    why = f": {plain(owner.why, 200)}" if owner.why else ""
    return f"{state}, invited {owner.invited}{why}"


def _ago(seconds: float) -> str:
    """How long ago, in the largest unit that fits.

    >>> _ago(42.0), _ago(150.0), _ago(90_000.0)
    ('42 s', '2 min', '1 d')
    """
    for size, unit in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{max(seconds, 0.0):.0f} s"


def owner_lines(status: OwnerStatus) -> Iterator[str]:
    """Where an owner stands."""
    contact = (
        f"{plain(status.last_contact)}: {plain(status.last_word or '', 200)}" if status.last_contact else "none yet"
    )
    guarantee = Guarantee(round(status.epsilon * NANO), status.delta)
    for name, value in (
        ("owner", f"{plain(status.owner)} in {quoted(status.study)}{'' if status.approved else ' (NOT APPROVED)'}"),
        ("terms", status.terms),
        ("promised", guarantee.words_about(status.unit)),
        ("spent", f"ε = {_shown(status.epsilon_spent)}, {status.answers} answers"),
        ("left", f"ε = {_shown(status.epsilon_left)}, {status.answers_left} answers"),
        *([("reads", plain(", ".join(status.reads), 2000))] if status.reads else []),
        *(("block", line) for line in block_lines(status.blocks)),
        *([("beware", status.weakness)] if status.weakness else []),
        ("learner", quoted(status.learner) if status.learner else NOT_NAMED),
        ("broker", plain(status.broker, 300)),
        ("contact", contact),
        *([("PAUSED", _paused(status.paused))] if status.paused else []),
        ("model", "received" if status.model else "not yet"),
        ("keys", ", ".join(f"{kept.holder} {words_of(kept)}" for kept in status.certificates)),
    ):
        yield f"  {name:<9} {value}"
    yield from warnings_of(status.certificates, _OWNER_REMEDY)


def _paused(pause: Pause) -> str:
    return f"by {plain(pause.by)} since {plain(pause.at)}: nothing is answered until `copriv owner resume`"


def verdict_lines(told: OwnerVerdict) -> Iterator[str]:
    """Every model that the owner can have, on its own records."""
    yield told.words
    yield from compared(told.models)
    if (words := little_to_learn(told.models[told.best])) is not None:
        yield f"note: on your records, {words}"
    yield from fit_lines(told.fit)
    yield "These figures are measured on your records and are not private: they stay at home."


def personal_lines(told: OwnerVerdict, share: float, place: Path) -> Iterator[str]:
    """The personal model: where it is, what it is made of and worth, and that it stays at home."""
    yield f"your personal model is {place}: {told.models['personal'].words}, cross-validated on your records"
    yield f"  {share:.0%} of it, by weight, is centred at the joint model"
    yield from verdict_lines(told)
    yield f"It has seen your records without noise: no ε covers it, and {place} must not be passed on."
    yield f"next: copriv predict --model {place} --data TABLE"


def _shown(epsilon: float) -> str:
    """To the nearest billionth."""
    return written(round(epsilon * NANO))
