"""The figures of a run as one object: what `--json` prints and run.json keeps."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from copriv.forecast.foresight import Foreseen
from copriv.losses.metrics import Metrics
from copriv.losses.sample import Sample
from copriv.owner.owner import account_of, study_of
from copriv.planning.few_rows import about_few_rows
from copriv.privacy.calibration import spent_epsilon
from copriv.privacy.guarantee import ADJACENCY, NANO, UNIT, Amount
from copriv.protocol.commitment import weakest
from copriv.protocol.messages import Kind
from copriv.records.quality import metrics_of_model
from copriv.report.menu import MenuStated, state_menu
from copriv.rules.paper import rho_from_step
from copriv.runtime.local_dataset import DatasetSpending
from copriv.runtime.local_quality import Quality
from copriv.runtime.local_run import LocalRun

NOT_PRIVATE = (
    "relative_fitness, cost_of_privacy, fitness, best_fitness, alone, public, quality, held_back and path are measured "
    "on the records themselves: they are not differentially private and not meant to be passed on"
)

# Kinds of questions that are paid for beside training.
_BESIDE: tuple[Kind, ...] = ("loss", "validation")


class GuaranteeShown(msgspec.Struct):
    """The weakest promise of any owner, with its unit and adjacency."""

    epsilon: float
    delta: float
    unit: str = UNIT
    adjacency: str = ADJACENCY


class Spending(msgspec.Struct):
    """What one owner spent of what it promised; where the terms have a menu, also what was chosen from it."""

    owner: str
    answers: int
    epsilon: float
    delta: float
    promised: float
    most_answers: int
    records: int
    menu: list[MenuStated] = []


class Budget(msgspec.Struct):
    """What one account of an owner's ledger says, over all studies that it knows; no budget if none is declared."""

    owner: str
    currency: str
    budget: float | None
    spent: float
    reserved: float
    left: float | None
    studies: int


class Alone(msgspec.Struct):
    """ψ of the median owner's own model, and for how many owners joining pays on their own records."""

    median: float
    gaining: int


class Public(msgspec.Struct):
    """The model that the public rows alone give."""

    rows: int
    relative_fitness: float


class Figures(msgspec.Struct):
    """Everything about a run that is a number."""

    owners: int
    records: int
    features: int
    rule: str
    horizon: int
    guarantee: GuaranteeShown
    relative_fitness: float
    cost_of_privacy: float
    fitness: float
    best_fitness: float
    alone: Alone
    public: Public | None
    spent: list[Spending]
    seconds: float
    loss: str
    target: str
    noise: str
    mechanism: str
    accountant: str
    clip: float
    step: float
    rho: float
    predicted: float | None
    limit: float
    regularization: float
    central: str
    seed: int
    terms: str
    refused: int
    run_folder: str
    notices: list[str]
    not_private: str = NOT_PRIVATE
    path: list[tuple[int, float]] = []
    weakness: str | None = None
    dataset: DatasetSpending | None = None
    predicted_interval: tuple[float, float] | None = None
    predicted_elsewhere: tuple[float, float] | None = None
    foreseen: list[Foreseen] = []
    quality: Quality | None = None
    budgets: list[Budget] = []
    held_back: Metrics | None = None


def _weakest_promise(run: LocalRun, spent: list[Spending]) -> GuaranteeShown:
    delta = run.study.commitments[0].calibration.guarantee.delta
    return GuaranteeShown(max(entry.promised for entry in spent), delta, run.study.terms.unit_words)


def figures(run: LocalRun) -> Figures:
    """The figures of a run."""
    terms, findings = run.study.terms, run.findings
    calibration = run.study.commitments[0].calibration
    public, spent = _public(run), spending(run)
    return Figures(
        owners=len(run.intake.owners),
        records=sum(entry.records for entry in spent),
        features=run.intake.dictionary.features,
        rule=terms.rule,
        horizon=terms.horizon,
        guarantee=_weakest_promise(run, spent),
        relative_fitness=findings.relative,
        cost_of_privacy=findings.cost_of_privacy,
        fitness=findings.fitness,
        best_fitness=findings.best_fitness,
        alone=Alone(findings.alone_median, run.quality.paid["joined"]),
        public=public,
        spent=spent,
        seconds=run.seconds,
        loss=terms.loss,
        target=run.intake.dictionary.target.name,
        noise=run.noise,
        mechanism=calibration.mechanism.name,
        accountant=calibration.accountant,
        clip=terms.clip,
        step=terms.step,
        rho=rho_from_step(terms.step, horizon=terms.horizon, strong_convexity=2 * terms.regularization),
        predicted=None if math.isnan(run.study.predicted) else run.study.predicted,
        limit=terms.limit,
        regularization=terms.regularization,
        central=terms.central,
        seed=run.job.request.seed or 0,
        terms=terms.digest(),
        refused=len(run.watch.refusals),
        run_folder=str(run.job.folder or ""),
        notices=_notices(run),
        path=list(findings.path),
        weakness=weakest(run.study.commitments, [entry.records for entry in spent]),
        dataset=run.dataset,
        **_seen(run),
    )


def _notices(run: LocalRun) -> list[str]:
    """What was noted while reading, and that public rows are few."""
    few = about_few_rows(run.intake.public, run.study.terms.rule)
    return [*run.intake.notices, *(words for words in (few, run.quality.warning) if words)]


def _seen(run: LocalRun) -> dict[str, Any]:
    """Where ψ was predicted to lie, if public rows fit and if they do not; what answers, models and ledgers tell."""
    candidate, watched = run.study.candidate, run.watch.foreseen
    told: dict[str, Any] = {
        "foreseen": watched,
        "quality": run.quality,
        "budgets": budgets(run),
        "held_back": _held_back(run),
    }
    if candidate is None or math.isnan(candidate.relative_fitness):
        return told
    ahead = candidate.forecast
    elsewhere = ahead.elsewhere if run.job.rows_from_elsewhere else None
    return told | {"predicted_interval": ahead.interval, "predicted_elsewhere": elsewhere}


def _public(run: LocalRun) -> Public | None:
    if run.intake.public is None or run.findings.public is None:
        return None
    return Public(run.intake.public.records, run.findings.public)


def _held_back(run: LocalRun) -> Metrics | None:
    """The joint model on the records that did not train, exactly; not private."""
    held_back = [owner.held_back for owner in run.intake.owners if owner.held_back is not None]
    if not held_back:
        return None
    return metrics_of_model(run.intake.dictionary.target, Sample.join(held_back), run.model)


def spending(run: LocalRun) -> list[Spending]:
    """What each owner's ledger says."""
    entries = []
    for owner, commitment, ledger in zip(run.intake.owners, run.study.commitments, run.consortium.ledgers, strict=True):
        book, calibration = ledger.state(), commitment.calibration
        digest = run.study.terms.digest()
        training = book.spent_by(digest)
        beside = (account_of(digest, kind) for kind in _BESIDE)
        spent = training + sum(map(book.spent_by, beside))
        menu = state_menu(commitment, run.watch.asked.get(owner.name, []))
        given = sum(choice.answers for choice in menu) if menu else training // calibration.charge.nano
        entries.append(
            Spending(
                owner=owner.name,
                answers=given,
                epsilon=spent_epsilon(
                    Amount(spent, calibration.budget.measure), calibration.guarantee, calibration.accountant
                ),
                delta=calibration.guarantee.delta,
                promised=calibration.guarantee.epsilon,
                most_answers=calibration.answers,
                records=owner.sample.records,
                menu=menu,
            )
        )
    return entries


def budgets(run: LocalRun) -> list[Budget]:
    """What each owner's ledger says of every study that it knows."""
    found = []
    for owner, ledger in zip(run.intake.owners, run.consortium.ledgers, strict=True):
        book = ledger.state()
        studies = len({study_of(account) for account in book.studies})
        for measure, account in book.accounts.items():
            open_questions = (asked for asked in book.queries.values() if asked.answer is None)
            reserved = sum(asked.price.nano for asked in open_questions if asked.price.measure == measure)
            left = None if account.open else account.left / NANO
            limit = None if account.open else account.budget.nano / NANO
            sign = "ε" if measure == "epsilon" else "ρ"
            found.append(Budget(owner.name, sign, limit, account.spent / NANO, reserved / NANO, left, studies))
    return found
