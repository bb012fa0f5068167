"""The last questions of a study: every owner's average loss at the model, and what its held-back records say of it.

Whoever lies now is named and not counted. The model stays: the others have paid for judging this very one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from copriv.learner.checkpoint import Expelled
from copriv.learner.receipt_store import ReceiptStore
from copriv.learner.scrutiny import check
from copriv.protocol.messages import Answer, Kind, Query, Reply, Silence
from copriv.runtime.learner_training import Trained, keep_receipt
from copriv.runtime.network_events import Evaluated, TellNetwork
from copriv.runtime.network_events import Expelled as ExpelledNow
from copriv.transport.nats_learner import NatsLearner

_PATIENCE = 3
_NAMES: Mapping[str, str] = {"loss": "evaluation", "validation": "validation"}


@dataclass(frozen=True, slots=True)
class Evaluator:
    """Asks every owner that is there.

    Args:
        company: the owners.
        admits: whether an owner is still invited.
        receipts: where receipts outlive the study.
        tell: is told what happens.
    """

    company: NatsLearner
    admits: Callable[[str], bool]
    receipts: ReceiptStore
    tell: TellNetwork

    def ask(
        self, trained: Trained, model: tuple[float, ...], kind: Kind, numbers: int = 1
    ) -> tuple[list[Answer], list[Expelled]]:
        """The answers, each of so many numbers, and whoever was caught lying."""
        learning, answers, caught = trained.learning, list[Answer](), list[Expelled]()
        for name in [name for name in learning.owners if name in self.company.present and self.admits(name)]:
            receipt = trained.position.receipts.get(name)
            query = Query(f"{learning.run}:{_NAMES[kind]}", learning.terms, name, model, receipt, kind)
            reply = self._patiently(query)
            if reply is None:
                continue
            checked = check(query, reply, numbers, learning.demands[name].get((kind, 0)))
            if isinstance(checked, Answer):
                answers.append(checked)
                keep_receipt(self.receipts, trained.roster, checked)
                self.tell(Evaluated(name))
            elif checked.reason == "garbage":
                why = f"in the {_NAMES[kind]}, its answers for training stay: {checked.text}"
                caught.append(Expelled(name, 0, why))
                self.company.dismiss(name)
                self.tell(ExpelledNow(0, name, why))
        return answers, caught

    def _patiently(self, query: Query) -> Reply | None:
        for _ in range(_PATIENCE):
            reply = self.company.ask(query)
            if not isinstance(reply, Silence):
                return reply
        return None
