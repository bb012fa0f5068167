"""The terms of a study: what is trained, within which bounds, by which rule. Hashed, and fixed for the study."""

from __future__ import annotations

import hashlib
from typing import Literal

import msgspec

from copriv.errors import BadInput
from copriv.losses.choose import choose
from copriv.losses.objective import Objective

Meeting = Literal["broadcast", "request"]
Clock = Literal["always", "poisson"]


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What learner and owners agree on; no owner's budget and no owner's records are part of it.

    Args:
        name: what people call the study; two studies with the same terms are told apart by it.
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
        answers: K, the most answers of an owner; 0 if each owner chooses its own.
        epsilon: ε asked of every owner; 0 if each owner chooses its own. It is the owner who promises, not the terms.
        delta: δ asked of every owner.
        meeting: who speaks first: the learner (broadcast) or the owner (request).
        clock: whether owners are always on or tick with a Poisson rate of their own.
        evaluations: how often an owner may be asked for its average loss.
        evaluation_share: the part of every owner's budget that is set aside for that.
        loss_bound: the most that one record's loss may count in an evaluation.
        records: how many records each owner is expected to have; 0 if that is not said.
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
    name: str = ""
    answers: int = 0
    epsilon: float = 0.0
    delta: float = 0.0
    meeting: Meeting = "request"
    clock: Clock = "always"
    evaluations: int = 0
    evaluation_share: float = 0.0
    loss_bound: float = 0.0
    records: int = 0

    def __post_init__(self) -> None:
        if not (self.clip > 0 and self.clip < float("inf")):
            raise BadInput(f"the clip is {self.clip}", remedy="give a finite number greater than 0", value=self.clip)
        if self.horizon < 1:
            raise BadInput(f"the horizon is {self.horizon}", remedy="give at least 1 iteration", value=self.horizon)
        if self.answers < 0:
            raise BadInput(f"{self.answers} answers", remedy="give at least 1, or 0 for no cap", value=self.answers)
        if self.records < 0:
            raise BadInput(f"{self.records} records", remedy="give at least 1, or 0 if unknown", value=self.records)
        _require_evaluation(self)

    def objective(self) -> Objective:
        """The fitness that these terms describe."""
        return Objective(choose(self.loss, self.threshold), self.regularization, self.limit)

    def suits(self, delta: float) -> bool:
        """Whether a guarantee with this δ has the kind of noise that the rule counts on.

        Algorithm 1 and averaged steps take any noise. The others compare answers with public rows or pack moments in
        the norm of the mechanism, so all owners must have the one that is asked for: pure, or with δ.
        """
        return self.rule in {"paper", "averaged"} or (delta == 0) == (self.delta == 0)

    def digest(self) -> str:
        """SHA-256 of the canonical text of the terms; it travels with every message.

        Terms that do not say how many records are expected have the digest that they had before one could say it.
        """
        values = msgspec.to_builtins(self)
        if self.records == 0:
            del values["records"]
        return hashlib.sha256(msgspec.json.encode(values)).hexdigest()


def _require_evaluation(terms: Terms) -> None:
    """Evaluations are either forbidden altogether, or have a share of the budget and a bound."""
    if terms.evaluations == 0 and terms.evaluation_share == 0:
        return
    if terms.evaluations < 1 or not 0 < terms.evaluation_share < 1 or not 0 < terms.loss_bound < float("inf"):
        raise BadInput(
            f"{terms.evaluations} evaluations with {terms.evaluation_share:g} of the budget and a loss bound of "
            f"{terms.loss_bound:g}",
            remedy="give at least 1 evaluation, a share between 0 and 1 and a finite bound above 0, or none of them",
            value=terms.evaluations,
        )
