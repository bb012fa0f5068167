"""A plan as it is told: the study, every candidate, and why the second is second."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from copriv.planning.candidate import Candidate
from copriv.planning.expected_quality import ExpectedQuality
from copriv.planning.feature_choice import FeatureChoice
from copriv.planning.feature_trade import Traded
from copriv.planning.scenario import Scenario
from copriv.protocol.terms import Terms
from copriv.report.menu import told_along
from copriv.report.quality_lines import baseline, headings
from copriv.report.sentence import many

_NOT_NAMED = "not named"
_HEADINGS = ("rule", "noise", "answers", "clip", "step", "ψ forecast", "95 % of trainings")


@dataclass(frozen=True, slots=True)
class Worth:
    """What models and features should be worth.

    Args:
        quality: figures people know; None if public rows are too few to tell.
        features: which were compared; None if they were named.
        trade: what each of them costs and brings.
    """

    quality: ExpectedQuality | None
    features: FeatureChoice | None = None
    trade: tuple[Traded, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """The same in words."""
        figures = () if self.quality is None else _figures(self.quality)
        name = "R²" if self.quality is None else self.quality.public.share_name
        said = () if self.features is None else self.features.notices
        return (*figures, *(_traded(each, name) for each in self.trade), *said)


def show_plan(
    terms: Terms,
    candidates: Sequence[Candidate],
    scenario: Scenario,
    place: Path,
    console: Console,
    worth: Worth | None = None,
) -> None:
    """Print what was written, what models should be worth, the features that were compared, and what each way costs."""
    epsilon = f"ε = {terms.epsilon:g}" if terms.epsilon else f"ε = {_epsilons(scenario)}, each its own"
    lines = (
        f"the study {terms.name!r} is in {place}; its terms are {terms.digest()}",
        f"  asks for  {epsilon}, δ = {terms.delta:g} for any one {terms.unit_words} (replace-one)",
        f"  learner   {terms.learner or _NOT_NAMED}; {terms.public.words}",
        f"  rule      {terms.rule}, at most {many(candidates[0].answers, 'answer')} of each owner ({terms.meeting})",
        f"  clip      {terms.clip:.4g}, box {terms.limit:.4g}",
        *([f"  axes      {told_along(len(terms.axes))}"] if terms.axes else []),
    )
    _say(lines, console)
    _say(() if worth is None else worth.lines, console)
    console.print(_table(candidates, scenario))
    _say((*candidates[0].forecast.caveats, *_of_shifts(candidates[0])), console, before="note: ")
    if len(candidates) > 1:
        _say(_runner_up(*candidates[:2]), console)
    _say((f"next: copriv train --study {place} (here), or copriv learner init {place} (a consortium)",), console)


def candidates_as_html(candidates: Sequence[Candidate], scenario: Scenario, worth: Worth | None = None) -> str:
    """What models should be worth, and the candidates, in a notebook."""
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(way)) + "</tr>" for way in candidates
    )
    head = "".join(f"<th>{html.escape(heading)}</th>" for heading in _HEADINGS)
    lines = () if worth is None else worth.lines
    promise = scenario.promise_to(candidates[0].setting.terms.unit_words)
    about = "<br>".join(html.escape(line.strip()) for line in (*lines, f"{_title(scenario)}; {promise}"))
    return f"<p>{about}</p><table><tr>{head}</tr>{rows}</table>"


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
    who = f"{many(scenario.owners, 'owner')} of {sizes} records"
    return f"ψ, the distance from the best model in these features, as forecast for {who}"


def _cells(way: Candidate) -> tuple[str, ...]:
    low, high = way.forecast.interval
    step = "–" if way.step is None else f"{way.step:.3g}"
    numbers = (str(way.answers), f"{way.clip:.3g}", step, f"{way.relative_fitness:.2e}", _short(low, high))
    return way.rule, way.mechanism, *numbers


def _figures(quality: ExpectedQuality) -> tuple[str, ...]:
    """What the public model is worth, and the joint one should be, beside always predicting the same."""
    name, cells = baseline(quality.public)
    same = ", ".join(f"{head} {cell}" for head, cell in zip(headings(quality.public), cells, strict=True) if cell)
    joint = "nothing is predicted" if quality.joint is None else f"{quality.joint.words} predicted"
    lines = (
        f"  worth     joint, private: {joint}",
        f"            public rows only: {quality.public.words} (cross-validated); {name}: {same}",
    )
    return lines if quality.warning is None else (*lines, f"note: {quality.warning}")


def _traded(each: Traded, name: str) -> str:
    """One choice of features, in a line."""
    ends = zip(each.predicted, each.epsilon, strict=True)
    ahead = ", ".join(f"{_share(share)} at ε = {epsilon:g}" for share, epsilon in ends)
    said = f"{each.features} ({many(each.count, 'feature')}): {name} {_share(each.public)} public, {ahead} predicted"
    return f"  features  {said}{', taken' if each.taken else ''}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


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
