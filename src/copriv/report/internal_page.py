"""report-internal.html: what was measured on the records of a run. Not private: for whoever may see all records.

It looks another way than report.html on the screen and on every printed page, is named another way, can be read by its
user alone, and is never taken by `copriv export`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from copriv.losses.metrics import Metrics
from copriv.owner.own_models import ModelKind
from copriv.protocol.text import plain
from copriv.report.equivalent import command_of
from copriv.report.figures import Budget, Figures
from copriv.report.pages import Tabled, day_and_time, render
from copriv.report.quality_lines import KINDS, baseline, cells, headings
from copriv.report.sentence import explain, many
from copriv.report.svg import Axes, Line, line_picture
from copriv.runtime.local_dataset import DatasetSpending
from copriv.runtime.local_quality import OwnerQuality, Quality
from copriv.runtime.local_request import TrainRequest

_LONGEST_LINE = 2_000
_PAID = {"joined": "joining", "alone": "staying alone", "undecided": "cannot be told"}


def internal_html(figures: Figures, request: TrainRequest | None, date: str) -> str:
    """The whole page.

    Args:
        figures: as run.json keeps them.
        request: what the run was asked to be, if that is on record.
        date: when it ended.
    """
    page: dict[str, Any] = {
        "title": f"Measured on records: “{plain(figures.target)}”, {many(figures.owners, 'owner')}",
        "under": f"{plain(figures.run_folder, 200) or 'a run without a folder'}; ended {day_and_time(date)}",
        "private": figures.noise == "secure",
        "sentence": explain(figures),
        "unit": figures.guarantee.unit,
        "adjacency": figures.guarantee.adjacency,
        "epsilon": f"{figures.guarantee.epsilon:g}",
        "delta": f"{figures.guarantee.delta:g}",
        "everybody": _everybody(figures),
        "medians": _medians(figures.quality),
        "psi": _distance(figures),
        "picture": _path(figures),
        "owners": _owners(figures.quality),
        "budgets": _budgets(figures.budgets),
        "dataset": None if figures.dataset is None else _in_all(figures.dataset),
        "notices": [plain(words, 600) for words in figures.notices],
        "command": "" if request is None else plain(command_of(request, whole=True), _LONGEST_LINE),
        "run": _run(figures),
    }
    return render("report-internal.html", None, page=page)


def _everybody(figures: Figures) -> Tabled | None:
    """Figures people know, on everybody's records."""
    quality = figures.quality
    if quality is None:
        return None
    words, same = baseline(quality.joint)
    rows: list[tuple[str, ...]] = [("joint, private", *cells(quality.joint))]
    if figures.held_back is not None:
        rows.append(("joint, private, on records held back from training", *cells(figures.held_back)))
    if quality.public is not None:
        rows.append(("public rows only", *cells(quality.public)))
    rows += [("pooled, no privacy", *cells(quality.pooled)), (words, *same)]
    caption = f"On everybody's records ({figures.records:,})"
    return Tabled(caption, ("model", *headings(quality.joint)), rows, first=True)


def _medians(quality: Quality | None) -> Tabled | None:
    """Medians on owners' own records."""
    if quality is None or not quality.median:
        return None
    rows = [(KINDS[kind], *cells(each), f"{quality.best.get(kind, 0):,}") for kind, each in quality.median.items()]
    caption = f"On each owner's own records, cross-validated: medians of {many(len(quality.owners), 'owner')}"
    return Tabled(caption, ("model", *headings(quality.joint), "best for"), rows)


def _distance(figures: Figures) -> Tabled:
    """ψ as it was measured, beside what was forecast."""
    rows = [
        ("joint, private", _number(figures.relative_fitness), "measured"),
        ("own records only, median owner", _number(figures.alone.median), "measured on everybody's records"),
    ]
    if figures.public is not None:
        rows.append(("public rows only", _number(figures.public.relative_fitness), f"{figures.public.rows:,} rows"))
    if figures.predicted:
        ratio = figures.relative_fitness / figures.predicted
        ends = "" if figures.predicted_interval is None else f"95 %: {_ends(figures.predicted_interval)}; "
        rows.append(("forecast", _number(figures.predicted), f"{ends}measured is {ratio:.2g} times that"))
    if figures.foreseen:
        last = figures.foreseen[-1]
        rows.append(("expected after the answers", _number(last.relative_fitness), f"95 %: {_ends(last.interval)}"))
    caption = "ψ: distance from the best model in these features"
    return Tabled(caption, ("model", "ψ", "how"), rows, frozenset({2}), first=True)


def _path(figures: Figures) -> str:
    """ψ against meetings, with what owners reach alone and what public rows give."""
    if not figures.path:
        return ""
    points = [(float(number), value) for number, value in figures.path]
    ends = (points[0][0], points[-1][0])
    lines = [Line("joint model", points)]
    if figures.alone.median > 0:
        lines.append(Line("alone, median owner", [(x, figures.alone.median) for x in ends], "two"))
    if figures.public is not None and figures.public.relative_fitness > 0:
        lines.append(Line("public rows only", [(x, figures.public.relative_fitness) for x in ends], "three"))
    words = f"From {points[0][1]:.3g} after meeting {ends[0]:,.0f} to {points[-1][1]:.3g} after meeting {ends[1]:,.0f}."
    return line_picture(lines, Axes("ψ measured on all records", words, "meeting", "ψ", logarithmic=True))


def _owners(quality: Quality | None) -> Tabled | None:
    """Joint, personal and own models, owner by owner."""
    if quality is None or not quality.owners:
        return None
    name = headings(quality.joint)[0]
    kinds: Sequence[ModelKind] = [
        kind for kind in ("joint", "personal", "own", "own_public", "public") if kind in quality.median
    ]
    shown = (
        "owner",
        "records",
        *(f"{name}, {KINDS[kind].partition(':')[0]}" for kind in kinds),
        "best",
        "gain ± 2 s.e.",
        "pays",
    )
    rows = [_owner(each, kinds) for each in quality.owners]
    caption = (
        f"{name} of each model on each owner's own records, cross-validated; the gain is that of the better of joint "
        "and personal model over the best one that needs nobody, as a share of its loss"
    )
    return Tabled(caption, shown, rows, frozenset({len(shown) - 3, len(shown) - 1}))


def _owner(each: OwnerQuality, kinds: Sequence[ModelKind]) -> tuple[str, ...]:
    gain = "–" if each.gain is None else f"{100 * each.gain:.2g} % ± {100 * (each.margin or 0.0):.2g}"
    best = "–" if each.best is None else KINDS[each.best].partition(":")[0]
    return (
        plain(each.owner),
        f"{each.records:,}",
        *(_first(each.models.get(kind)) for kind in kinds),
        best,
        gain,
        _PAID[each.paid],
    )


def _first(metrics: Metrics | None) -> str:
    return "–" if metrics is None else cells(metrics)[0]


def _budgets(budgets: Sequence[Budget]) -> Tabled | None:
    """What every owner's ledger says, over all studies that it knows."""
    if not budgets:
        return None
    rows = [
        (
            plain(each.owner),
            each.currency,
            "none declared" if each.budget is None else f"{each.budget:.6g}",
            f"{each.spent:.6g}",
            f"{each.reserved:.6g}",
            "no limit" if each.left is None else f"{each.left:.6g}",
            f"{each.studies:,}",
        )
        for each in budgets
    ]
    headings = ("owner", "in", "budget", "spent", "of that reserved", "left", "studies")
    return Tabled("What each ledger says, over all studies that it knows", headings, rows, frozenset({1}))


def _in_all(spent: DatasetSpending) -> str:
    budget = "no budget is declared" if spent.budget is None else f"the budget is ε = {spent.budget:g}"
    studies = "1 study" if spent.studies == 1 else f"{spent.studies:,} studies"
    return (
        f"The records of this table have lost ε = {spent.epsilon:.6g}, δ = {spent.delta:g} in all, for any one "
        f"{spent.unit} ({spent.adjacency}), in {studies}; {budget}; ledger: {plain(spent.ledger, 300)}."
    )


def _run(figures: Figures) -> list[tuple[str, str]]:
    return [
        ("Seconds", f"{figures.seconds:,.1f}"),
        ("Fitness", f"{figures.fitness:.8g}; of the best model {figures.best_fitness:.8g}"),
        ("Cost of privacy", f"{figures.cost_of_privacy:.4g}"),
        ("Seed", f"{figures.seed}"),
        ("Terms", figures.terms),
    ]


def _number(value: float) -> str:
    return f"{value:.2e}" if value < 0.001 else f"{value:.4f}"


def _ends(interval: tuple[float, float]) -> str:
    return f"{interval[0]:.2g} to {interval[1]:.2g}"
