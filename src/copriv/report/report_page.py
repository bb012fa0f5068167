"""report.html: the page that people forward. Drawn from what may be passed on, and given nothing else.

Its sources are model.json, privacy.json, report.json and inference.json. Figures that were measured on records are not
among its arguments: they are in another file, drawn by another module (`internal_page`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from copriv.learner.validation import Validation
from copriv.losses.metrics import Metrics
from copriv.privacy.guarantee import UNIT
from copriv.protocol.text import plain
from copriv.report.in_words import feature_words, loss_words, reason_words, rule_words, target_words
from copriv.report.inference import NOTHING_INFERRED, Inference
from copriv.report.inference_section import inference_section
from copriv.report.model_file import ModelFile
from copriv.report.model_section import model_section
from copriv.report.owner_section import noise_words, owner_table, promise_words
from copriv.report.pages import Tabled, day_and_time, render
from copriv.report.quality_lines import baseline, cells, headings
from copriv.report.report_facts import Converging, ReportFacts
from copriv.report.sentence import is_enough, many
from copriv.report.statement import Statement
from copriv.report.svg import Axes, Interval, Line, columns_picture, interval_picture, line_picture, rows_picture
from copriv.report.timeline import Timeline
from copriv.report.validation_table import MEANING, owner_cells, price_words, validation_cells
from copriv.runtime.local_origin import LEARNER

_NO_QUALITY = (
    "What to expect in figures people know is not told here: it needs a forecast, enough public rows, and features "
    "that were chosen by copriv or that no target has shaped. `copriv forecast` tells it for any public rows."
)
_QUALITY = (
    "The public model is cross-validated on the public rows. The others follow from it by their distance ψ from the "
    "best model in these features; that the public rows are of the same population is assumed. Own models are those of "
    "the median owner, if owners are alike. Own + public, personal and pooled models are measured on records only, "
    "where all of them are at hand, and never told here."
)
_PUBLIC_IS_ENOUGH = (
    "The public rows alone should give a model that is as good or better. It needs no answer and no ε of anybody."
)
_UNITS = {
    "target": "in units of the target",
    "log-odds": "in log-odds",
    "logarithm": "in logarithms of the expectation",
    "share": "as a share of the model's length",
}
_LINEAR = 30.0
_MOST_DOTS = 60
_MOST_COLUMNS = 200
_LONGEST_LINE = 2_000


@dataclass(frozen=True, slots=True)
class Passable:
    """Everything that may be passed on of a run."""

    model: ModelFile
    statement: Statement
    facts: ReportFacts
    inference: Inference = NOTHING_INFERRED


def report_html(run: Passable) -> str:
    """The whole page."""
    statement, facts, terms = run.statement, run.facts, run.model.terms
    owners, records = len(statement.owners), sum(owner.records for owner in statement.owners)
    page: dict[str, Any] = {
        "version": statement.copriv,
        "private": statement.private,
        "title": f"A model of “{plain(run.model.dictionary.target.name)}” from {many(owners, 'owner')}",
        "under": _under(statement),
        "glance": _glance(run, owners, records),
        "weakness": statement.weakness,
        "few_rows": facts.few_rows,
        "trained": _trained(run, owners, records),
        "unit": statement.unit,
        "adjacency": statement.adjacency,
        "about": statement.about,
        "owners": owner_table(statement, facts.timeline),
        "expelled": [f"{plain(out.owner)}: {plain(out.why, 400)}" for out in statement.expelled],
        "promise": promise_words(statement),
        "noise": noise_words(statement, terms),
        "columns": _columns(run.model),
        "command": _lines(facts.command),
        "python": _lines(facts.python),
        "footer": (
            f"copriv {statement.copriv}; stated {day_and_time(statement.date)}; terms of format {terms.format}, model "
            f"of format {run.model.format}, report of format {facts.format}. Figures that were measured on records are "
            "in report-internal.html, if there are any: that file is not private, and is never exported."
        ),
    }
    sections = (_quality(facts), _distance(facts), _rest(facts, run.model), _answers(facts), model_section(run.model))
    for section in (*sections, inference_section(run.inference)):
        page |= section
    return render("report.html", statement, page=page)


def _lines(text: str) -> str:
    """Lines that hold names others have chosen, as text."""
    return "\n".join(plain(line, _LONGEST_LINE) for line in text.split("\n"))


def _columns(model: ModelFile) -> str:
    """The columns that new rows need; of very many, the first ones."""
    names = [plain(name) for name in model.dictionary.required_columns()]
    more = len(names) - _MOST_COLUMNS
    return ", ".join(names[:_MOST_COLUMNS]) + (f" and {more:,} more, which model.json names" if more > 0 else "")


def _under(statement: Statement) -> str:
    named = statement.learner and statement.learner != LEARNER
    asked = f", asked by {plain(statement.learner)}" if named else ""
    return (
        f"Study “{plain(statement.study)}”{asked}. Stated {day_and_time(statement.date)} by copriv {statement.copriv}."
    )


def _counted(statement: Statement) -> str:
    """What is counted, and protected as one."""
    return "records" if statement.unit == UNIT else "people"


def _glance(run: Passable, owners: int, records: int) -> list[tuple[str, str, str]]:
    statement, facts = run.statement, run.facts
    promised, deltas = [owner.epsilon for owner in statement.owners], [owner.delta for owner in statement.owners]
    low, high = min(promised), max(promised)
    epsilon = f"ε = {high:g}" if low == high else f"ε = {low:g} to {high:g}"
    cards = [
        ("Trained from", f"{records:,} {_counted(statement)}", f"of {many(owners, 'owner')}"),
        ("Promised", epsilon, f"δ = {max(deltas):g}, for any one {statement.unit} ({statement.adjacency})"),
    ]
    psi = facts.relative_fitness
    if psi is not None:
        cards.append(("Expected distance from the best", f"{psi:.2g}", "ψ in these features, as a share of its loss"))
    if facts.quality is not None and facts.quality.joint is not None:
        name, value = headings(facts.quality.joint), cells(facts.quality.joint)
        shown = 1 if facts.quality.joint.log_loss is not None else 0
        cards.append((f"Expected {name[shown]}", value[shown], "on new records of the same population"))
    answers = sum(owner.answers for owner in statement.owners)
    cards.append(("Answers", f"{answers:,}", "each with the owner's own noise"))
    return cards


def _trained(run: Passable, owners: int, records: int) -> list[tuple[str, str | list[str]]]:
    terms, dictionary, public = run.model.terms, run.model.dictionary, run.statement.public
    sizes = [owner.records for owner in run.statement.owners]
    spread = f"{min(sizes):,}" if min(sizes) == max(sizes) else f"{min(sizes):,} to {max(sizes):,}"
    where = "on their own machines" if run.facts.network else "on one machine"
    return [
        ("Target", f"{plain(dictionary.target.name)}: {target_words(dictionary)}"),
        (
            "Owners",
            f"{many(owners, 'owner')}, {where}, with {spread} {_counted(run.statement)} each, {records:,} in all",
        ),
        ("Public rows", public.words),
        ("Features", [f"{dictionary.features:,} in all, fitted on public rows only", *feature_words(dictionary)]),
        ("Rule", rule_words(terms.rule)),
        ("Loss", f"{loss_words(terms)}; with {terms.regularization:g} times the squared length of the model"),
        ("Settings", _settings(run)),
    ]


def _settings(run: Passable) -> str:
    terms = run.model.terms
    meetings = "" if run.facts.timeline is None else f"; {many(run.facts.timeline.meetings, 'meeting')}"
    step = f"; step {terms.step:.4g}" if terms.step else ""
    return f"clip {terms.clip:.4g}; numbers of the model within ±{terms.limit:.4g}{step}{meetings}"


def _quality(facts: ReportFacts) -> dict[str, Any]:
    """Expected figures, and what owners were paid to tell."""
    told, judged = facts.quality, facts.evaluation
    if facts.validation is not None:
        return _quality(msgspec.structs.replace(facts, validation=None)) | _validation(facts.validation)
    page: dict[str, Any] = {"quality": None, "quality_words": _QUALITY, "no_quality": _NO_QUALITY}
    page |= {"evaluation": None, "quality_note": None, "validation": None}
    if judged is not None:
        page["evaluation"] = (
            f"Owners were paid to tell their average loss behind noise: {judged.average_loss:.5f} ± "
            f"{judged.standard_error:.5f} (standard error of the noise), over {many(judged.records, 'record')} of "
            f"{many(judged.owners, 'owner')}. It is part of what they have spent."
        )
    if told is None:
        return page
    if told.public.deviance is not None:
        page["quality_words"] += " The error in the target's unit does not follow from ψ (–)."
    if told.public.log_loss is not None:
        page["quality_words"] += " AUC and the share of right labels do not follow from ψ (–)."
    words, same = baseline(told.public)
    rows = [
        *_row("joint, private (expected)", told.joint),
        *_row("public rows only (cross-validated)", told.public),
        *_row("own records only, median owner (expected)", told.alone),
        (words, *same),
    ]
    if told.joint is not None and is_enough(told.joint, told.public):
        page["quality_note"] = _PUBLIC_IS_ENOUGH
    caption = "To be expected on new records" + ("" if told.warning is None else f"; beware: {told.warning}")
    return page | {"quality": Tabled(caption, ("model", *headings(told.public)), rows, first=told.joint is not None)}


def _validation(found: Validation) -> dict[str, Any]:
    """What owners were paid to tell of records that were held back."""
    headings = ("figure", "value", "population, 95 %", "held-back records, 95 %")
    everybody = Tabled("On held-back records of all owners", headings, validation_cells(found))
    by_owner = Tabled("Of each owner alone, with intervals for its population", *owner_cells(found))
    return {"validation": (everybody, by_owner), "validation_words": f"{MEANING} {price_words(found)}"}


def _row(name: str, metrics: Metrics | None) -> list[tuple[str, ...]]:
    return [] if metrics is None else [(name, *cells(metrics))]


def _distance(facts: ReportFacts) -> dict[str, Any]:
    """ψ as it was forecast, and as it is expected after the answers."""
    rows: list[tuple[str, float, tuple[float, float] | None]] = []
    notes: list[str] = []
    if (ahead := facts.predicted) is not None:
        rows.append(("forecast before the first answer", ahead.relative_fitness, ahead.interval))
        if ahead.elsewhere is not None:
            rows.append(("the same, if public rows are from elsewhere", ahead.relative_fitness, ahead.elsewhere))
        notes += [f"Of the forecast: {'; '.join(ahead.caveats)}."] if ahead.caveats else []
    if facts.foreseen:
        last = facts.foreseen[-1]
        rows.append((f"expected after {many(last.answers, 'answer')}", last.relative_fitness, last.interval))
        notes += [f"Beware: {last.verdict}."] if last.verdict else []
    shown = [
        (name, f"{psi:.2g}", "–" if ends is None else f"{ends[0]:.2g} to {ends[1]:.2g}") for name, psi, ends in rows
    ]
    table = Tabled("ψ, worked out from public rows and noisy answers", ("when", "ψ", "95 % range"), shown)
    axes = Axes("Expected distance from the best model", _said(shown), "ψ (logarithmic)", "", logarithmic=True)
    names = ("before", "if from elsewhere", "after the answers")
    short = [names[0] if "before" in name else names[1] if "elsewhere" in name else names[2] for name, _, _ in rows]
    picture = interval_picture(
        [Interval(name, psi, ends) for name, (_, psi, ends) in zip(short, rows, strict=True)], axes
    )
    return {"psi": table if rows else None, "psi_picture": picture, "psi_notes": notes}


def _said(rows: Sequence[tuple[str, str, str]]) -> str:
    return "; ".join(f"{name}: {value} ({ends})" for name, value, ends in rows)


def _rest(facts: ReportFacts, model: ModelFile) -> dict[str, Any]:
    """How far the model still was from the final one."""
    found = facts.converging
    if found is None or not found.points:
        return {"converging": None, "converging_words": ""}
    what = "share of the model's numbers" if found.unit == "share" else "difference of predictions"
    words = (
        f"How far the model after each meeting was from the final one: root mean square {what}, {_UNITS[found.unit]}. "
        "It follows from noisy answers. That it comes to rest does not say how good it is."
    )
    return {"converging": _rest_picture(found, plain(model.dictionary.target.name, 24)), "converging_words": words}


def _rest_picture(found: Converging, target: str) -> str:
    points = [(float(number), value) for number, value in found.points]
    values = [value for _, value in points if value > 0]
    logarithmic = bool(values) and max(values) > _LINEAR * min(values)
    unit = {"target": target, "log-odds": "log-odds", "logarithm": "logarithm", "share": "share"}[found.unit]
    (first, start), (last, end) = points[0], points[-1]
    description = f"From {start:.3g} after meeting {first:,.0f} to {end:.3g} after meeting {last:,.0f}."
    axes = Axes("Distance from the final model", description, "meeting", f"distance, {unit}", logarithmic)
    return line_picture([Line("distance", points, dots=len(points) <= _MOST_DOTS)], axes)


def _answers(facts: ReportFacts) -> dict[str, Any]:
    """The timeline, and why meetings came to nothing."""
    found = facts.timeline
    if found is None:
        return {"timeline": None, "timeline_words": "", "timeline_about": "", "refused": ()}
    answers = sum(owner.answers for owner in found.owners)
    words = f"{many(answers, 'answer')} in {many(found.meetings, 'meeting')}"
    words += f"; {many(found.refused, 'meeting')} had none." if found.refused else "; none was refused."
    about = "Each owner has a row. A tall mark is an answer, a low one a meeting without."
    if not found.rows:
        about = "All owners together: how many meetings had an answer, and how many had none."
    reasons = [(reason_words(reason), many(count, "meeting")) for reason, count in facts.refused.items()]
    return {"timeline": _timeline(found, words), "timeline_words": words, "timeline_about": about, "refused": reasons}


def _timeline(found: Timeline, words: str) -> str:
    axes = Axes("Who answered when", words, "meeting", "meetings")
    if found.rows:
        return rows_picture([owner.owner for owner in found.owners], found.rows, found.meetings, axes)
    return columns_picture(found.answers, found.refusals, found.meetings, axes)
