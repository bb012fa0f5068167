"""The learner asks, absorbs what it gets, and leaves the state alone where it gets nothing."""

import numpy as np
import pytest

from copriv.errors import BadInput, CoprivError
from copriv.learner.checkpoint import Checkpoint
from copriv.learner.learner import Session, train
from copriv.privacy.release import Release
from copriv.protocol.messages import Answer, Refusal
from copriv.rules.paper import PaperRule
from copriv.schedule.trace import Trace

RULE = PaperRule(2, (10, 30), (0.5, 0.5), 0.1, 1e-5, 5.0)
STUDY = Session(RULE, ["a", "b"], "t", "r")
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
        receipt = f"{len(self.queries):064x}"
        return Answer("other" if self.wrong_id else query.id, query.owner, self.values, RELEASE, receipt)


def _run(transport):
    return list(train(STUDY, TRACE.meetings, transport))


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
    iterations = _run(Scripted(values))
    assert [iteration.refusal.reason for iteration in iterations] == ["garbage"] * 3
    assert "'a'" in iterations[0].refusal.text
    assert iterations[-1].state.meetings == 0


def test_an_answer_to_another_query_is_not_taken():
    assert _run(Scripted(wrong_id=True))[0].refusal.reason == "garbage"


def test_the_newest_receipt_is_echoed():
    transport = Scripted()
    _run(transport)
    assert [query.receipt and int(query.receipt) for query in transport.queries] == [None, None, 1]


def _interrupted(path, after):
    """A run that stops after some meetings and goes on from its checkpoint."""
    Checkpoint.create(path, run="r", terms="t", schedule="s").close()
    for stop in (after, 3):
        checkpoint = Checkpoint(path)
        position = checkpoint.position(RULE)
        meetings = TRACE.meetings[:stop]
        for iteration in train(STUDY, meetings, Scripted(), position):
            checkpoint.save(RULE, iteration, keep_model=True)
        checkpoint.close()
    return Checkpoint(path)


@pytest.mark.parametrize("after", [0, 1, 2, 3])
def test_a_resumed_run_ends_where_an_uninterrupted_one_does(tmp_path, after):
    checkpoint = _interrupted(tmp_path / "checkpoint.sqlite", after)
    position = checkpoint.position(RULE)
    expected = _run(Scripted())
    assert position.number == 3
    assert np.array_equal(position.state.central, expected[-1].state.central)
    assert np.array_equal(position.state.copies, expected[-1].state.copies)
    assert set(position.receipts) == {"a", "b"}
    assert list(checkpoint.models()) == [1, 2, 3]
    assert checkpoint.refusals() == []
    checkpoint.close()


def test_a_meeting_is_saved_once(tmp_path):
    """Saving the same meeting twice would be a doubled update: the checkpoint refuses."""
    path = tmp_path / "checkpoint.sqlite"
    checkpoint = Checkpoint.create(path, run="r", terms="t", schedule="s")
    iteration = _run(Scripted())[0]
    checkpoint.save(RULE, iteration)
    with pytest.raises(CoprivError, match="UNIQUE"):
        checkpoint.save(RULE, iteration)
    checkpoint.close()


def test_another_study_is_not_resumed(tmp_path):
    checkpoint = Checkpoint.create(tmp_path / "c.sqlite", run="r", terms="t", schedule="s")
    with pytest.raises(CoprivError, match="another study"):
        checkpoint.require(terms="other", schedule="s")
    with pytest.raises(BadInput, match="not a state"):
        RULE.unpack(b"123")
    checkpoint.close()
    with pytest.raises(CoprivError, match="no checkpoint"):
        Checkpoint(tmp_path / "missing.sqlite")
