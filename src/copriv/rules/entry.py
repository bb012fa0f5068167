"""A rule's traits in one place: what it asks for, what it needs, when it ends and how it is built."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from copriv.errors import BadInput
from copriv.losses.sample import Sample
from copriv.protocol.terms import RULE_NAME, Terms
from copriv.rules.rule import AnyRule, AskedKind, Asks
from copriv.rules.setting import NoiseModel, Owners

# A study ends after the meetings of its horizon, or when every owner has given its answers.
Counts = Literal["meetings", "answers"]
# What a rule cannot do without: public rows, the deviations of the owners' noise, a step.
Need = Literal["public", "noise", "step"]
Build: TypeAlias = Callable[[Terms, Owners, NoiseModel | None, Sample | None], AnyRule[Any]]


@dataclass(frozen=True, slots=True)
class RuleEntry:
    """One rule, as the registry, the planner and the learner know it.

    Args:
        name: what people type: a plain word.
        build: the rule of some terms, for some owners, with what is known of their noise and the public rows. Noise or
            public rows that are not in `needs` may be None.
        asks: what owners are asked for.
        needs: what it cannot be built without.
        losses: names of the losses that it can do; none for any.
        any_noise: whether owners may choose the kind of their noise; else all have the one that the terms ask for.
        counts: what ends a study: the meetings of its horizon, or the owners' last answers.
        answers: how often each owner answers, where the user does not say; not for a rule that counts meetings.
        clip: the most that one record's gradient counts, where the user does not say; None for one chosen on public
            rows.
        step: the rule's step, where the user does not say; None if it has none.
        chooses: whether it can choose kind and share of each question from a menu (`rules.rule.ChoosingRule`).
        shares: the shares that its menu has where a study is planned, in per cents; with `chooses` alone.
        kinds: likewise the kinds.
        kinds_of_labels: the kinds where targets are labels, if they are others.
        fills: whether it reads second moments in the room that clipped gradients leave (`losses.filled`).
        turns: whether it reads gradients that are told along other axes than the features (`losses.turned`).
        most_parameters: models longer than this are trained without a menu, and so are those for which the user settles
            the number of answers; 0 for a rule that cannot do without its menu.
    """

    name: str
    build: Build
    asks: Asks = "gradient"
    needs: frozenset[Need] = frozenset()
    losses: tuple[str, ...] = ()
    any_noise: bool = False
    counts: Counts = "answers"
    answers: int = 1
    clip: float | None = None
    step: float | None = None
    chooses: bool = False
    shares: tuple[int, ...] = ()
    kinds: tuple[AskedKind, ...] = ()
    kinds_of_labels: tuple[AskedKind, ...] = ()
    fills: bool = False
    turns: bool = False
    most_parameters: int = 0

    def has_menu(self, parameters: int, answers: int | None) -> bool:
        """Whether studies of models of this length have its menu, if so many answers are settled (or none)."""
        if not self.shares or self.most_parameters == 0:
            return bool(self.shares)
        return answers is None and parameters <= self.most_parameters

    def __post_init__(self) -> None:
        if not re.match(RULE_NAME, self.name) or self.name == "auto":
            raise BadInput(
                f"a rule is called {self.name!r}",
                remedy="give it a plain word other than auto: small letters, digits, - and _, at most 40",
                value=self.name,
            )
        if self.asks not in ("gradient", "moments"):
            raise BadInput(
                f"the rule {self.name!r} asks for {self.asks!r}", remedy="ask for gradient or moments", value=self.asks
            )
        if self.answers < 1:
            raise BadInput(
                f"the rule {self.name!r} wants {self.answers} answers", remedy="want at least 1", value=self.answers
            )
        if bool(self.shares) != bool(self.kinds) or (self.shares and not self.chooses):
            raise BadInput(
                f"the rule {self.name!r} has a menu of shares {self.shares} and kinds {self.kinds}",
                remedy="give both, for a rule that chooses, or neither",
                value=self.shares,
            )
        for what, value in (("clip", self.clip), ("step", self.step)):
            if value is not None and not (math.isfinite(value) and value > 0):
                raise BadInput(
                    f"the {what} of the rule {self.name!r} is {value}",
                    remedy="give a finite number above 0",
                    value=value,
                )

    def suits(self, loss: str) -> bool:
        """Whether the rule can do a loss."""
        return not self.losses or loss in self.losses

    def make(self, terms: Terms, owners: Owners, noise: NoiseModel | None = None) -> AnyRule[Any]:
        """The rule of these terms for these owners; fails if something is missing that it needs."""
        self._require(terms, noise)
        return self.build(terms, owners, noise, None if noise is None else noise.public)

    def _require(self, terms: Terms, noise: NoiseModel | None) -> None:
        """Refuse terms that another rule was meant for, and what is missing."""
        self._require_kind(terms)
        if not self.suits(terms.loss):
            raise BadInput(
                f"the rule {self.name!r} with the {terms.loss} loss",
                remedy=f"use the {' or '.join(self.losses)} loss, or another rule",
                value=terms.loss,
            )
        if "noise" in self.needs and noise is None:
            raise BadInput(
                f"the rule {self.name!r} cannot be set up here without the owners' noise",
                remedy="say what owners promise",
                value=self.name,
            )
        if "public" in self.needs and (noise is None or noise.public is None):
            raise BadInput(
                f"the rule {self.name!r} cannot be set up here without public rows",
                remedy="keep the public rows that `copriv learner draft` has written beside the study file",
                value=self.name,
            )
        if "step" in self.needs and terms.step <= 0:
            raise BadInput(
                f"the rule {self.name!r} with a step of {terms.step:g}", remedy="give a step above 0", value=terms.step
            )

    def _require_kind(self, terms: Terms) -> None:
        """Refuse terms whose answers the rule cannot read."""
        unread: dict[str, tuple[bool, object]] = {
            f"the terms ask for {terms.kind}, and the rule {self.name!r} learns from {self.asks}": (
                terms.kind != self.asks,
                terms.kind,
            ),
            f"the terms have a menu, and the rule {self.name!r} does not choose from one": (
                bool(terms.shares) and not self.chooses,
                terms.shares,
            ),
            f"the terms fill gradients with second moments, and the rule {self.name!r} does not read them": (
                terms.fill > 0 and not self.fills,
                terms.fill,
            ),
            f"the terms tell gradients along other axes, and the rule {self.name!r} reads them along the features": (
                bool(terms.axes) and not self.turns,
                len(terms.axes),
            ),
        }
        for words, (refused, value) in unread.items():
            if refused:
                raise BadInput(words, remedy="draft the study again with this version of the rule", value=value)
