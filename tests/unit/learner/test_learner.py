"""The learner asks, absorbs what it gets, and leaves the state alone where it gets nothing."""

import numpy as np
import pytest

from copriv.errors import ProtocolError
from copriv.learner.learner import train
from copriv.privacy.release import Release
from copriv.protocol.messages import Answer, Refusal
from copriv.rules.paper import PaperRule
from copriv.schedule.trace import Trace

RULE = PaperRule(2, (10, 30), (0.5, 0.5), 0.1, 1e-5, 5.0)
TRACE = Trace.of([0.0, 1.0, 2.0], [0, 1, 0], owners=2)
RELEASE = Release("q", "laplace", 1.0, 1.0, "L1", 1, "epsilon")


class Scripted:
    """Answers 1 everywhere, refuses for one owner, or answers something else."""

    def __init__(self, values=(1.0, 1.0), silent=None, wrong_id=False):
        self.values, self.silent, self.wrong_id, self.queries = values, silent, wrong_id, []

    def ask(self, query):
        self.queries.append(query)
        if query.owner == self.silent:
            return Refusal(query.id, query.owner, "exhausted", "no more")
        return Answer("other" if self.wrong_id else query.id, query.owner, self.values, RELEASE)


def _run(transport):
    return list(train(RULE, TRACE, transport, owners=["a", "b"], terms="t", run="r"))


def test_queries_name_their_owner_and_have_their_own_ids():
    transport = Scripted()
    iterations = _run(transport)
    assert [query.owner for query in transport.queries] == ["a", "b", "a"]
    assert len({query.id for query in transport.queries}) == 3
    assert [iteration.number for iteration in iterations] == [1, 2, 3]
    assert iterations[-1].state.meetings == 3


def test_a_refusal_leaves_the_state_as_it_was():
    iterations = _run(Scripted(silent="b"))
    assert iterations[1].refusal.reason == "exhausted"
    assert iterations[1].state is iterations[0].state
    assert iterations[2].state.meetings == 2


@pytest.mark.parametrize("values", [(1.0,), (np.nan, 0.0), (np.inf, 0.0), (1.0, 1.0, 1.0)])
def test_an_answer_that_is_none_is_named(values):
    with pytest.raises(ProtocolError, match="'a'"):
        _run(Scripted(values))


def test_an_answer_to_another_query_is_not_taken():
    with pytest.raises(ProtocolError):
        _run(Scripted(wrong_id=True))
