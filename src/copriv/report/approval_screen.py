"""What a person reads before it approves: everything that an approval covers, and everything that may leave.

`copriv owner join` and `copriv owner approve` show the same. What a learner has chosen stands in rows of its own, as
text.
"""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from copriv.losses.moments import moment_count
from copriv.owner.workspace import Enrollment, Prepared
from copriv.privacy.weakness import weakness
from copriv.protocol.commitment import Commitment
from copriv.protocol.query_budget import QueryBudget
from copriv.protocol.terms import Terms
from copriv.protocol.text import plain, quoted, squeezed
from copriv.report.fit_lines import fit_lines
from copriv.report.ledger_history import NOT_NAMED
from copriv.report.menu import menu_rows
from copriv.report.study_sheet import study_rows
from copriv.report.warning import warn
from copriv.runtime.owner_joining import Proposal

TITLE = "What you are asked to approve"
_LONGEST_PATH = 4096
_LONGEST_ORIGIN = 400
_ACCOUNTANTS = {
    "pure": "ε of all answers, added up",
    "zcdp": "zcdp, zero-concentrated privacy of all answers",
    "pld": "pld, the privacy loss distribution of all answers",
}


def present(proposal: Proposal, console: Console) -> None:
    """What is about to be promised, in full, before anything is approved; and how the records fit the public rows."""
    prepared = proposal.prepared
    table = Table(show_header=False, title=TITLE, title_justify="left")
    table.add_column()
    table.add_column(overflow="fold")
    for name, value in screen_rows(prepared):
        table.add_row(name, Text(value))
    console.print(table)
    for notice in (*proposal.notices, *prepared.notices):
        console.print(Text(f"note: {plain(notice, _LONGEST_PATH)}"))
    for line in fit_lines(proposal.fit):
        console.print(Text(line))
    console.print(Text(f"the learner's authority: {proposal.authorities}"))
    warn(weakness(prepared.enrollment.guarantee, prepared.sample.records), console)


def screen_rows(prepared: Prepared) -> list[tuple[str, str]]:
    """Each a name and what is to be said."""
    enrollment, terms = prepared.enrollment, prepared.study.terms
    return [
        ("study", quoted(terms.name)),
        ("you are", plain(enrollment.owner)),
        ("terms", terms.digest()),
        *origin_rows(terms),
        ("broker", plain(f"{enrollment.host}:{enrollment.port}", 300)),
        ("model", _model(terms)),
        *study_rows(prepared.study),
        ("meetings", f"{terms.meeting}, clock: {terms.clock}"),
        *_unit_rows(terms),
        *_own_rows(enrollment, prepared.sample.records, terms),
        *part_rows(prepared.commitment, terms.parameters),
    ]


def origin_rows(terms: Terms) -> list[tuple[str, str]]:
    """Who asks, and which public rows the study was drafted from; names are the learner's choice, shown as text."""
    return [
        ("learner", quoted(terms.learner) if terms.learner else NOT_NAMED),
        ("public rows", squeezed(terms.public.words, _LONGEST_ORIGIN)),
    ]


def part_rows(commitment: Commitment, parameters: int) -> list[tuple[str, str]]:
    """Everything that may leave: one row for each kind of question, taken from the promise itself."""
    menu = menu_rows(commitment, parameters) if commitment.menu else []
    others = [part for part in commitment.parts if not part.share]
    return [*menu, *(("you answer", _part(part, commitment, parameters)) for part in others)]


def _unit_rows(terms: Terms) -> list[tuple[str, str]]:
    """What is protected as one; of a person, which rows count, and what that does to the model."""
    if terms.people is None:
        return [("unit", terms.unit_in_words)]
    how = squeezed(terms.people.words, _LONGEST_ORIGIN)
    more = "a row that names nobody is a person of its own; a person at several owners loses at each of them"
    return [("unit", terms.unit_in_words), ("people", f"{how}; {more}")]


def _own_rows(enrollment: Enrollment, records: int, terms: Terms) -> list[tuple[str, str]]:
    accountant = "pure" if enrollment.guarantee.pure else enrollment.accountant
    called = "as the study calls it" if enrollment.target is None else quoted(enrollment.target)
    return [
        ("your records", plain(enrollment.data, _LONGEST_PATH)),
        *([("blocks that are read", plain(", ".join(enrollment.blocks), 2000))] if enrollment.blocks else []),
        ("their file is written", plain(enrollment.form.words)),
        _number_row(records, terms),
        ("your target", called),
        ("your ledger", plain(enrollment.ledger, _LONGEST_PATH)),
        ("you promise", enrollment.guarantee.words_for(terms.unit)),
        ("accountant", _ACCOUNTANTS[accountant]),
    ]


def _number_row(records: int, terms: Terms) -> tuple[str, str]:
    if terms.people is None:
        return "their number", f"{records:,}; this number becomes public"
    return "people in them", f"{records:,}; this number becomes public, and the number of rows does not"


def _model(terms: Terms) -> str:
    threshold = f" with threshold {terms.threshold:g}" if terms.loss == "huber" else ""
    return f"{terms.loss} loss{threshold}, {terms.parameters} numbers, rule {terms.rule!r}, {terms.horizon:,} meetings"


def _part(part: QueryBudget, commitment: Commitment, parameters: int) -> str:
    """How often, what, and behind which noise."""
    calibration, norm = part.calibration, part.sensitivity.norm.name
    mechanism, share = calibration.mechanism, calibration.budget.nano / commitment.budget.nano
    times = "once" if calibration.answers == 1 else f"at most {calibration.answers:,} times"
    return (
        f"{times}: {_what(part, commitment, parameters)}; "
        f"{mechanism.name} noise of scale {mechanism.scale:.6g} on every number, for "
        f"a change of at most {part.sensitivity.value:.6g} ({norm}) when one {commitment.unit} is replaced; "
        f"this takes {calibration.budget.words}, {100 * share:.4g}% of what you promise"
    )


def _what(part: QueryBudget, commitment: Commitment, parameters: int) -> str:
    """What leaves with every answer, and the most that a record counts in it."""
    norm = part.sensitivity.norm.name
    if part.kind == "moments":
        return (
            f"noisy sums of second moments of your records (Σ xxᵀ and Σ xy), {moment_count(parameters):,} numbers; a "
            f"{commitment.unit}'s row is at most {part.bound:g} long and its target within ±{commitment.target_bound:g}"
        )
    if part.kind == "loss":
        return f"a noisy average loss, 1 number; a {commitment.unit}'s loss counts at most {part.bound:g}"
    if part.kind == "validation":
        return (
            f"noisy counts of records that are held back from training, {part.numbers} numbers that say how well a "
            "model predicts them; a record counts once"
        )
    return (
        f"a noisy average gradient, {parameters:,} numbers; a {commitment.unit}'s gradient is at most {part.bound:g} "
        f"long ({norm})"
    )
