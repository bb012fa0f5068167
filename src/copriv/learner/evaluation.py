"""How good is a model, as far as owners tell: their noisy average losses, added up by their numbers of records.

Each owner's answer is private already, and what is computed from answers costs nothing more. The standard error is that
of the noise, which every answer declares; it says nothing about records that no owner has. Losses above the bound of
the terms count as the bound, so the result is at most the true average.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from copriv.errors import BadInput, ProtocolError
from copriv.privacy.gaussian import Gaussian
from copriv.privacy.laplace import Laplace
from copriv.privacy.mechanism import Mechanism
from copriv.privacy.release import Release
from copriv.protocol.messages import Answer

_MECHANISMS: Mapping[str, type[Laplace | Gaussian]] = {kind.name: kind for kind in (Laplace, Gaussian)}


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The average loss over the records of all owners that answered, and how far the noise may have moved it."""

    loss: float
    standard_error: float
    records: int
    owners: int


def combine(answers: Sequence[Answer], records: Mapping[str, int]) -> Evaluation:
    """Σ nᵢ Lᵢ / Σ nᵢ and √(Σ nᵢ² sᵢ²) / Σ nᵢ over the owners that answered, each once.

    Args:
        answers: to queries of kind "loss" at one model.
        records: the number of records of each owner, by name.
    """
    _require_one_each(answers)
    sizes = [_size(answer.owner, records) for answer in answers]
    losses = [_loss(answer) for answer in answers]
    noise_stds = [mechanism_of(answer.release).noise_std for answer in answers]
    total = sum(sizes)
    return Evaluation(
        loss=math.fsum(size * loss for size, loss in zip(sizes, losses, strict=True)) / total,
        standard_error=math.sqrt(math.fsum((size * s) ** 2 for size, s in zip(sizes, noise_stds, strict=True))) / total,
        records=total,
        owners=len(answers),
    )


def _require_one_each(answers: Sequence[Answer]) -> None:
    if not answers:
        raise BadInput("no owner has answered", remedy="ask at least one for its average loss", value=0)
    name, times = Counter(answer.owner for answer in answers).most_common(1)[0]
    if times > 1:
        raise BadInput(f"{times} answers of {name!r}", remedy="give one answer of each owner", value=name)


def _size(owner: str, records: Mapping[str, int]) -> int:
    size = records.get(owner, 0)
    if size < 1:
        raise BadInput(f"{owner!r} has {size} records", remedy="give every owner's number of records", value=owner)
    return size


def _loss(answer: Answer) -> float:
    if len(answer.values) != 1 or not math.isfinite(answer.values[0]):
        raise ProtocolError(
            f"the answer of {answer.owner!r} to {answer.id!r} is not one finite number",
            remedy='ask with a query of kind "loss", and check the owner\'s version',
            value=answer.owner,
        )
    return answer.values[0]


def mechanism_of(release: Release) -> Mechanism:
    """The noise that an answer declares."""
    kind = _MECHANISMS.get(release.mechanism)
    if kind is None:
        raise ProtocolError(
            f"noise called {release.mechanism!r}",
            remedy=f"use owners whose noise is {' or '.join(_MECHANISMS)}",
            value=release.mechanism,
        )
    return kind(release.scale)
