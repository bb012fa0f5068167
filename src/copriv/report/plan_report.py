"""A plan as it is told: the study, every candidate, and why the second is second."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from copriv.planning.candidate import Candidate
from copriv.planning.feature_choice import FeatureChoice
from copriv.planning.scenario import Scenario
from copriv.protocol.terms import Terms
from copriv.report.sentence import many

_NOT_NAMED = "not named"
_HEADINGS = ("rule", "noise", "answers", "clip", "step", "ψ forecast", "95 % of trainings")


def show_plan(
    terms: Terms,
    candidates: Sequence[Candidate],
    scenario: Scenario,
    place: Path,
    console: Console,
    features: FeatureChoice | None = None,
) -> None:
    """Print what was written, what each way should cost, and the features that were compared."""
    epsilon = f"ε = {terms.epsilon:g}" if terms.epsilon else f"ε = {_epsilons(scenario)}, each its own"
    lines = (
        f"the study {terms.name!r} is in {place}; its terms are {terms.digest()}",
        f"  asks for  {epsilon}, δ = {terms.delta:g} for any one record (replace-one)",
        f"  learner   {terms.learner or _NOT_NAMED}; {terms.public.words}",
        f"  rule      {terms.rule}, at most {many(candidates[0].answers, 'answer')} of each owner ({terms.meeting})",
        f"  clip      {terms.clip:.4g}, box {terms.limit:.4g}",
    )
    _say(lines, console)
    _say(() if features is None else _trade(features), console)
    console.print(_table(candidates, scenario))
    _say((*candidates[0].forecast.caveats, *_of_shifts(candidates[0])), console, before="note: ")
    if len(candidates) > 1:
        _say(_runner_up(*candidates[:2]), console)
    _say((f"next: copriv train --study {place} (here), or copriv learner init {place} (a consortium)",), console)


def candidates_as_html(candidates: Sequence[Candidate], scenario: Scenario) -> str:
    """The candidates in a notebook."""
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(way)) + "</tr>" for way in candidates
    )
    head = "".join(f"<th>{html.escape(heading)}</th>" for heading in _HEADINGS)
    return (
        f"<p>{html.escape(_title(scenario))}; {html.escape(scenario.promise)}</p><table><tr>{head}</tr>{rows}</table>"
    )


def _say(lines: Sequence[str], console: Console, before: str = "") -> None:
    for line in lines:
        console.print(f"{before}{line}", soft_wrap=True, highlight=False, markup=False)


def _table(candidates: Sequence[Candidate], scenario: Scenario) -> Table:
    table = Table(title=_title(scenario), title_justify="left")
    for heading in _HEADINGS:
        table.add_column(heading, justify="left" if heading in ("rule", "noise") else "right")
    for way in candidates:
        table.add_row(*_cells(way))
    return table


def _title(scenario: Scenario) -> str:
    low, high = min(scenario.records), max(scenario.records)
    sizes = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return f"ψ forecast from public rows, for {many(scenario.owners, 'owner')} of {sizes} records"


def _cells(way: Candidate) -> tuple[str, ...]:
    low, high = way.forecast.interval
    step = "–" if way.step is None else f"{way.step:.3g}"
    numbers = (str(way.answers), f"{way.clip:.3g}", step, f"{way.relative_fitness:.2e}", _short(low, high))
    return way.rule, way.mechanism, *numbers


def _trade(choice: FeatureChoice) -> tuple[str, ...]:
    """The features that were compared, one a line, and what was chosen."""
    compared = tuple(f"  features  {each.words} predicted, ψ {each.relative_fitness:.2g}" for each in choice.weighed)
    return (*compared, *choice.notices)


def _of_shifts(way: Candidate) -> tuple[str, ...]:
    ends = way.forecast.elsewhere
    if ends is None:
        return ()
    return (f"this is if the public rows fit; if they come from elsewhere, ψ may be up to {ends[1]:.1e} (95 %)",)


def _short(low: float, high: float) -> str:
    """An interval that fits a table.

    >>> _short(3.5e-4, 0.0013)
    '3.5e-4–1.3e-3'
    """
    return "–".join(f"{end:.1e}".replace("e-0", "e-").replace("e+0", "e+") for end in (low, high))


def _epsilons(scenario: Scenario) -> str:
    low, high = scenario.epsilon_range
    return f"{low:g} to {high:g}"


def _runner_up(first: Candidate, second: Candidate) -> tuple[str, str]:
    ratio, answers = second.relative_fitness / first.relative_fitness, many(second.answers, "answer")
    return (
        f"taken: {first.rule} with {first.mechanism} noise",
        (
            f"the runner-up, {second.rule} with {second.mechanism} noise and {answers} of each owner, "
            f"should cost {_times(ratio)}: {_why(first, second)}"
        ),
    )


def _times(ratio: float) -> str:
    """How much more, as people say it.

    >>> _times(1.25), _times(12.4)
    ('25% more', '12.4 times as much')
    """
    return f"{ratio - 1:.0%} more" if ratio < 2 else f"{ratio:.3g} times as much"


def _why(first: Candidate, second: Candidate) -> str:
    """Where the second spends what the first saves."""
    reasons = []
    if second.answers != first.answers:
        fewer, most = sorted((first.answers, second.answers))
        spread = f"each of its {second.answers} answers has 1/{second.answers} of the budget"
        reasons.append(spread if second.answers == most else f"it learns from {fewer} answers instead of {most}")
    if second.rule == first.rule and second.mechanism != first.mechanism:
        reasons.append(f"{second.mechanism} noise is louder here than {first.mechanism} noise")
    if first.rule == "newton" and second.rule != "newton":
        reasons.append("it starts from nothing, and newton from the public model")
    if second.rule == "statistics":
        reasons.append("it has second moments to hide, many more numbers than a gradient has")
    return ", and ".join(reasons) or "it makes less of the same answers"
