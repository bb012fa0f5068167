"""What a study means: the study file settles the options, and whoever contradicts it is told so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from copriv.errors import BadInput
from copriv.learner.public_rows import public_rows_beside, read_sample
from copriv.planning.from_terms import settled_by
from copriv.protocol.study_file import StudyFile, read_study
from copriv.records.dictionary import Dictionary
from copriv.records.load import Intake
from copriv.runtime.local_request import TrainRequest

# What a study file settles in a way of its own, so that there is nothing to compare an option with.
_SETTLED_OTHERWISE = {
    "rho": "the study has a step",
    "dictionary": "the study has a dictionary",
    "ordinal": "the study's dictionary says how the target is read",
    "positive_above": "the study's dictionary says how the target is read",
    "positive": "the study's dictionary says how the target is read",
    "public_rows": "all rows of the data are private: the study's public rows lie beside it",
}


def open_study(path: Path) -> StudyFile:
    """The study file."""
    if not path.is_file():
        raise BadInput(
            f"there is no study file {path}", remedy="give one that `copriv plan` has written", value=str(path)
        )
    return read_study(path.read_text(encoding="utf-8"))


def settle(options: TrainRequest, study: StudyFile, given: tuple[str, ...]) -> TrainRequest:
    """The options as the study has them, if what was given does not contradict it. All rows of the data are private."""
    terms = study.terms
    _require_agreement(options, study, given)
    delta = options.delta if "delta" in given else terms.delta
    if not terms.suits(delta):
        raise BadInput(
            f"--delta is {delta:g}, and the rule {terms.rule!r} here asks everybody for delta = {terms.delta:g}",
            remedy="leave --delta out, or plan another study",
            value=delta,
        )
    epsilon = options.epsilon
    if epsilon is None and options.epsilons is None:
        if terms.epsilon == 0:
            raise BadInput("the study asks for no epsilon of its own", remedy="say what owners promise: --epsilon")
        epsilon = f"{terms.epsilon:.9f}"
    answers = terms.answers or options.answers
    agreed = _settled(study) | {"dictionary": options.study, "answers": answers, "epsilon": epsilon, "delta": delta}
    return msgspec.structs.replace(options, **agreed)


def add_public_rows(intake: Intake, study: Path) -> Intake:
    """With the public rows that were kept beside the study file, if no others were given."""
    kept = public_rows_beside(study)
    if intake.public is not None or not kept.is_file():
        return intake
    public = read_sample(kept.read_bytes())
    if public.parameters != intake.dictionary.parameters:
        raise BadInput(
            f"{kept} has rows of {public.parameters} features, and the study has {intake.dictionary.parameters}",
            remedy="put the file beside the study that it was written with, or give --public",
            value=public.parameters,
        )
    return replace(intake, public=public, public_rows=public.rows)


def _settled(study: StudyFile) -> dict[str, Any]:
    """What the study says about the options of `copriv train`; all rows of its data are private."""
    return settled_by(study.terms, Dictionary.from_study(study.dictionary)) | {"public_rows": 0}


def _require_agreement(options: TrainRequest, study: StudyFile, given: tuple[str, ...]) -> None:
    """Refuse an option that says something else than the study."""
    settled = _settled(study)
    rates = {} if study.terms.clock == "poisson" else {"rates": "owners of this study are always on"}
    for name in given:
        words = (_SETTLED_OTHERWISE | rates).get(name)
        if words is None and name not in settled:
            continue
        value = getattr(options, name)
        # A number of features may be written as text.
        if name not in settled or (value != settled[name] and str(value) != str(settled[name])):
            option = f"--{name.replace('_', '-')}"
            raise BadInput(
                f"{option} is {value}, and {words or f'the study says {settled[name]}'}",
                remedy=f"leave {option} out, or plan another study",
                value=value,
            )
