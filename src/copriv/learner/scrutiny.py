"""An answer is what its owner has promised, or it is refused.

The learner works out an owner's promise from its hello, by the same code as the owner. So it knows the noise on every
answer, its price and its record. It also knows how far a number can lie from 0: the bound that clipping puts on the
exact answer, plus noise. A number beyond the bound and the 1 − 10⁻⁹ quantile of the noise is no answer of an owner
that keeps to its promise; all numbers of an answer share the 10⁻⁹. Second moments also have to be those of some
records, up to the same noise: a diagonal that adds up to at most r², no product above the average of its two squares.

Whoever is refused here as "garbage" was caught lying, or runs something else than this protocol.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from operator import le
from statistics import NormalDist
from typing import Protocol, TypeAlias

import msgspec
import numpy as np

from copriv.losses.moments import off_diagonal_weight, second_moment_count, unpack_second_moments
from copriv.losses.validation import LIGHT, NumberGrid
from copriv.privacy.calibration import Calibration
from copriv.privacy.gaussian import Gaussian
from copriv.privacy.mechanism import Mechanism
from copriv.privacy.release import Release, describe
from copriv.privacy.sensitivity import Sensitivity
from copriv.protocol.messages import LONGEST_TEXT, Answer, Kind, Query, Refusal, Reply
from copriv.protocol.text import plain
from copriv.vectors import Norm

FALSE_ALARM = 1e-9
# An honest owner's numbers may differ from ours in late digits: another machine, another version of a library.
_ALIKE = 1e-5
# Of second moments, as a share of the longest row's square: what computing them leaves, and rows a billionth too long.
_ROUNDING = 1e-8
# What an owner says only of queries that we do not send.
_UNTRUE = frozenset({"oversized", "malformed", "terms", "garbage"})
# A random token; an answer from before there were tokens repeats the receipt that it had then, NUMBER:HEAD.
_RECEIPT = re.compile(r"(?:[1-9][0-9]{0,18}:)?[0-9a-f]{64}\Z")


class Promised(Protocol):
    """One kind of question, as an owner has promised to answer it (`protocol.commitment.QueryBudget`)."""

    @property
    def kind(self) -> Kind:
        """What is asked for."""

    @property
    def share(self) -> int:
        """At which share of the training budget; 0 without a menu."""

    @property
    def bound(self) -> float:
        """The most that one record may count."""

    @property
    def sensitivity(self) -> Sensitivity:
        """How far one record can move the answer."""

    @property
    def calibration(self) -> Calibration:
        """The noise and its price."""

    @property
    def numbers(self) -> int:
        """How many numbers an answer of a further question, or of a menu, has."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What every answer of one owner to one kind of question, at one share, must be.

    Args:
        release: the record that comes with it, but for the id of the query.
        lowest: of each number.
        highest: of each number.
        squares: what second moments have to keep together; None of answers without any.
    """

    release: Release
    lowest: tuple[float, ...]
    highest: tuple[float, ...]
    squares: Squares | None = None


@dataclass(frozen=True, slots=True)
class Squares:
    """What packed second moments keep together, if the noise on no number exceeds its quantile.

    Args:
        first: where second moments begin: at 0, or behind a gradient that is filled with them.
        parameters: how many of the numbers are on the diagonal.
        norm: how they are packed.
        trace: the most that the diagonal adds up to.
        slack: by how much a product may exceed the average of its two squares.
    """

    first: int
    parameters: int
    norm: Norm
    trace: float
    slack: float

    def hold(self, values: tuple[float, ...]) -> bool:
        """Whether these may be second moments of some records, behind noise."""
        matrix = unpack_second_moments(np.asarray(values[self.first :]), self.parameters, self.norm)
        diagonal = np.diag(matrix)
        most = (diagonal[:, None] + diagonal) / 2 + self.slack
        above = np.triu_indices(self.parameters, 1)
        return bool(diagonal.sum() <= self.trace and np.all(np.abs(matrix[above]) <= most[above]))


Choice: TypeAlias = tuple[Kind, int]
Demands: TypeAlias = Mapping[str, Mapping[Choice, Demand]]


def demands_of(
    parts: Iterable[Promised], *, parameters: int, records: int, held_back: float = 0.0
) -> dict[Choice, Demand]:
    """What an owner with this promise and this many records must answer, for every kind of question and its share.

    Args:
        parts: what it has promised.
        parameters: length of a model.
        records: how many train.
        held_back: the share of all that does not.
    """
    others = most_held_back(records, held_back)
    sizes = {part: others if part.kind == "validation" else records for part in parts}
    return {(part.kind, part.share): _demand(part, parameters, size) for part, size in sizes.items()}


def most_held_back(training: int, share: float) -> int:
    """A number that the held-back records of an owner exceed with a probability far below 10⁻⁹.

    >>> most_held_back(800, 0.2)
    391
    """
    usual = training * share / (1 - share)
    return math.ceil(usual + 8 * math.sqrt(usual / (1 - share) + 1) + 64) if share else 0


def demand_of(demands: Mapping[Choice, Demand], query: Query) -> Demand | None:
    """What the answer to a query must be: the noise of its level, at the price of that level less what was paid before.

    None if nothing is demanded at all.
    """
    demand, former = demands.get((query.kind, query.share + query.before)), demands.get((query.kind, query.before))
    if query.before == 0 or demand is None or former is None:
        return demand
    step = max(demand.release.nano - former.release.nano, 0)
    return replace(demand, release=msgspec.structs.replace(demand.release, nano=step))


def _demand(part: Promised, parameters: int, records: int) -> Demand:
    lowest, highest = _range(part, parameters, records)
    noise = noise_quantile(part.calibration.mechanism, len(lowest))
    return Demand(
        release=describe("", part.calibration, part.sensitivity),
        lowest=tuple((bound - noise) - abs(bound - noise) * _ALIKE for bound in lowest),
        highest=tuple((bound + noise) + abs(bound + noise) * _ALIKE for bound in highest),
        squares=_squares(part, parameters, noise),
    )


def _is_filled(part: Promised, parameters: int) -> bool:
    """Whether a gradient has second moments behind it."""
    return part.kind == "gradient" and part.numbers > parameters


def _squares(part: Promised, parameters: int, noise: float) -> Squares | None:
    """Of second moments, whose diagonal adds up to at most r², or C in the room of a gradient; else None."""
    is_filled = _is_filled(part, parameters)
    if part.kind != "second_moments" and not is_filled:
        return None
    norm, square = part.sensitivity.norm, part.bound if is_filled else part.bound * part.bound
    slack = noise * (1 + 1 / off_diagonal_weight(norm))
    return Squares(
        first=parameters if is_filled else 0,
        parameters=parameters,
        norm=norm,
        trace=(square + parameters * noise) * (1 + _ALIKE),
        slack=slack * (1 + _ALIKE) + square * _ROUNDING,
    )


def _range(part: Promised, parameters: int, records: int) -> tuple[list[float], list[float]]:
    """The least and the most that each number can be before noise."""
    bound = part.bound
    if part.kind in ("loss", "positives"):
        return [0.0], [bound]
    if part.kind == "validation":
        light = records * LIGHT
        sums = [0.0, 0.0, -light, 0.0], [records, records, light, light]
        return sums if part.numbers == NumberGrid.numbers else ([0.0] * part.numbers, [float(records)] * part.numbers)
    if part.kind == "gradient":
        lowest, highest = _range_of_squares(part, parameters, bound) if _is_filled(part, parameters) else ([], [])
        return [-bound] * parameters + lowest, [bound] * parameters + highest
    if part.kind == "second_moments":
        return _range_of_squares(part, parameters, bound * bound)
    lowest, highest = _range_of_squares(part, parameters, records * bound * bound)
    return lowest + [-records * bound] * parameters, highest + [records * bound] * parameters


def _range_of_squares(part: Promised, parameters: int, square: float) -> tuple[list[float], list[float]]:
    """Of packed Σ w·xxᵀ with Σ w‖x‖² of at most `square`."""
    above = off_diagonal_weight(part.sensitivity.norm) * square / 2
    others = second_moment_count(parameters) - parameters
    return [0.0] * parameters + [-above] * others, [square] * parameters + [above] * others


def noise_quantile(mechanism: Mechanism, numbers: int) -> float:
    """Noise on so many numbers exceeds this, on any of them, with probability of at most 10⁻⁹.

    >>> from copriv.privacy.laplace import Laplace
    >>> round(noise_quantile(Laplace(1.0), 10), 3), round(noise_quantile(Gaussian(1.0), 1), 3)
    (23.026, 6.109)
    """
    share = FALSE_ALARM / numbers
    if isinstance(mechanism, Gaussian):
        return -NormalDist().inv_cdf(share / 2) * mechanism.scale
    return -math.log(share) * mechanism.scale


def check(query: Query, reply: Reply, expected: int, demand: Demand | None = None) -> Reply:
    """The reply, if it is one of so many numbers to this query, and as demanded; else the learner's refusal.

    Training goes on either way. Without a demand, as among owners in one process, only the form counts.
    """
    if isinstance(reply, Refusal):
        return _heard(query, reply, strict=demand is not None)
    wrong = _form(query, reply, expected) or (_content(query, reply, demand) if demand is not None else None)
    return reply if wrong is None else garbage(query, wrong)


def garbage(query: Query, wrong: str) -> Refusal:
    """The learner's own refusal, with its owner's name and what is wrong."""
    text = plain(f"the answer of {query.owner!r} to {query.id!r} {wrong}", most=LONGEST_TEXT)
    return Refusal(query.id, query.owner, "garbage", text)


def is_receipt(receipt: str) -> bool:
    """Whether a ledger could have given this receipt."""
    return _RECEIPT.match(receipt) is not None


def _heard(query: Query, refusal: Refusal, *, strict: bool) -> Refusal:
    """A refusal in the name of who was asked; one that cannot be true of our query is garbage."""
    words = plain(refusal.text, most=LONGEST_TEXT)
    if refusal.reason == "garbage":
        return garbage(query, f"cannot be read: {words}")
    if strict and refusal.reason in _UNTRUE:
        return garbage(query, f"is a refusal ({refusal.reason}) that is not true of that query: {words}")
    return Refusal(query.id, query.owner, refusal.reason, words)


def _form(query: Query, answer: Answer, expected: int) -> str | None:
    finite = len(answer.values) == expected and all(map(math.isfinite, answer.values))
    if answer.id == query.id and answer.owner == query.owner and finite:
        return None
    return f"is not {expected} finite numbers for that query"


def _content(query: Query, answer: Answer, demand: Demand) -> str | None:
    promised = msgspec.structs.replace(demand.release, query=query.id)
    if answer.release != promised and not _is_alike(answer.release, promised):
        return "does not have the noise and the price that were promised"
    if not is_receipt(answer.receipt):
        return "has a receipt that no ledger gives"
    if not _is_within(answer.values, demand):
        return "has a number beyond its bound and the noise that was promised"
    if demand.squares is not None and not demand.squares.hold(answer.values):
        return "has second moments that no records have, behind the noise that was promised"
    return None


def _is_within(values: tuple[float, ...], demand: Demand) -> bool:
    return (
        len(values) == len(demand.lowest)
        and all(map(le, demand.lowest, values))
        and all(map(le, values, demand.highest))
    )


def _is_alike(given: Release, promised: Release) -> bool:
    """The same but for the last digits of numbers that both sides work out for themselves."""
    mended = msgspec.structs.replace(given, scale=promised.scale, sensitivity=promised.sensitivity, nano=promised.nano)
    pairs = (
        (given.scale, promised.scale),
        (given.sensitivity, promised.sensitivity),
        (float(given.nano), float(promised.nano)),
    )
    return mended == promised and all(math.isclose(one, other, rel_tol=_ALIKE) for one, other in pairs)
