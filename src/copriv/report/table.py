"""A run as a small table for the terminal."""

from __future__ import annotations

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from copriv.protocol.text import plain, quoted
from copriv.report.figures import Figures, Spending
from copriv.report.quality_lines import baseline, cells, headings, owners_table
from copriv.report.report_files import report_lines
from copriv.report.sentence import explain, many
from copriv.runtime.local_dataset import DatasetSpending

_MOST_OWNERS = 12


def show(figures: Figures, console: Console) -> None:
    """Print fitness, spending, and what it means."""
    known = (*_everybody(figures), *_at_home(figures), _fitness(figures), "", _spending(figures), "")
    console.print(Group(*known, Text(explain(figures), style="bold")))
    console.print(
        f"\nunit: one {figures.guarantee.unit}; adjacency: {figures.guarantee.adjacency}; "
        f"δ = {figures.guarantee.delta:g}; {_noise(figures)}",
        style="dim",
    )
    if figures.dataset is not None:
        console.print(f"\n{_in_all(figures.dataset)}", highlight=False, markup=False)
    little = None if figures.quality is None else figures.quality.warning
    for words in dict.fromkeys((figures.weakness, figures.dataset and figures.dataset.weakness, little)):
        if words:
            console.print(Text(f"warning: {words}", style="bold"))
    console.print(
        "ψ, gains and all figures of models are measured on the records themselves and are not private.",
        style="dim",
    )
    console.print(f"run folder: {figures.run_folder}", style="dim", markup=False)
    for line in report_lines(figures.run_folder, private=figures.noise == "secure"):
        console.print(line, style="dim", markup=False, highlight=False)


def _in_all(spent: DatasetSpending) -> str:
    budget = "no budget is declared" if spent.budget is None else f"the budget is ε = {spent.budget:g}"
    return (
        f"these records have lost ε = {spent.epsilon:.6g}, δ = {spent.delta:g} in all, for any one {spent.unit} "
        f"({spent.adjacency}), in {_studies(spent.studies)}; {budget}; ledger: {spent.ledger}"
    )


def _studies(count: int) -> str:
    return "1 study" if count == 1 else f"{count:,} studies"


def _everybody(figures: Figures) -> list[Table | str]:
    """Figures people know, on everybody's records."""
    quality = figures.quality
    if quality is None:
        return []
    title = Text(f"models of {quoted(figures.target)} on everybody's records")
    table = Table(title=title, title_justify="left")
    table.add_column("model")
    for heading in headings(quality.joint):
        table.add_column(heading, justify="right")
    table.add_row("joint, private", *cells(quality.joint))
    if quality.public is not None:
        table.add_row("public rows only", *cells(quality.public))
    table.add_row("pooled, no privacy", *cells(quality.pooled))
    words, same = baseline(quality.joint)
    table.add_row(words, *same)
    return [table, ""]


def _at_home(figures: Figures) -> list[Table | str]:
    """Owners' own records; nothing if there is nothing to compare with."""
    quality = figures.quality
    if quality is None or not quality.median or figures.owners == 1:
        return []
    return [owners_table(quality.median, quality.best, len(quality.owners)), ""]


def _fitness(figures: Figures) -> Table:
    table = Table(title="ψ: distance from the best model in these features", title_justify="left")
    table.add_column("model")
    table.add_column("ψ", justify="right")
    table.add_column("")
    table.add_row("joint, private", _number(figures.relative_fitness), f"after {many(figures.horizon, 'meeting')}")
    table.add_row("alone, median owner", _number(figures.alone.median), "its own model, on everybody's records")
    if figures.public is not None:
        table.add_row("public rows only", _number(figures.public.relative_fitness), f"{figures.public.rows:,} rows")
    if figures.predicted is not None:
        ratio = figures.relative_fitness / figures.predicted
        table.add_row("predicted on public rows", _number(figures.predicted), f"measured is {ratio:.2g} times that")
    if figures.foreseen:
        last = figures.foreseen[-1]
        fits = "" if last.fits else "; these public rows do not fit"
        table.add_row("expected after the answers", _number(last.relative_fitness), f"{_ends(last.interval)}{fits}")
    return table


def _ends(interval: tuple[float, float]) -> str:
    return f"95 %: {interval[0]:.1e} to {interval[1]:.1e}"


def _spending(figures: Figures) -> Table:
    table = Table(title="what each owner spent", title_justify="left")
    table.add_column("owner")
    for heading in ("records", "answers", "ε spent", "ε promised"):
        table.add_column(heading, justify="right")
    for entry in figures.spent[:_MOST_OWNERS]:
        table.add_row(*map(Text, _row(entry)))
    hidden = figures.spent[_MOST_OWNERS:]
    if hidden:
        most = max(hidden, key=lambda entry: entry.epsilon / entry.promised)
        table.add_row(f"… {len(hidden)} more", "", "", f"at most {most.epsilon:.3f}", f"{most.promised:g}")
    return table


def _row(entry: Spending) -> tuple[str, ...]:
    answers = f"{entry.answers} of {entry.most_answers}"
    return plain(entry.owner), f"{entry.records:,}", answers, f"{entry.epsilon:.3f}", f"{entry.promised:g}"


def _noise(figures: Figures) -> str:
    if figures.noise == "secure":
        return f"{figures.mechanism} noise, secure"
    return f"{figures.mechanism} noise, simulated: this run protects nobody"


def _number(value: float) -> str:
    return f"{value:.2e}" if value < 0.001 else f"{value:.4f}"
