"""What may be settled beside an estimator's own parameters, by the names that `copriv.train` has for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict, cast

from copriv.api.settings import require_known
from copriv.entropy import fresh_seed
from copriv.errors import BadInput
from copriv.planning.training_spec import RuleChoice, TrainingSpec
from copriv.privacy.accounting import Accountant
from copriv.privacy.guarantee import Guarantee
from copriv.rules.paper import CentralStep


class Settings(TypedDict, total=False):
    """The `settings` of an estimator; whatever is left out is chosen on the public rows, or has its usual value.

    Args:
        accountant: how answers with Gaussian noise add up: pld (usual) or zcdp.
        answers: the most answers of each owner.
        box: the largest entry of a model; without public rows 10.
        budget: ε that the records may lose in all, if `ledger` is None and nobody has declared it before.
        central: which central step Algorithm 1 takes: proof (usual) or printed.
        clip: the most that one record's gradient may count.
        components: principal components of the public rows in use; 10, or as many as there are.
        horizon: meetings of Algorithm 1; 1,000.
        huber_threshold: of the Huber loss; 0.25.
        loss: squared, huber, poisson or gamma for a regressor, logistic or squared for a classifier.
        regularization: λ; 1e-5.
        rho: the paper's ρ, instead of a step.
        seed: of the schedule and of simulated noise; 0, or None for another one each time.
        step: of the rule.
        unrelated: no record is among those of other ledgers that look alike.
    """

    accountant: Accountant
    answers: int
    box: float
    budget: float | str
    central: str
    clip: float
    components: int
    horizon: int
    huber_threshold: float
    loss: str
    regularization: float
    rho: float
    seed: int | None
    step: float
    unrelated: bool


def read_settings(given: Mapping[str, Any] | None) -> Settings:
    """The settings of an estimator; a name that means nothing is refused, with those that do.

    >>> read_settings({"clip": 0.5})
    {'clip': 0.5}
    """
    require_known(given or {}, Settings, "an estimator")
    return cast(Settings, dict(given or {}))


def training_spec(rule: RuleChoice, guarantee: Guarantee, owners: int, loss: str, settings: Settings) -> TrainingSpec:
    """What is asked of the planner: every owner promises the same."""
    _require_known("settings['central']", settings.get("central", "proof"), tuple(step.value for step in CentralStep))
    _require_known("settings['accountant']", settings.get("accountant", "pld"), ("pld", "zcdp"))
    seed = settings.get("seed", 0)
    return TrainingSpec(
        guarantees=(guarantee,) * owners,
        seed=fresh_seed() if seed is None else seed,
        rule=rule,
        loss=loss,
        threshold=settings.get("huber_threshold", 0.25),
        horizon=settings.get("horizon", 1000),
        step=settings.get("step"),
        rho=settings.get("rho"),
        clip=settings.get("clip"),
        answers=settings.get("answers"),
        central=CentralStep(settings.get("central", "proof")),
        regularization=settings.get("regularization", 1e-5),
        limit=settings.get("box"),
        accountant=settings.get("accountant", "pld"),
    )


def _require_known(what: str, word: str, known: tuple[str, ...]) -> None:
    if word not in known:
        raise BadInput(f"{what} is {word!r}", remedy=f"choose from {', '.join(known)}", value=word)
