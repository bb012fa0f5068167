"""How an audit looks in a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from copriv.audit.claim import Claim
from copriv.audit.result import AuditResult
from copriv.privacy.guarantee import ADJACENCY, UNITS


def show(tests: Sequence[AuditResult], claims: Sequence[Claim], seconds: float, console: Console) -> None:
    """What is certified against what is claimed, and then what was seen."""
    for claim in claims:
        console.print(_claim_in_words(claim), highlight=False, soft_wrap=True)
    console.print(_table(tests))
    for test in tests:
        style = "dim" if test.passed else "red"
        console.print(f"{test.name}: {test.words}", style=style, highlight=False, soft_wrap=True)
    passed = all(test.passed for test in tests)
    outcome = "the claim stands" if passed else "the claim is refuted: do not answer from records"
    words = f"{outcome} ({seconds:.0f} s). A certified ε is a lower bound of the true one, at the same δ."
    console.print(words, highlight=False, soft_wrap=True)


def _table(tests: Sequence[AuditResult]) -> Table:
    table = Table("test")
    table.add_column("certified ε", justify="right")
    table.add_column("claimed ε", justify="right")
    table.add_column("verdict")
    for test in tests:
        table.add_row(test.name, *numbers(test), "passed" if test.passed else "[bold red]FAILED[/]")
    return table


def numbers(test: AuditResult) -> tuple[str, str]:
    """What is certified, and what is claimed."""
    certified = "no bound" if math.isinf(test.certified) else f"≥ {test.certified:.4g}"
    return certified, f"{test.claimed:.4g}"


def _claim_in_words(claim: Claim) -> str:
    guarantee = claim.guarantee
    return (
        f"The claim: ε = {guarantee.epsilon:g}, δ = {guarantee.delta:g} for one {UNITS[claim.unit]} ({ADJACENCY}) over "
        f"{_answers_in_words(claim)} with {claim.mechanism} noise; {claim.records:,} {_who(claim)}"
    )


def _who(claim: Claim) -> str:
    return f"people, of whom the one that is swapped has {claim.rows:,} rows" if claim.rows else "records"


def _answers_in_words(claim: Claim) -> str:
    if claim.asks == "moments":
        return f"one answer of {claim.numbers:,} moments"
    return f"{claim.answers:,} answers of {claim.numbers:,} numbers, clip {claim.clip:g},"
