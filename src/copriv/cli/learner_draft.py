"""What `copriv learner draft` does: from public rows to a study file. No private record is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from copriv.cli.progress import bar
from copriv.cli.public_file import open_public
from copriv.cli.study_origin import NOT_NAMED
from copriv.cli.warning import warn
from copriv.errors import BadInput
from copriv.learner.public_rows import public_rows_beside, write_sample
from copriv.losses.passes import record_values
from copriv.losses.sample import Sample
from copriv.planning.training_plan import TrainingPlan, design_candidates
from copriv.planning.training_spec import RuleChoice, TrainingSpec
from copriv.privacy.guarantee import Guarantee
from copriv.privacy.weakness import weakness_of
from copriv.protocol.study_file import StudyFile, write_study
from copriv.protocol.terms import Clock, Meeting, Terms
from copriv.protocol.text import plain
from copriv.records.dictionary import Dictionary
from copriv.records.load import take_public
from copriv.records.table import require_columns
from copriv.records.target import TargetChoice
from copriv.rules.paper import CentralStep


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftOptions:
    """The options of `copriv learner draft`, as given."""

    public: Path
    target: str
    owners: int
    records: int
    epsilon: str
    delta: float
    answers: int | None
    name: str
    ordinal: bool
    positive_above: float | None
    skip: tuple[str, ...]
    features: int
    loss: str
    huber_threshold: float
    rule: RuleChoice
    horizon: int
    step: float | None
    clip: float | None
    central: str
    regularization: float
    meeting: Meeting
    clock: Clock
    evaluations: int
    evaluation_share: float
    seed: int
    out: Path
    learner: str = ""


def run_draft(options: DraftOptions, *, as_json: bool) -> None:
    """Write a study file."""
    _require_sensible(options)
    console = Console(stderr=True)
    guarantee = Guarantee.of(options.epsilon, options.delta)
    with bar(console, "fitting features, clip and step on the public rows"):
        dictionary, public = _read_public(options)
        candidates = _candidates(options, dictionary, public, guarantee)
    study = candidates[0]
    guarantee = study.commitments[0].calibration.guarantee
    file = StudyFile(_terms(options, study, guarantee, public), msgspec.to_builtins(dictionary))
    with options.out.open("x", encoding="utf-8") as output:
        output.write(write_study(file))
    public_rows_beside(options.out).write_bytes(write_sample(public))
    _tell(options, file, candidates, as_json=as_json)


def _candidates(
    options: DraftOptions, dictionary: Dictionary, public: Sample, guarantee: Guarantee
) -> list[TrainingPlan]:
    """Every rule and, where δ > 0 is allowed, also the stronger promise without it: one answer may be cheaper so."""
    sizes = (options.records,) * options.owners
    kinds = [guarantee] if guarantee.pure else [guarantee, Guarantee(guarantee.nano_epsilon)]
    wishes = [_wishes(options, kind) for kind in kinds]
    found = [study for each in wishes for study in design_candidates(dictionary, public, sizes, each)]
    return sorted(found, key=lambda study: study.predicted)


def _require_sensible(options: DraftOptions) -> None:
    for path in (options.out, public_rows_beside(options.out)):
        if path.exists():
            raise BadInput(
                f"{path} exists, and a study file is never overwritten",
                remedy="choose another --out, or remove it yourself",
                value=str(path),
            )
    for option, value in (("--owners", options.owners), ("--records", options.records)):
        if value < 1:
            raise BadInput(f"{option} is {value}", remedy="give at least 1", value=value)


def _read_public(options: DraftOptions) -> tuple[Dictionary, Sample]:
    labels = options.loss == "logistic"
    choice = TargetChoice(options.target, options.ordinal, options.positive_above, labels)
    table = open_public(options.public)
    require_columns(table, options.skip)
    dictionary, public, _ = take_public(table, choice, options.features, skip=options.skip)
    return dictionary, public


def _wishes(options: DraftOptions, guarantee: Guarantee) -> TrainingSpec:
    means_paper = options.rule == "auto" and (options.step is not None or options.central != "proof")
    return TrainingSpec(
        rule="paper" if means_paper else options.rule,
        guarantees=(guarantee,) * options.owners,
        seed=options.seed,
        loss=options.loss,
        threshold=options.huber_threshold,
        horizon=options.horizon,
        step=options.step,
        clip=options.clip,
        answers=options.answers,
        central=CentralStep(options.central),
        regularization=options.regularization,
    )


def _terms(options: DraftOptions, study: TrainingPlan, guarantee: Guarantee, public: Sample) -> Terms:
    terms = msgspec.structs.replace(
        study.terms,
        name=options.name,
        records=options.records,
        answers=study.commitments[0].calibration.answers,
        epsilon=guarantee.epsilon,
        delta=guarantee.delta,
        meeting=options.meeting,
        clock=options.clock,
        learner=options.learner,
        public_rows=public.records,
        public_source=plain(options.public.name),
    )
    if options.evaluations == 0 or study.public_model is None:
        return terms
    losses = record_values(terms.objective().loss, public, terms.objective().project(study.public_model))
    return msgspec.structs.replace(
        terms,
        evaluations=options.evaluations,
        evaluation_share=options.evaluation_share,
        loss_bound=float(np.max(losses)),
    )


class Candidate(msgspec.Struct):
    """One way to do it, as it is shown."""

    rule: str
    mechanism: str
    answers: int
    clip: float
    step: float
    predicted: float


def _shown(study: TrainingPlan) -> Candidate:
    calibration, terms = study.commitments[0].calibration, study.terms
    name, answers = calibration.mechanism.name, calibration.answers
    return Candidate(terms.rule, name, answers, terms.clip, terms.step, study.predicted)


def _tell(options: DraftOptions, file: StudyFile, candidates: list[TrainingPlan], *, as_json: bool) -> None:
    terms, shown = file.terms, [_shown(study) for study in candidates]
    weak = weakness_of(terms.epsilon, terms.delta, options.records)
    warn(weak, Console(stderr=True))
    if as_json:
        about = {"study": str(options.out), "terms": terms.digest(), "predicted": shown[0].predicted, "weakness": weak}
        told = about | msgspec.to_builtins(terms) | {"candidates": msgspec.to_builtins(shown)}
        typer.echo(msgspec.json.encode(told).decode())
        return
    typer.echo(f"the study {terms.name!r} is in {options.out}; its terms are {terms.digest()}")
    typer.echo(f"  asks for  ε = {terms.epsilon:g}, δ = {terms.delta:g} for any one record (replace-one)")
    typer.echo(f"  learner   {terms.learner or NOT_NAMED}; {terms.public.words}")
    typer.echo(f"  rule      {terms.rule}, at most {terms.answers} answers of each owner ({terms.meeting})")
    typer.echo(f"  clip      {terms.clip:.4g}, box {terms.limit:.4g}")
    _compare(shown, options)
    typer.echo(f"next: copriv train --study {options.out} (here), or copriv learner init {options.out} (a consortium)")


def _compare(shown: list[Candidate], options: DraftOptions) -> None:
    """What each way should cost, and why the second is second."""
    table = Table(
        title=f"ψ foreseen on public rows, for {options.owners} owners of {options.records:,} records",
        title_justify="left",
    )
    table.add_column("rule")
    table.add_column("noise")
    for heading in ("answers", "clip", "step", "ψ foreseen"):
        table.add_column(heading, justify="right")
    for way in shown:
        step = f"{way.step:.3g}" if way.step else "–"
        table.add_row(way.rule, way.mechanism, str(way.answers), f"{way.clip:.3g}", step, f"{way.predicted:.2e}")
    Console().print(table)
    if len(shown) > 1:
        first, second = shown[:2]
        typer.echo(f"taken: {first.rule} with {first.mechanism} noise")
        typer.echo(
            f"the runner-up, {second.rule} with {second.mechanism} noise and {second.answers} answers of each owner, "
            f"should cost {_times(second.predicted / first.predicted)}: {_why(first, second)}"
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
