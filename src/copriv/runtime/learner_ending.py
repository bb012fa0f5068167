"""How a study ends: what owners are paid to tell of the model, and what it comes to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from copriv.entropy import seeded
from copriv.forecast.validation import Ruler
from copriv.learner.checkpoint import Expelled
from copriv.learner.validation import Validation, combine_validation
from copriv.losses.sample import Sample
from copriv.protocol.messages import Answer
from copriv.protocol.terms import Terms
from copriv.records.target import Target
from copriv.runtime.events import Note
from copriv.runtime.learner_evaluation import Evaluator
from copriv.runtime.learner_training import Trained
from copriv.vectors import FloatArray

_chance = partial(seeded, 0, "intervals of a validation")


@dataclass(frozen=True, slots=True)
class Ending:
    """Asks as the terms allow.

    Args:
        evaluator: asks one owner after another.
        terms: the study's.
        public: public rows, without which a validation cannot be read.
        target: what is predicted.
    """

    evaluator: Evaluator
    terms: Terms
    public: Sample | None
    target: Target

    def evaluate(self, trained: Trained, model: tuple[float, ...]) -> tuple[list[Answer], list[Expelled]]:
        """Every owner's average loss, and whoever was caught lying."""
        return self.evaluator.ask(trained, model, "loss") if self.terms.evaluations else ([], [])

    def validate(
        self, trained: Trained, model: FloatArray, out: Collection[str]
    ) -> tuple[Validation | None, dict[str, int], list[Expelled]]:
        """What held-back records say of the model, what each owner paid, and whoever was caught lying."""
        terms = self.terms
        if terms.validations == 0:
            return None, {}, []
        if self.public is None:
            self.evaluator.tell(Note("no validation: the public rows of the study are not here"))
            return None, {}, []
        grid = terms.grid()
        found, caught = self.evaluator.ask(trained, tuple(model.tolist()), "validation", grid.numbers)
        answers = [answer for answer in found if answer.owner not in out]
        ruler = Ruler.of(grid, self.public, model, self.target.scale if self.target.kind == "number" else 1.0)
        sizes = {hello.owner: hello.records for hello in trained.roster.owners}
        paid = {answer.owner: answer.release.nano for answer in found}
        return combine_validation(answers, ruler, sizes, terms.held_back, _chance), paid, caught


def add_up(paid: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """What each owner paid for all questions together.

    >>> add_up([{"a": 1}, {"a": 2, "b": 3}])
    {'a': 3, 'b': 3}
    """
    total = Counter[str]()
    for each in paid:
        total.update(each)
    return dict(total)
