"""STUDY.months.json: what a plan of months expects of each month's model; and those models as one.

It lies beside the study file, and holds no more than `copriv plan --months` shows: it follows from public rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from pathlib import Path

import msgspec
import numpy as np

from copriv.errors import BadInput
from copriv.planning.months import Combination, Lifetime, combine
from copriv.records.dictionary import Dictionary
from copriv.report.coefficient_errors import CoefficientErrors
from copriv.report.model_file import ModelFile, Promised

FORMAT = 1
_NO_INTERVAL = CoefficientErrors(none="the model combines those of several months")


class MonthsFile(msgspec.Struct, frozen=True):
    """What is needed to weigh the models of months.

    Args:
        fresh: ψ to be expected of each month's model, on new records.
        public: the same of the model of public rows alone.
        keep: the weight of a model falls to this part of itself every month.
        epsilon: what any one record may lose in all; the largest of all owners.
        window: how many months read a block; 0 if nobody has said it: then any month may have read any block.
        share: ε of one month; the largest of all owners.
        delta: of the plan.
    """

    fresh: tuple[float, ...]
    public: float
    keep: float
    epsilon: float
    format: int = FORMAT
    window: int = 0
    share: float = 0.0
    delta: float = 0.0

    @classmethod
    def of(cls, life: Lifetime) -> MonthsFile:
        """Of a plan."""
        fresh = tuple(month.fresh for month in life.months)
        most, window = max(life.scenario.epsilons), life.window
        return cls(fresh, life.public, life.keep, most, FORMAT, window.months, window.epsilon, life.scenario.delta)

    def combination(self, months: int) -> Combination:
        """How the models of the first so many months are combined."""
        return combine(self.fresh[:months], self.public, self.keep)

    def lost(self, promises: Sequence[Promised]) -> tuple[float, float]:
        """ε and δ that a block has lost which was read under all these promises of one owner.

        Shares of Gaussian noise add up in ρ, as planned; whatever else was promised adds up in ε and δ.
        """
        if self.delta > 0 and all(each.epsilon <= self.share and each.delta == self.delta for each in promises):
            return self.epsilon, self.delta
        return fsum(each.epsilon for each in promises), fsum(each.delta for each in promises)


def months_beside(study: Path) -> Path:
    """Where the months of a study file lie."""
    return study.with_suffix(".months.json")


def write_months(months: MonthsFile, study: Path) -> None:
    """Beside the study file; nothing is overwritten."""
    with months_beside(study).open("xb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(months)) + b"\n")


def read_months(study: Path) -> MonthsFile:
    """The months of a study file.

    Raises:
        BadInput: there are none, or the file is damaged.
    """
    path = months_beside(study)
    if not path.is_file():
        raise BadInput(
            f"there is no {path}: the study was planned without months, or by an earlier version",
            remedy="plan it with months: copriv plan --months 24 --out study.toml",
            value=str(path),
        )
    try:
        found = msgspec.json.decode(path.read_bytes(), type=MonthsFile)
    except msgspec.DecodeError as problem:
        raise BadInput(f"{path} holds no months: {problem}", remedy="use the file as it was written") from problem
    costs = np.array([*found.fresh, found.public, found.epsilon])
    usable = (np.isfinite(costs) & (costs > 0)).all() and 0 <= found.keep <= 1 and found.window >= 0
    if found.format != FORMAT or not found.fresh or not usable:
        raise BadInput(
            f"{path} is of format {found.format}, with {len(found.fresh)} months",
            remedy="use the file as it was written",
            value=found.format,
        )
    return found


def carry_models(models: Sequence[ModelFile], months: MonthsFile, dictionary: Dictionary) -> ModelFile:
    """The models of the first months, the oldest first, as one: their mean, by what each should cost.

    It names every owner of every month, each with what any one of its records may lose in all: what was planned, and no
    less than it has promised in any months that read the same block.

    Raises:
        BadInput: the models are none of these months', of other features, or protect different units.
    """
    if not 0 < len(models) <= len(months.fresh):
        raise BadInput(
            f"{len(models)} models of {len(months.fresh)} planned months",
            remedy="plan months, and give one model for each of the first of them",
            value=len(models),
        )
    for model in models:
        if model.dictionary != dictionary or model.personal:
            raise BadInput(
                "a model with other features than those of the plan, or one that stays at home",
                remedy="train every month with the study file of the plan",
                value=model.dictionary.target.name,
            )
    theta = np.asarray(months.combination(len(models)).weights) @ np.asarray([model.theta for model in models])
    promised = _promised(models, months)
    simulated = next((model.noise for model in models if model.noise != "secure"), "secure")
    return msgspec.structs.replace(
        models[-1], theta=tuple(theta.tolist()), promised=promised, noise=simulated, errors=_NO_INTERVAL
    )


def _promised(models: Sequence[ModelFile], months: MonthsFile) -> tuple[Promised, ...]:
    """What every owner has promised in all: as planned, or more if months that read the same block promised more."""
    given = [(month, model.terms.person, each) for month, model in enumerate(models) for each in model.promised]
    if len({(person, each.unit, each.adjacency) for _, person, each in given}) > 1:
        raise BadInput(
            "months that protect records and months that protect people, or people by another column: a mean of both "
            "would promise neither",
            remedy="train every month with the study file of the plan",
            value=len(given),
        )
    owners: dict[str, list[tuple[int, Promised]]] = {}
    for month, _, each in given:
        owners.setdefault(each.owner, []).append((month, each))
    return tuple(_of_owner(kept, months, len(models)) for kept in owners.values())


def _of_owner(kept: Sequence[tuple[int, Promised]], months: MonthsFile, so_far: int) -> Promised:
    """The newest promise of an owner, at what any block has lost at most: it is read in a window of months."""
    window = months.window or so_far
    together = ([each for month, each in kept if 0 <= month - first < window] for first, _ in kept)
    lost = [months.lost(promises) for promises in together]
    singly = [(each.epsilon, each.delta) for _, each in kept]
    epsilons, deltas = zip(*lost, *singly, strict=True)
    return msgspec.structs.replace(kept[-1][1], epsilon=max(months.epsilon, *epsilons), delta=max(deltas))
