"""What a request says about privacy and learning, for the owners there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from copriv.errors import BadInput
from copriv.losses.choose import choose
from copriv.losses.validation import shape_for
from copriv.planning.training_spec import TrainingSpec, require_validation
from copriv.privacy.guarantee import Guarantee
from copriv.records.load import Intake
from copriv.rules.paper import CentralStep
from copriv.rules.registry import resolve
from copriv.runtime.local_request import TrainRequest
from copriv.runtime.local_values import match_values, read_values
from copriv.runtime.schedule_file import read_trace


def make_spec(request: TrainRequest, intake: Intake) -> TrainingSpec:
    """The user's wishes about privacy and learning."""
    return replace(spec_for(request, [owner.name for owner in intake.owners]), person=intake.person)


def largest_epsilon(request: TrainRequest, names: Sequence[str]) -> float:
    """The largest that an owner promises."""
    return max(guarantee.epsilon for guarantee in spec_for(request, names).guarantees)


def spec_for(request: TrainRequest, names: Sequence[str]) -> TrainingSpec:
    """The same for owners that are known by their names only."""
    return TrainingSpec(
        rule=rule_of(request),
        guarantees=tuple(Guarantee.of(epsilon, request.delta) for epsilon in _epsilons(request, names)),
        seed=request.seed or 0,
        loss=request.loss,
        threshold=request.huber_threshold,
        horizon=request.horizon,
        step=request.step,
        rho=request.rho,
        clip=request.clip,
        answers=request.answers,
        central=CentralStep(request.central),
        regularization=request.regularization,
        limit=request.box,
        rates=_rates(request, names),
        accountant=request.accountant,
        validate=request.validate,
        held_back=request.held_back,
        trace=None if request.schedule is None else read_trace(request.schedule),
    )


def check_request(request: TrainRequest) -> None:
    """Catch a bad promise, and a rule or a loss that nobody knows, before a large table is read."""
    if request.epsilon is not None and request.epsilons is not None:
        raise BadInput("--epsilon and --epsilons are both given", remedy="give one of them", value=request.epsilon)
    for epsilon in _said(request):
        Guarantee.of(epsilon, request.delta)
    if request.rule != "auto":
        resolve(request.rule)
    choose(request.loss, request.huber_threshold)
    require_validation(request.validate, request.held_back)
    if request.validate:
        shape_for(request.loss)


def rule_of(request: TrainRequest) -> str:
    """Whoever gives the paper's step means the paper's rule."""
    if request.rule == "auto" and (request.step or request.rho or request.central != "proof"):
        return "paper"
    return request.rule


def _said(request: TrainRequest) -> list[str]:
    """The epsilons that were said, whoever they are for."""
    given = request.epsilon
    if given is None:
        return ["1"]
    if isinstance(given, dict):
        return list(given.values())
    return given if isinstance(given, list) else [part.strip() for part in given.split(",")]


def _epsilons(request: TrainRequest, names: Sequence[str]) -> list[str]:
    """One an owner."""
    if request.epsilons is not None:
        return read_values(request.epsilons, names, "epsilon")
    if isinstance(request.epsilon, dict):
        return match_values(request.epsilon, names, "epsilon")
    said = _said(request)
    many = isinstance(request.epsilon, list) or len(said) > 1
    return match_values(said, names, "epsilon") if many else said * len(names)


def _rates(request: TrainRequest, names: Sequence[str]) -> tuple[float, ...] | None:
    if request.rates is not None:
        return _read_rates(request.rates, names)
    given = request.given_rates
    if given is None:
        return None
    written = (
        {name: str(rate) for name, rate in given.items()} if isinstance(given, dict) else [str(rate) for rate in given]
    )
    return tuple(_number(rate) for rate in match_values(written, names, "rate"))


def _read_rates(path: Path, names: Sequence[str]) -> tuple[float, ...]:
    return tuple(_number(value) for value in read_values(path, names, "rate"))


def _number(value: str) -> float:
    try:
        return float(value)
    except ValueError as problem:
        raise BadInput(f"a rate of {value!r}", remedy="give numbers greater than 0", value=value) from problem
