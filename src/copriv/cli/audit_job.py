"""What `copriv audit` does: state the claim, attack it, tell how it stands."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from copriv.audit.claim import Claim
from copriv.audit.examination import Effort, examine
from copriv.audit.verdict import Audit, Verdict
from copriv.cli.progress import bar
from copriv.entropy import seeded
from copriv.privacy.guarantee import ADJACENCY, UNIT, Guarantee


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """The options of `copriv audit`, as given."""

    epsilon: str
    delta: float
    records: int
    parameters: int
    clip: float
    answers: int
    draws: int
    level: float
    seed: int
    as_json: bool


def run_job(options: AuditOptions) -> bool:
    """The whole of `copriv audit`; whether the claim stands."""
    started = time.perf_counter()
    guarantee = Guarantee.of(options.epsilon, options.delta)
    claim = Claim(guarantee, options.answers, options.clip, options.records, options.parameters)
    effort = Effort(options.draws, options.level)
    with bar(Console(stderr=True), "asking for answers") as tell:
        tests = examine(claim, effort, seeded(options.seed, "audit"), tell=tell)
    told = Audit(
        passed=all(test.passed for test in tests),
        claimed=guarantee.describe(),
        mechanism=claim.mechanism,
        tests=tests,
        seconds=round(time.perf_counter() - started, 3),
    )
    if options.as_json:
        typer.echo(msgspec.json.encode(told).decode())
    else:
        show(told, claim, Console())
    return told.passed


def show(told: Audit, claim: Claim, console: Console) -> None:
    """What is certified against what is claimed, and then what was seen."""
    table = Table("test")
    table.add_column("certified ε", justify="right")
    table.add_column("claimed ε", justify="right")
    table.add_column("verdict")
    for test in told.tests:
        table.add_row(test.name, *_numbers(test), "passed" if test.passed else "[bold red]FAILED[/]")
    console.print(_claim_in_words(claim), highlight=False, soft_wrap=True)
    console.print(table)
    for test in told.tests:
        console.print(
            f"{test.name}: {test.words}", style="dim" if test.passed else "red", highlight=False, soft_wrap=True
        )
    console.print(_conclusion(told), highlight=False, soft_wrap=True)


def _numbers(test: Verdict) -> tuple[str, str]:
    certified = "no bound" if math.isinf(test.certified) else f"≥ {test.certified:.4g}"
    return certified, f"{test.claimed:.4g}"


def _claim_in_words(claim: Claim) -> str:
    guarantee = claim.guarantee
    return (
        f"The claim: ε = {guarantee.epsilon:g}, δ = {guarantee.delta:g} for one {UNIT} ({ADJACENCY}) over "
        f"{claim.answers:,} answers of {claim.parameters:,} numbers with {claim.mechanism} noise; "
        f"{claim.records:,} records, clip {claim.clip:g}"
    )


def _conclusion(told: Audit) -> str:
    outcome = "the claim stands" if told.passed else "the claim is refuted: do not answer from records"
    return f"{outcome} ({told.seconds:.0f} s). A certified ε is a lower bound of the true one, at the same δ."
