"""What came of a study with owners elsewhere: figures, the privacy statement, the model and a picture.

The learner has seen no record. Everything here follows from the terms, from what owners said of themselves and from
their answers, so all of it may be passed on.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from copriv.learner.roster import meetings_of
from copriv.learner.validation import Validation
from copriv.privacy.calibration import spent_epsilon
from copriv.privacy.guarantee import Amount
from copriv.protocol.commitment import Commitment, commitment_of, weakest
from copriv.protocol.meeting import Hello
from copriv.report.coefficient_errors import coefficient_errors
from copriv.report.figures import GuaranteeShown, Spending
from copriv.report.gather_facts import joint_facts
from copriv.report.inference import infer_coefficients, write_inference
from copriv.report.menu import state_menu
from copriv.report.model_file import ModelFile, Promised, read_model, write_model
from copriv.report.report_facts import Judged
from copriv.report.report_files import write_facts, write_pages
from copriv.report.report_page import Passable
from copriv.report.sentence import many
from copriv.report.statement import (
    ExpelledStatement,
    Heading,
    Statement,
    make_statement,
    owner_statement,
    write_statement,
)
from copriv.runtime.learner_outcome import Archive, JointRun, Kept
from copriv.runtime.local_folder import shut

# Okabe and Ito's palette, distinguishable with any colour vision.
_BLUE, _ORANGE = "#0072B2", "#D55E00"


class ShownOut(msgspec.Struct):
    """An owner that was caught lying: at which meeting (0: in the evaluation), why, and what was taken out."""

    owner: str
    meeting: int
    taken_out: int
    why: str


class JointFigures(msgspec.Struct):
    """Everything about a study with owners elsewhere that is a number."""

    study: str
    owners: int
    records: int
    features: int
    rule: str
    horizon: int
    meetings: int
    meeting: str
    clock: str
    guarantee: GuaranteeShown
    spent: list[Spending]
    refused: dict[str, int]
    evaluation: Judged | None
    loss: str
    target: str
    clip: float
    step: float
    limit: float
    regularization: float
    terms: str
    seconds: float
    run_folder: str
    expelled: list[ShownOut] = []
    weakness: str | None = None
    validation: Validation | None = None


def joint_figures(run: JointRun) -> JointFigures:
    """The figures of a finished study."""
    terms, dictionary, spent = run.terms, run.dictionary(), _spending(run)
    refusals, met, found = run.refusals(), len(run.meetings()), run.evaluation
    return JointFigures(
        study=terms.name,
        owners=len(spent),
        records=sum(entry.records for entry in spent),
        features=dictionary.features,
        rule=terms.rule,
        horizon=meetings_of(terms, run.roster),
        meetings=met,
        meeting=terms.meeting,
        clock=terms.clock,
        guarantee=GuaranteeShown(
            max(entry.promised for entry in spent), max(entry.delta for entry in spent), run.terms.unit_words
        ),
        spent=spent,
        refused={reason: refusals.count(reason) for reason in sorted(set(refusals))},
        validation=run.validation,
        evaluation=None if found is None else Judged(found.loss, found.standard_error, found.owners, found.records),
        loss=terms.loss,
        target=dictionary.target.name,
        clip=terms.clip,
        step=terms.step,
        limit=terms.limit,
        regularization=terms.regularization,
        terms=terms.digest(),
        seconds=run.seconds,
        run_folder=str(run.folder),
        expelled=_shown_out(run),
        weakness=weakest(
            [commitment_of(hello, terms) for hello in run.roster.owners], [each.records for each in spent]
        ),
    )


def write_joint(run: JointRun, figures: JointFigures) -> None:
    """The model, the privacy statement, the schedule, the report, the picture and, last, the figures."""
    unit = figures.guarantee.unit
    promised = tuple(Promised(entry.owner, entry.promised, entry.delta, unit) for entry in figures.spent)
    theta = tuple(run.model.tolist())
    errors = coefficient_errors(run.dictionary(), run.errors)
    model = ModelFile(theta, run.terms, run.dictionary(), promised, "secure", errors=errors)
    write_afresh(model, run.folder / "model.json")
    (run.folder / "schedule.json").write_bytes(run.trace().to_json() + b"\n")
    statement, facts = _statement(run, figures.spent), joint_facts(run)
    write_statement(statement, run.folder)
    write_facts(run.folder, facts)
    inference = infer_coefficients(run.dictionary(), run.unshrunk, run.roster.names, "secure")
    write_inference(inference, run.folder)
    write_pages(run.folder, Passable(model, statement, facts, inference))
    draw(run, run.folder)
    (run.folder / "run.json").write_bytes(msgspec.json.format(msgspec.json.encode(figures)) + b"\n")
    shut(run.folder)


def write_afresh(model: ModelFile, path: Path) -> None:
    """Write a model; one that a killed process has left of this very run is replaced."""
    path.unlink(missing_ok=True)
    write_model(model, path)


def draw(run: JointRun, folder: Path) -> list[Path]:
    """Write meetings.png and meetings.svg: who answered when."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import MaxNLocator

    names = (*run.roster.names, *(out.owner for out in run.expelled if out.owner not in run.roster.names))
    shown = [name if name in run.roster.names else f"{name} (expelled)" for name in names]
    with plt.rc_context({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "c"}):
        figure, axes = plt.subplots(figsize=(6.4, min(8.0, 1.6 + 0.22 * len(names))), layout="constrained")
        for answered, colour, label in ((True, _BLUE, "answer"), (False, _ORANGE, "refusal")):
            met = [entry for entry in run.log if (entry.outcome == "answer") == answered]
            if met:
                times, places = [entry.number for entry in met], [names.index(entry.owner) for entry in met]
                axes.scatter(times, places, s=30, marker="|", color=colour, label=label)
        axes.set_xlabel("meeting k")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_yticks(range(len(names)), shown if len(names) <= 30 else [""] * len(names))
        axes.set_title(f"who answered when: {many(len(names), 'owner')}", fontsize=10, loc="left")
        paths = [folder / f"meetings.{kind}" for kind in ("png", "svg")]
        for path in paths:
            figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix == ".svg" else None)
        plt.close(figure)
    return paths


def _write_run(run: JointRun) -> JointFigures:
    figures = joint_figures(run)
    write_joint(run, figures)
    return figures


def _read_run(folder: Path) -> Kept[JointFigures]:
    figures = msgspec.json.decode((folder / "run.json").read_bytes(), type=JointFigures)
    return Kept(figures, read_model(folder / "model.json").theta, tuple(out.owner for out in figures.expelled))


ARCHIVE = Archive(_write_run, _read_run)


def _shown_out(run: JointRun) -> list[ShownOut]:
    """Who was caught, as it is shown."""
    taken_out = run.taken_out()
    return [ShownOut(out.owner, out.number, taken_out[out.owner], out.why) for out in run.expelled]


def _spending(run: JointRun) -> list[Spending]:
    """What each owner's answers have cost it, by the price on them."""
    return [_spent(run, hello, commitment_of(hello, run.terms)) for hello in run.roster.owners]


def _spent(run: JointRun, hello: Hello, commitment: Commitment) -> Spending:
    answers = [entry for entry in run.log if entry.owner == hello.owner and entry.outcome == "answer"]
    nano = sum(entry.nano for entry in answers) + run.evaluated.get(hello.owner, 0)
    calibration = commitment.calibration
    amount = Amount(nano, calibration.budget.measure)
    return Spending(
        owner=hello.owner,
        answers=len(answers),
        epsilon=spent_epsilon(amount, calibration.guarantee, calibration.accountant) if nano else 0.0,
        delta=calibration.guarantee.delta,
        promised=calibration.guarantee.epsilon,
        most_answers=calibration.answers,
        records=hello.records,
        menu=state_menu(commitment, [(entry.kind, entry.share, entry.before) for entry in answers]),
    )


def _statement(run: JointRun, spent: Sequence[Spending]) -> Statement:
    owners = [
        owner_statement(entry, commitment_of(hello, run.terms))
        for hello, entry in zip(run.roster.owners, spent, strict=True)
    ]
    expelled = [ExpelledStatement(out.owner, out.why) for out in run.expelled]
    date = datetime.now(UTC).isoformat(timespec="seconds")
    heading = Heading(run.terms.name, run.terms.learner, date, run.terms.public, run.terms.people)
    return make_statement(heading, run.terms.digest(), "secure", owners, expelled)
