"""`carry_runs`: the models of several months as one, from files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from copriv.api.model import Model
from copriv.errors import BadInput
from copriv.protocol.study_file import read_study
from copriv.records.dictionary import Dictionary
from copriv.report.kept_run import find_run
from copriv.report.model_file import read_model
from copriv.report.months_file import carry_models, read_months


@dataclass(frozen=True)
class Carried:
    """One model of several months', how much of each it has, and ψ to be expected of it on new records."""

    model: Model
    weights: tuple[float, ...]
    predicted: float


def carry_runs(study: Path, runs: Sequence[Path]) -> Carried:
    """The models of the months so far as one, by the weights of a plan. Models are public: it costs no ε.

    Args:
        study: a study file of a plan with months.
        runs: of the first months, the oldest first: run folders, learners' folders, or model files.

    Raises:
        BadInput: months were not planned, or a model is not of this study.
    """
    if not study.is_file():
        raise BadInput(f"there is no study {study}", remedy="give the file of `copriv plan --months`", value=str(study))
    months = read_months(study)
    dictionary = Dictionary.from_study(read_study(study.read_text(encoding="utf-8")).dictionary)
    models = [read_model(run if run.is_file() else find_run(run).folder / "model.json") for run in runs]
    model = carry_models(models, months, dictionary)
    mixed = months.combination(len(models))
    return Carried(Model(model), mixed.weights, mixed.predicted)
