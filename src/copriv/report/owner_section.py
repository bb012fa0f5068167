"""What owners promised and spent, as a table, and what their promise means, in plain words."""

from __future__ import annotations

import math

from copriv.protocol.terms import Terms
from copriv.protocol.text import plain
from copriv.report.menu import chosen_words
from copriv.report.pages import Tabled
from copriv.report.sentence import many
from copriv.report.statement import OwnerStatement, Statement
from copriv.report.timeline import OwnerMet, Timeline

_MOST_ODDS = 1e6
# Of what was promised: less is rounding.
_NOTHING = 1e-6
_DRAWN = {"secure": "drawn exactly, from the operating system's randomness; it cannot be seeded"}
_MENU = (
    "the learner chose what to ask and at which share of an owner's training budget; the shares paid by an owner "
    "add up to at most 100 %, and the scale in the table is that of a share of 100 %; where an answer was made finer "
    "later, the finer one took its place, and only the difference was paid"
)
_HEADINGS = (
    "owner",
    "records",
    "ε promised",
    "δ",
    "ε spent",
    "ε left",
    "answers",
    "no answer",
    "first – last",
    "noise scale",
)


def owner_table(statement: Statement, timeline: Timeline | None) -> Tabled:
    """One row an owner, complete however many there are."""
    met = {} if timeline is None else {each.owner: each for each in timeline.owners}
    rows = [_row(owner, met.get(owner.owner)) for owner in statement.owners]
    caption = (
        f"Budgets of {many(len(rows), 'owner')} in this study, for any one {statement.unit} ({statement.adjacency}); "
        "first – last are the numbers of meetings with an answer"
    )
    return Tabled(caption, _HEADINGS, rows)


def _row(owner: OwnerStatement, met: OwnerMet | None) -> tuple[str, ...]:
    left = owner.epsilon - owner.epsilon_spent
    left = left if left > _NOTHING * owner.epsilon else 0.0
    when = "–" if met is None or not met.first else f"{met.first:,} – {met.last:,}"
    most = f"{owner.answers:,}" if owner.menu else f"{owner.answers:,} of {owner.most_answers:,}"
    return (
        plain(owner.owner),
        f"{owner.records:,}",
        f"{owner.epsilon:g}",
        f"{owner.delta:g}",
        f"{owner.epsilon_spent:.4g}",
        f"{left:.4g}",
        most,
        "–" if met is None else f"{met.refusals:,}",
        when,
        f"{owner.scale:.3g}",
    )


def promise_words(statement: Statement) -> list[str]:
    """What is promised, for somebody who has never read a formula."""
    worst, delta = max(owner.epsilon for owner in statement.owners), max(owner.delta for owner in statement.owners)
    odds = math.exp(min(worst, math.log(_MOST_ODDS)))
    times = f"more than {_MOST_ODDS:,.0f}" if odds >= _MOST_ODDS else f"{odds:.3g}"
    words = [
        (
            "Each owner keeps its records. It has answered questions with averages over them, and has added noise of "
            "its own to every number. Whoever sees all answers, this report and the model cannot tell well whether any "
            f"one {statement.unit} was in the data or another in its place (adjacency: {statement.adjacency})."
        ),
        (
            f"How well is what ε says. At ε = {worst:g}, δ = {delta:g}, the most that any owner here has promised, "
            f"nothing that is seen can become more than {times} times as likely, or as unlikely, by one "
            f"{statement.unit}{f', but for a chance of {delta:g}' if delta else ''}."
        ),
        (
            "The number of an owner's records is public. Every answer was charged to the owner's own ledger before it "
            "was given."
        ),
    ]
    if not statement.private:
        words.insert(
            0, "This run was simulated: its noise can be drawn again, and it keeps none of the promises below."
        )
    return words


def noise_words(statement: Statement, terms: Terms) -> list[tuple[str, str | list[str]]]:
    """The fine print: what was added to the numbers, and why that is enough."""
    owners = statement.owners
    sensitivity = [owner.sensitivity for owner in owners]
    low, high = f"{min(sensitivity):.3g}", f"{max(sensitivity):.3g}"
    ends = low if low == high else f"{low} to {high}"
    mechanisms = ", ".join(sorted({owner.mechanism for owner in owners}))
    norms = ", ".join(sorted({owner.norm for owner in owners}))
    found: list[tuple[str, str | list[str]]] = [
        ("Unit and adjacency", f"one {statement.unit}; {statement.adjacency}"),
        ("Mechanism", f"{mechanisms} noise on every number; {_DRAWN.get(statement.noise, statement.noise)}"),
        ("Accounting", ", ".join(sorted({owner.accountant for owner in owners}))),
        ("Clip", f"a record's gradient counts for at most {terms.clip:.4g} ({norms})"),
        ("Sensitivity", f"replacing one record moves an average by at most {ends} ({norms})"),
    ]
    if any(owner.menu for owner in owners):
        found += [("Menu", _MENU), ("Asked", _asked(statement))]
    return found


def _asked(statement: Statement) -> list[str]:
    """What was chosen from the menu, owners with the same choices together."""
    together: dict[str, int] = {}
    for owner in statement.owners:
        words = chosen_words(owner.menu) or "nothing"
        together[words] = together.get(words, 0) + 1
    return [f"{many(count, 'owner')}: {words}" for words, count in together.items()]
