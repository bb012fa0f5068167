"""The terms of a study: what is trained, within which bounds, by which rule. Hashed, and fixed for the study."""

from __future__ import annotations

import hashlib

import msgspec

from copriv.errors import BadInput
from copriv.losses.choose import choose
from copriv.losses.objective import Objective


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What learner and owners agree on; no owner's budget and no owner's records are part of it.

    Args:
        loss: name of the loss.
        threshold: its parameter, 0 if it has none.
        parameters: length of a model.
        regularization: λ of g(θ) = λ‖θ‖².
        limit: θ_max of the box.
        clip: the most that one record's gradient may count, in the norm of each owner's mechanism.
        row_norm: bound on ‖x‖₂ that the dictionary keeps.
        target_bound: bound on |y| that the dictionary keeps.
        rule: name of the learner's rule.
        horizon: T, the number of meetings.
        step: the rule's step.
        central: which central step Algorithm 1 takes.
        dictionary: SHA-256 of the dictionary.
    """

    loss: str
    threshold: float
    parameters: int
    regularization: float
    limit: float
    clip: float
    row_norm: float
    target_bound: float
    rule: str
    horizon: int
    step: float
    central: str
    dictionary: str

    def __post_init__(self) -> None:
        if not (self.clip > 0 and self.clip < float("inf")):
            raise BadInput(f"the clip is {self.clip}", remedy="give a finite number greater than 0", value=self.clip)
        if self.horizon < 1:
            raise BadInput(f"the horizon is {self.horizon}", remedy="give at least 1 iteration", value=self.horizon)

    def objective(self) -> Objective:
        """The fitness that these terms describe."""
        return Objective(choose(self.loss, self.threshold), self.regularization, self.limit)

    def digest(self) -> str:
        """SHA-256 of the canonical text of the terms; it travels with every message."""
        return hashlib.sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()
