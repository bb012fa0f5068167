"""The joint model in an owner's folder: as it was received, and as it is judged."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from copriv.errors import BadInput
from copriv.owner.workspace import OwnerWorkspace
from copriv.records.dictionary import Dictionary
from copriv.report.coefficient_errors import OF_A_PERSON, CoefficientErrors
from copriv.report.model_file import PERSONAL, ModelFile, Promised, read_model, write_model
from copriv.report.network_run import write_afresh
from copriv.vectors import FloatArray


def keep_model(home: OwnerWorkspace, theta: tuple[float, ...]) -> Path:
    """Write the joint model to an owner's folder, so that it can be judged and used at home."""
    enrollment, path = home.enrollment, home.folder / "model.json"
    unit = home.study.terms.unit_words
    promised = (Promised(enrollment.owner, enrollment.guarantee.epsilon, enrollment.delta, unit),)
    dictionary = Dictionary.from_study(home.study.dictionary)
    write_afresh(ModelFile(theta, home.study.terms, dictionary, promised, "secure"), path)
    return path


def keep_personal(home: OwnerWorkspace, theta: FloatArray, path: Path | None) -> Path:
    """Write a personal model, readable by this user only; an existing file is replaced only in the owner's folder."""
    place = path or home.folder / "personal.json"
    if path is not None and path.exists():
        raise BadInput(f"{path} exists", remedy="choose another --out, or remove it yourself", value=str(path))
    dictionary = Dictionary.from_study(home.study.dictionary)
    place.unlink(missing_ok=True)
    none = CoefficientErrors(none=OF_A_PERSON)
    write_model(ModelFile(tuple(theta.tolist()), home.study.terms, dictionary, (), PERSONAL, errors=none), place)
    return place


def joint_model(home: OwnerWorkspace, path: Path | None) -> FloatArray:
    """The joint model of an owner's study: from a file, else as the owner has received it."""
    path = path or home.folder / "model.json"
    if not path.is_file():
        raise BadInput(
            f"there is no model {path}",
            remedy="let `copriv owner serve` run until the study ends, or give the learner's model.json with --model",
            value=str(path),
        )
    model = read_model(path)
    if model.terms.digest() != home.study.terms.digest():
        raise BadInput(f"{path} is of another study", remedy="give the model of this one", value=str(path))
    if model.personal:
        raise BadInput(f"{path} is a personal model", remedy="give the joint one: model.json", value=str(path))
    return np.asarray(model.theta)
