"""What `copriv audit` does: state the claim, attack it, tell how it stands."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from copriv.audit.claim import Asks, Claim
from copriv.audit.examination import Effort, examine
from copriv.audit.result import Audit, AuditResult
from copriv.audit.whole_reply import audit_whole_reply, corpus
from copriv.cli.progress import bar
from copriv.cli.whole_reply_job import audited_house
from copriv.entropy import seeded
from copriv.privacy.guarantee import ADJACENCY, UNIT, Guarantee

_WORDS = {"gradient": "gradients", "moments": "moments"}


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """The options of `copriv audit`, as given."""

    asks: tuple[Asks, ...]
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
    claims = [_claim(options, guarantee, asks) for asks in options.asks]
    effort = Effort(options.draws, options.level, owners=options.answers)
    tests = [test for claim in claims for test in _attack(claim, effort, options.seed)]
    tests.append(_compare_replies(guarantee))
    told = Audit(
        passed=all(test.passed for test in tests),
        claimed=guarantee.describe(),
        mechanism=claims[0].mechanism,
        tests=tests,
        seconds=round(time.perf_counter() - started, 3),
    )
    if options.as_json:
        typer.echo(msgspec.json.encode(told).decode())
    else:
        show(told, claims, Console())
    return told.passed


def _claim(options: AuditOptions, guarantee: Guarantee, asks: Asks) -> Claim:
    """Over many gradients, or over moments that are told once."""
    answers = options.answers if asks == "gradient" else 1
    return Claim(guarantee, answers, options.clip, options.records, options.parameters, asks)


def _attack(claim: Claim, effort: Effort, seed: int) -> list[AuditResult]:
    """What all tests of one claim say; those of moments say so."""
    with bar(Console(stderr=True), f"asking for {_WORDS[claim.asks]}") as tell:
        tests = examine(claim, effort, seeded(seed, "audit"), tell=tell)
    if claim.asks == "gradient":
        return tests
    return [msgspec.structs.replace(test, name=f"{claim.asks}: {test.name}") for test in tests]


def _compare_replies(guarantee: Guarantee) -> AuditResult:
    """Everything but the noise; whatever is claimed, it must not tell two files apart."""
    with bar(Console(stderr=True), "comparing whole replies") as tell:
        found = audit_whole_reply(audited_house(), tuple(corpus()), tell)
    return msgspec.structs.replace(found, claimed=guarantee.epsilon)


def show(told: Audit, claims: list[Claim], console: Console) -> None:
    """What is certified against what is claimed, and then what was seen."""
    table = Table("test")
    table.add_column("certified ε", justify="right")
    table.add_column("claimed ε", justify="right")
    table.add_column("verdict")
    for test in told.tests:
        table.add_row(test.name, *_numbers(test), "passed" if test.passed else "[bold red]FAILED[/]")
    for claim in claims:
        console.print(_claim_in_words(claim), highlight=False, soft_wrap=True)
    console.print(table)
    for test in told.tests:
        console.print(
            f"{test.name}: {test.words}", style="dim" if test.passed else "red", highlight=False, soft_wrap=True
        )
    console.print(_conclusion(told), highlight=False, soft_wrap=True)


def _numbers(test: AuditResult) -> tuple[str, str]:
    certified = "no bound" if math.isinf(test.certified) else f"≥ {test.certified:.4g}"
    return certified, f"{test.claimed:.4g}"


def _claim_in_words(claim: Claim) -> str:
    guarantee = claim.guarantee
    return (
        f"The claim: ε = {guarantee.epsilon:g}, δ = {guarantee.delta:g} for one {UNIT} ({ADJACENCY}) over "
        f"{_answers_in_words(claim)} with {claim.mechanism} noise; {claim.records:,} records"
    )


def _answers_in_words(claim: Claim) -> str:
    if claim.asks == "moments":
        return f"one answer of {claim.numbers:,} moments"
    return f"{claim.answers:,} answers of {claim.numbers:,} numbers, clip {claim.clip:g},"


def _conclusion(told: Audit) -> str:
    outcome = "the claim stands" if told.passed else "the claim is refuted: do not answer from records"
    return f"{outcome} ({told.seconds:.0f} s). A certified ε is a lower bound of the true one, at the same δ."
