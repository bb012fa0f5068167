"""A run and a model as they are shown in a notebook: tables that need nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import polars as pl

from copriv.protocol.text import plain
from copriv.report.figures import Figures
from copriv.report.quality_lines import KINDS, baseline, cells, headings
from copriv.report.sentence import explain

_MOST_OWNERS = 20
_CELL = "text-align:left;padding:2px 12px 2px 0"
_SIMULATED = "simulated, not private"


def run_html(figures: Figures) -> str:
    """The sentence, the figures, what each owner spent, and what is promised about what."""
    promise = figures.guarantee
    noise = f"{figures.mechanism} noise, secure" if figures.noise == "secure" else _SIMULATED
    foretold = [] if figures.predicted is None else [("foretold on public rows", f"{figures.predicted:.4g}")]
    foretold += [("expected after the answers", f"{last.relative_fitness:.4g}") for last in figures.foreseen[-1:]]
    fitness = [*_models(figures), ("alone, median owner", f"{figures.alone.median:.4g}"), *foretold]
    owners = [
        (
            entry.owner,
            f"{entry.records:,}",
            f"{entry.answers} of {entry.most_answers}",
            f"{entry.epsilon:.3f} of {entry.promised:g}",
        )
        for entry in figures.spent[:_MOST_OWNERS]
    ]
    hidden = len(figures.spent) - _MOST_OWNERS
    more = [(f"… {hidden} more", "", "", "")] if hidden > 0 else []
    about = (
        f"<p>ε = {promise.epsilon:g}, δ = {promise.delta:g} for any one {escape(promise.unit)} "
        f"({escape(promise.adjacency)}); {escape(noise)}; rule {escape(figures.rule)}.</p>"
        "<p>ψ and the figures of models are measured on the records themselves and are not private.</p>"
    )
    parts = (
        f"<p><b>{escape(explain(figures))}</b></p>",
        table_html(("model", "ψ: distance from the best model in these features", *_headings(figures)), _even(fitness)),
        _at_home(figures),
        table_html(("owner", "records", "answers", "ε spent of promised"), [*owners, *more]),
        about,
    )
    return f'<div style="font-family:sans-serif;font-size:13px">{"".join(parts)}</div>'


def _headings(figures: Figures) -> tuple[str, ...]:
    return () if figures.quality is None else headings(figures.quality.joint)


def _models(figures: Figures) -> list[tuple[str, ...]]:
    """ψ and figures people know, on everybody's records."""
    quality, psi = figures.quality, f"{figures.relative_fitness:.4g}"
    if quality is None:
        return [("joint, private", psi)]
    rows: list[tuple[str, ...]] = [("joint, private", psi, *cells(quality.joint))]
    if figures.public is not None:
        rows.append(("public rows only", f"{figures.public.relative_fitness:.4g}", *cells(quality.public)))
    words, same = baseline(quality.joint)
    return [*rows, ("pooled, no privacy", "0", *cells(quality.pooled)), (words, "", *same)]


def _even(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Rows of one length."""
    width = max(map(len, rows))
    return [(*row, *[""] * (width - len(row))) for row in rows]


def _at_home(figures: Figures) -> str:
    """On owners' own records; nothing if there is nothing to compare with."""
    quality = figures.quality
    if quality is None or not quality.median or figures.owners == 1:
        return ""
    rows = [(KINDS[kind], *cells(each), f"{quality.best.get(kind, 0)}") for kind, each in quality.median.items()]
    names = ("on their own records, medians", *headings(quality.joint), "best for")
    return table_html(names, rows)


def model_html(title: str, coefficients: pl.DataFrame) -> str:
    """A model by its columns."""
    rows = [[f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in row] for row in coefficients.rows()]
    return f"<div><p><b>{escape(title)}</b></p>{table_html(coefficients.columns, rows)}</div>"


def table_html(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A small table; names that others have chosen are shown as text.

    >>> table_html(["a"], [["<b>"]]).count("&lt;b&gt;")
    1
    """
    head = "".join(f'<th style="{_CELL}">{escape(name)}</th>' for name in names)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{escape(plain(cell))}</td>' for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
