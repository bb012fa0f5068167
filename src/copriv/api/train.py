"""`train`: one model across private owners, and `Run`, what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import msgspec
import polars as pl

from copriv.api.data import Data
from copriv.api.model import Model
from copriv.api.settings import Each, TrainSettings, request_from, require_known, this_person
from copriv.errors import BadInput
from copriv.losses.choose import loss_name
from copriv.losses.metrics import Metrics
from copriv.report import run_folder
from copriv.report.coefficient_errors import OF_A_PERSON, CoefficientErrors
from copriv.report.dossier import parse_sign_off
from copriv.report.dossier_files import DossierWritten, write_dossier
from copriv.report.figures import Figures
from copriv.report.model_file import PERSONAL
from copriv.report.run_folder import Result
from copriv.report.sentence import explain, many
from copriv.report.statement import describe
from copriv.report.validation_table import validation_rows
from copriv.runtime.events import Event, silent
from copriv.runtime.local_folder import make, require_new
from copriv.runtime.local_quality import OwnersAtHome
from copriv.runtime.local_run import Job, begin, run_local

if TYPE_CHECKING:
    from copriv.api.inference import Inference
    from copriv.api.report import Report


@dataclass(frozen=True, repr=False)
class Run:
    """A finished training: the model, what it cost whom, and what may be said about it.

    >>> from copriv.api.data import read
    >>> table = {"x": [k % 20 / 10 for k in range(600)], "y": [3.0 + k % 20 / 5 for k in range(600)]}
    >>> run = train(read(table, target="y", owners=2, features=1), 10, simulate=True)
    >>> run.metrics["records"], run.spent["owner"].to_list()
    (480, ['owner-1', 'owner-2'])
    >>> run
    Run(2 owners, 480 records, newton, ε = 10, δ = 0 per record (replace-one), simulated, not private)
    """

    result: Result
    folder: Path | None = None
    events: tuple[Event, ...] = field(default=(), compare=False)
    owners: OwnersAtHome | None = field(default=None, compare=False)

    @property
    def model(self) -> Model:
        """The trained model."""
        return Model(self.result.model)

    @property
    def figures(self) -> Figures:
        """Everything about the run that is a number, as run.json keeps it. Measured on records: not private."""
        return self.result.figures

    @property
    def metrics(self) -> dict[str, Any]:
        """How good the model is, measured on the records themselves: not private, and not meant to be passed on."""
        told = self.figures
        return {
            "relative_fitness": told.relative_fitness,
            "cost_of_privacy": told.cost_of_privacy,
            "fitness": told.fitness,
            "best_fitness": told.best_fitness,
            "alone_median": told.alone.median,
            "gaining": told.alone.gaining,
            "public": None if told.public is None else told.public.relative_fitness,
            "owners": told.owners,
            "records": told.records,
        }

    @property
    def quality(self) -> pl.DataFrame:
        """What models are worth on each owner's own records, one row an owner and model. Not private."""
        told = self.figures.quality
        rows = [
            {"owner": each.owner, "model": kind, "best": each.best == kind, "paid": each.paid} | _figures_of(metrics)
            for each in ([] if told is None else told.owners)
            for kind, metrics in each.models.items()
        ]
        return pl.DataFrame([{name: value for name, value in row.items() if name in _shown(rows)} for row in rows])

    def personal(self, owner: str) -> Model:
        """A model for one owner's own records, with the joint one as prior, as `copriv owner personalise` makes it.

        It has seen the owner's records without noise: no ε covers it. It belongs to that owner and stays there.

        Raises:
            BadInput: there is no such owner, or it has too few records.
        """
        if self.owners is None:
            raise BadInput("the records of this run are not at hand", remedy="train again", value=owner)
        theta = tuple(self.owners.personal(owner).theta.tolist())
        none = CoefficientErrors(none=OF_A_PERSON)
        return Model(msgspec.structs.replace(self.result.model, theta=theta, promised=(), noise=PERSONAL, errors=none))

    @property
    def spent(self) -> pl.DataFrame:
        """What each owner promised, answered and spent, for any one record (replace-one)."""
        rows = [msgspec.to_builtins(entry) for entry in self.figures.spent]
        return pl.DataFrame([{name: value for name, value in row.items() if name != "menu" or value} for row in rows])

    @property
    def validation(self) -> pl.DataFrame:
        """What held-back records say of the model, one row an owner and figure, all owners first: private.

        `low` and `high` are for the population, `records_low` and `records_high` for the held-back records themselves.
        Empty without `validate`.
        """
        found = self.result.facts.validation
        return pl.DataFrame([] if found is None else validation_rows(found))

    @property
    def predicted(self) -> float | None:
        """The ψ that the public rows foretold; None where they tell nothing."""
        return self.figures.predicted

    @property
    def statement(self) -> str:
        """The privacy statement as text: what was promised, spent and protected, and what was not."""
        return describe(self.result.statement)

    def inference(self) -> Inference:
        """Coefficients that are not drawn towards the public rows, with intervals; nothing further is spent.

        >>> from copriv.api.data import read
        >>> table = {"x": [k % 20 / 10 for k in range(600)], "y": [3.0 + k * 7 % 20 / 5 for k in range(600)]}
        >>> data = read(table, target="y", owners=2, features="all")
        >>> found = train(data, 10, rule="newton", simulate=True, seed=1).inference()
        >>> found.to_polars()["name"].to_list(), found.none
        (['x', 'intercept'], None)
        """
        from copriv.api.inference import Inference

        return Inference(self.result.inference)

    def report(self) -> Report:
        """The report that may be passed on, and the one that was measured on records: as text, or to be saved.

        >>> from copriv.api.data import read
        >>> table = {"x": [k % 20 / 10 for k in range(600)], "y": [3.0 + k % 20 / 5 for k in range(600)]}
        >>> report = train(read(table, target="y", owners=2, features=1), 10, simulate=True).report()
        >>> "do not pass this on" in report.html, "NOT PRIVATE" in report.internal_html
        (True, True)
        """
        from copriv.api.report import Report

        return Report(self.result)

    def dossier(
        self, folder: str | Path | None = None, *, purpose: str = "", sign_offs: Sequence[str] = ()
    ) -> DossierWritten:
        """Write dossier.html and dossier.json: what a validator asks for, every figure with its source.

        Args:
            folder: where the run was saved; by default the folder that it was trained in.
            purpose: what the model is for.
            sign_offs: who has signed, as "role: name".

        Raises:
            BadInput: the run has no folder yet.
        """
        place = self.folder if folder is None else Path(folder)
        if place is None:
            raise BadInput("this run has no folder", remedy="save it, and name the folder: run.dossier(folder)")
        return write_dossier(place, None, purpose, tuple(map(parse_sign_off, sign_offs)))

    @property
    def private(self) -> bool:
        """Whether the noise protects anybody; False for a simulation."""
        return self.figures.noise == "secure"

    @property
    def ledgers(self) -> Path | None:
        """Where the owners' ledgers lie; None for a simulation. They are never copied."""
        return None if self.folder is None or not self.private else self.folder / "ledgers"

    def save(self, folder: str | Path) -> Path:
        """Write model.json, the privacy statement, the schedule, the reports and run.json into a new folder.

        The ledgers stay where they are (`run.ledgers`): a copy of a ledger is none.

        Raises:
            BadInput: the folder exists, or cannot be made.
        """
        place = Path(folder)
        require_new(place)
        make(place)
        run_folder.write_with_picture(place, self.result)
        return place

    def to_dict(self) -> dict[str, Any]:
        """The figures, as run.json has them."""
        found: dict[str, Any] = msgspec.to_builtins(self.figures)
        return found

    def to_polars(self) -> pl.DataFrame:
        """One row with what was asked for and what came of it, to stack with those of other runs."""
        told = self.figures
        promise = {"epsilon": told.guarantee.epsilon, "delta": told.guarantee.delta, "unit": told.guarantee.unit}
        asked = {"rule": told.rule, "loss": told.loss, "adjacency": told.guarantee.adjacency, "noise": told.noise}
        return pl.DataFrame([promise | asked | {"predicted": self.predicted} | self.metrics])

    def __repr__(self) -> str:
        told = self.figures
        who = f"{many(told.owners, 'owner')}, {many(told.records, 'record')}"
        promise = f"ε = {told.guarantee.epsilon:g}, δ = {told.guarantee.delta:g} per {told.guarantee.unit}"
        simulated = "" if self.private else ", simulated, not private"
        return f"Run({who}, {told.rule}, {promise} ({told.guarantee.adjacency}){simulated})"

    def __str__(self) -> str:
        return f"{self!r}\n{explain(self.figures)}"

    def _repr_html_(self) -> str:
        from copriv.report.run_html import run_html

        return run_html(self.figures)


def train(data: Data, epsilon: Each | None = None, **settings: Unpack[TrainSettings]) -> Run:
    """Train one model across owners that keep their records and add their own noise.

    Real noise is charged to the records, in a ledger that outlives this session: the same records have one budget,
    whether they come from a file or from memory.

    Args:
        data: made by `read`.
        epsilon: what each owner promises about any one record (replace-one), 1 by default: one number, a sequence
            with one an owner, or a mapping by the owner's name.
        **settings: see `TrainSettings`: delta, rule, loss, simulate, out, budget, seed and others.

    Raises:
        BadInput: something cannot be meant, or a setting is not known; nothing is spent or written then.
        LedgerRefusal: the records' budget does not allow it.

    >>> from copriv.api.data import read
    >>> table = {"x": [k % 20 / 10 for k in range(600)], "y": [3.0 + k % 20 / 5 for k in range(600)]}
    >>> run = train(read(table, target="y", owners=2, features=1), epsilon=10, simulate=True)
    >>> run.model.predict({"x": [1.0]}).round(0).tolist()
    [5.0]
    """
    require_known(settings, TrainSettings, "train")
    tell = settings.get("tell", silent)
    given = tuple(settings) + tuple(data.reading) + (("epsilon",) if epsilon is not None else ())
    seen: list[Event] = []

    def hear(event: Event) -> None:
        seen.append(event)
        tell(event)

    request = request_from(data.loading(loss_name(settings.get("loss", "squared"))), epsilon, settings)
    job = begin(request, data.sources(), given, this_person(settings.get("ask")), hear)
    return carry_out(job, seen)


def carry_out(job: Job, seen: list[Event] | None = None) -> Run:
    """Run a job to its end and keep what came of it: in the folder that was named, or beside the registry."""
    finished = run_local(job)
    try:
        result = run_folder.result_of(finished)
        if job.request.out is not None or job.resumed:
            run_folder.write_with_picture(job.require_folder(), result)
        elif job.folder is not None:
            run_folder.write(job.folder, result)
        owners = finished.owners_at_home
    finally:
        finished.close()
    return Run(result, job.folder, tuple(seen or ()), owners)


def _shown(rows: list[dict[str, Any]]) -> set[str]:
    """The figures that some row has."""
    return {name for row in rows for name, value in row.items() if value is not None}


def _figures_of(metrics: Metrics) -> dict[str, Any]:
    return {name: getattr(metrics, name) for name in metrics.__struct_fields__}
