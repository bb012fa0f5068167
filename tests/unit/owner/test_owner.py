"""An owner answers what matches the terms, charges first, and says nothing that depends on a record."""

import math

import msgspec
import numpy as np
import pytest

from copriv.errors import BadInput, LedgerFailure, RecordsChanged
from copriv.losses.sample import Sample
from copriv.owner.ledger_opening import begin
from copriv.owner.memory_ledger import MemoryLedger
from copriv.owner.owner import Owner
from copriv.owner.responder import PrivateResponder
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.commitment import make_commitment
from copriv.protocol.messages import Answer, Query, Refusal
from copriv.protocol.plain_terms import plain_terms
from copriv.protocol.wire import decode_reply, encode
from copriv.vectors import Norm

TERMS = plain_terms()
THETA = (0.1, -0.2, 0.3, 0.0)


class Recording:
    """A responder that remembers what the ledger said when it was asked."""

    def __init__(self, ledger, failure=None):
        self.ledger, self.failure, self.seen = ledger, failure, []

    def respond(self, theta, _kind, _share):
        self.seen.append(self.ledger.state().spent)
        if self.failure:
            raise self.failure
        return theta + 1


@pytest.fixture
def commitment():
    return make_commitment(TERMS, Guarantee.of(1), records=100, answers=5)


def _owner(commitment, failure=None):
    ledger = MemoryLedger(begin("bank", "records", commitment.calibration.guarantee))
    responder = Recording(ledger, failure)
    return Owner("bank", TERMS, commitment, responder, ledger), responder, ledger


def _query(number=1, **changes):
    return msgspec.structs.replace(Query(f"q{number}", TERMS.digest(), "bank", THETA), **changes)


def test_the_charge_is_on_record_before_the_records_are_touched(commitment):
    owner, responder, _ = _owner(commitment)
    owner.answer(_query())
    assert responder.seen == [commitment.calibration.charge.nano]


def test_a_repeated_query_is_answered_with_the_same_numbers_for_free(commitment, make_sample):
    ledger = MemoryLedger(begin("bank", "records", commitment.calibration.guarantee))
    owner = Owner("bank", TERMS, commitment, PrivateResponder(make_sample(records=100), commitment), ledger)
    first, second = owner.answer(_query()), owner.answer(_query())
    assert isinstance(first, Answer)
    assert first == second
    assert ledger.state().spent == commitment.calibration.charge.nano


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"terms": "0" * 64}, "terms"),
        ({"owner": "other"}, "malformed"),
        ({"id": ""}, "malformed"),
        ({"id": "x" * 201}, "malformed"),
        ({"theta": THETA[:3]}, "malformed"),
        ({"theta": (*THETA, 0.0)}, "malformed"),
        ({"theta": (math.nan, 0.0, 0.0, 0.0)}, "outside"),
        ({"theta": (math.inf, 0.0, 0.0, 0.0)}, "outside"),
        ({"theta": (2.0001, 0.0, 0.0, 0.0)}, "outside"),
    ],
)
def test_what_does_not_match_the_terms_is_refused_for_free(commitment, changes, reason):
    owner, responder, ledger = _owner(commitment)
    reply = owner.answer(_query(**changes))
    assert isinstance(reply, Refusal)
    assert reply.reason == reason
    assert not responder.seen
    assert ledger.state().spent == 0


def test_bytes_in_bytes_out(commitment):
    owner, responder, ledger = _owner(commitment)
    for data, reason in ((b"", "malformed"), (b"\xc1", "malformed"), (b"\x00" * 5000, "oversized")):
        reply = decode_reply(owner.handle(data))
        assert reply.reason == reason
    assert ledger.state().spent == 0
    once, twice = (owner.handle(encode(_query())) for _ in range(2))
    assert once == twice
    assert len(responder.seen) == 1


def test_a_rolled_back_ledger_is_noticed(commitment):
    """The learner echoes the newest receipt; a ledger that does not know it is not the one that gave it."""
    owner, _, _ = _owner(commitment)
    receipt = owner.answer(_query(1)).receipt
    assert isinstance(owner.answer(_query(2, receipt=receipt)), Answer)
    restored, responder, ledger = _owner(commitment)
    reply = restored.answer(_query(3, receipt=receipt))
    assert reply.reason == "rollback"
    assert not responder.seen
    assert ledger.state().spent == 0


def test_a_failing_ledger_leaves_nothing_said(commitment):
    owner, responder, ledger = _owner(commitment)

    def fail(*_arguments):
        raise LedgerFailure("no space", remedy="free some")

    ledger.reserve = fail
    with pytest.raises(LedgerFailure):
        owner.handle(encode(_query()))
    assert not responder.seen


def test_an_id_used_for_another_model_is_a_conflict(commitment):
    owner, _, ledger = _owner(commitment)
    owner.answer(_query())
    reply = owner.answer(_query(theta=(0.0, 0.0, 0.0, 0.0)))
    assert isinstance(reply, Refusal)
    assert reply.reason == "conflict"
    assert len(ledger.state().queries) == 1


def test_the_cap_is_the_end(commitment):
    owner, _, ledger = _owner(commitment)
    replies = [owner.answer(_query(number)) for number in range(7)]
    assert [type(reply) for reply in replies] == [Answer] * 5 + [Refusal] * 2
    assert replies[-1].reason == "exhausted"
    assert ledger.state().spent <= Guarantee.of(1).nano_epsilon


def test_a_failure_keeps_the_charge_and_tells_nothing(commitment):
    words = "record 17 has 0.123"
    owner, _, ledger = _owner(commitment, failure=ValueError(words))
    reply = owner.answer(_query())
    assert isinstance(reply, Refusal)
    assert reply.reason == "failed"
    assert "17" not in reply.text
    assert ledger.state().spent == commitment.calibration.charge.nano


def test_files_that_changed_end_the_process_and_the_charge_stands(commitment):
    owner, _, ledger = _owner(commitment, failure=RecordsChanged("they changed", remedy="put them back"))
    with pytest.raises(RecordsChanged):
        owner.handle(encode(_query()))
    assert ledger.state().spent == commitment.calibration.charge.nano


def test_the_clip_and_the_sensitivity_are_one_setting():
    for clip in (0.1, 0.5, 1.0):
        commitment = make_commitment(msgspec.structs.replace(TERMS, clip=clip), Guarantee.of(1), records=100, answers=5)
        assert commitment.clip == clip
        assert commitment.sensitivity.value == pytest.approx(2 * clip / 100)
        assert commitment.calibration.mechanism.scale == pytest.approx(2 * clip / 100 * 5)


def test_a_proven_bound_replaces_a_larger_clip():
    """Logistic gradients of rows of length 1 are never longer than 1 in L2."""
    terms = msgspec.structs.replace(TERMS, loss="logistic", clip=50.0)
    commitment = make_commitment(terms, Guarantee.of(1, 1e-6), records=100, answers=5)
    assert commitment.norm is Norm.L2
    assert commitment.clip <= 1.0
    assert commitment.sensitivity.value == pytest.approx(2 * commitment.clip / 100)


@pytest.mark.parametrize(("row", "target"), [(1.1, 0.0), (1e300, 0.0), (0.5, 1.1), (1e-170, 1e200)])
def test_records_outside_the_terms_are_refused_before_anything_is_answered(commitment, row, target):
    """The bounds of the terms are what keeps a gradient from overflowing, or from being too short to be clipped."""
    rows = np.zeros((100, 4))
    rows[3, 0] = row
    targets = np.zeros(100)
    targets[5] = target
    with pytest.raises(BadInput, match="outside the terms"):
        PrivateResponder(Sample.of_rows(rows, targets), commitment)


def test_answers_are_clipped_gradients_with_noise(commitment, make_sample):
    sample = make_sample(records=100)
    responder = PrivateResponder(sample, commitment)
    exact = commitment.exact_answer(sample, np.array(THETA))
    answers = np.array([responder.respond(np.array(THETA)) for _ in range(400)])
    deviation = commitment.calibration.mechanism.noise_std
    assert np.all(np.abs(answers.mean(axis=0) - exact) < 6 * deviation / 20)
    assert "records" in repr(responder)
    assert str(sample.targets[0]) not in repr(responder)
