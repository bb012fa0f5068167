"""A loss is a question like another: allowed by the terms or refused for free, paid for, capped, on its own account."""

import hashlib
import math
import pickle
from fractions import Fraction

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copriv.errors import BadGuarantee, BadInput
from copriv.losses.sample import Sample
from copriv.owner.ledger_opening import begin, budget_of
from copriv.owner.memory_ledger import MemoryLedger
from copriv.owner.owner import Owner, account_of
from copriv.owner.responder import PrivateResponder
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.commitment import make_commitment
from copriv.protocol.messages import Answer, Query, Refusal
from copriv.protocol.plain_terms import plain_terms
from copriv.protocol.wire import decode_reply, encode
from copriv.runtime.simulated_responder import SilentResponder, SimulatedResponder

PLAIN = plain_terms()
TERMS = msgspec.structs.replace(PLAIN, evaluations=3, evaluation_share=0.2, loss_bound=2.0)
THETA = (0.1, -0.2, 0.3, 0.0)
ANSWERS = 5


def _promise(terms=TERMS, delta=0.0, records=100, answers=ANSWERS):
    return make_commitment(terms, Guarantee.of(1, delta), records=records, answers=answers)


def _owner(sample, terms=TERMS, delta=0.0):
    commitment = _promise(terms, delta)
    ledger = MemoryLedger(begin("bank", "records", commitment.calibration.guarantee))
    return Owner("bank", terms, commitment, PrivateResponder(sample, commitment), ledger), ledger


def _query(name="q1", kind="loss", terms=TERMS, theta=THETA):
    return Query(name, terms.digest(), "bank", theta, kind=kind)


# -- the split ---------------------------------------------------------------------------------------------------------


@given(
    epsilon=st.decimals("0.01", "20", places=9),
    share=st.floats(0.001, 0.999),
    answers=st.integers(1, 300),
    evaluations=st.integers(1, 20),
)
def test_training_and_evaluations_share_a_pure_guarantee_exactly(epsilon, share, answers, evaluations):
    _check_split(Guarantee.of(str(epsilon)), share, answers, evaluations, "pld")


@given(
    epsilon=st.sampled_from([0.3, 1, 8]),
    accountant=st.sampled_from(["zcdp", "pld"]),
    share=st.floats(0.001, 0.999),
    answers=st.integers(1, 300),
    evaluations=st.integers(1, 20),
)
def test_training_and_evaluations_share_a_guarantee_with_delta_exactly(
    epsilon, accountant, share, answers, evaluations
):
    _check_split(Guarantee.of(epsilon, 1e-6), share, answers, evaluations, accountant)


def _check_split(guarantee, share, answers, evaluations, accountant):
    terms = msgspec.structs.replace(TERMS, evaluations=evaluations, evaluation_share=share)
    commitment = make_commitment(terms, guarantee, records=100, answers=answers, accountant=accountant)
    whole, exact_share = budget_of(guarantee, accountant).nano, Fraction(str(share))
    training, loss = commitment.part("gradient").calibration, commitment.part("loss").calibration
    assert commitment.budget.nano == training.budget.nano + loss.budget.nano <= whole
    assert training.budget.nano <= (1 - exact_share) * whole
    assert loss.budget.nano <= exact_share * whole
    assert (training.answers, loss.answers) == (answers, evaluations)
    for part in commitment.parts:
        assert part.allowance == part.calibration.charge * part.calibration.answers
        assert part.allowance.nano <= part.calibration.budget.nano
        assert part.calibration.mechanism.norm is part.sensitivity.norm is commitment.norm


def test_without_evaluations_nothing_has_changed():
    commitment = _promise(PLAIN)
    assert not commitment.further
    assert commitment.budget == commitment.calibration.budget
    assert commitment.part("gradient").calibration is commitment.calibration
    assert commitment.part("gradient").bound == commitment.clip
    with pytest.raises(BadInput, match="'loss'"):
        commitment.part("loss")


def test_the_loss_bound_and_the_sensitivity_are_one_setting():
    for bound in (0.1, 1.0, 4.0):
        part = _promise(msgspec.structs.replace(TERMS, loss_bound=bound)).part("loss")
        assert part.bound == bound
        assert part.sensitivity.value == pytest.approx(bound / 100)
        assert part.calibration.mechanism.scale == pytest.approx(bound / 100 * 3 / 0.2)


def test_a_proven_bound_replaces_a_larger_one():
    """|θᵀx| ≤ 2·√4·1 and |y| ≤ 1, so that no squared loss exceeds 25."""
    assert _promise(msgspec.structs.replace(TERMS, loss_bound=1e6)).part("loss").bound == 25
    wide = msgspec.structs.replace(TERMS, row_norm=1e3, limit=1e6)
    assert _promise(wide).part("loss").bound == 2


def test_a_share_too_small_for_an_answer_is_refused():
    with pytest.raises(BadGuarantee, match="billionth"):
        _promise(msgspec.structs.replace(TERMS, evaluation_share=1e-12))


def test_a_promise_travels_to_other_processes(make_sample):
    commitment, sample = _promise(), make_sample(records=100)
    copy = pickle.loads(pickle.dumps(commitment))  # noqa: S301
    assert copy == commitment
    assert copy.part("loss").exact(sample, np.array(THETA)) == commitment.part("loss").exact(sample, np.array(THETA))


# -- the owner ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_loss_is_one_number_near_the_average_loss(make_sample, delta):
    sample = make_sample(records=100)
    owner, ledger = _owner(sample, delta=delta)
    reply = owner.answer(_query())
    part = owner.commitment.part("loss")
    assert isinstance(reply, Answer)
    assert len(reply.values) == 1
    exact = np.mean((np.array(THETA) @ sample.columns - sample.targets) ** 2)
    assert part.exact(sample, np.array(THETA)) == pytest.approx([exact])
    assert abs(reply.values[0] - exact) < 40 * part.calibration.mechanism.noise_std
    assert (reply.release.scale, reply.release.sensitivity) == (
        part.calibration.mechanism.scale,
        part.sensitivity.value,
    )
    assert reply.release.charge == part.calibration.charge
    assert ledger.state().studies == {account_of(TERMS.digest(), "loss"): part.calibration.charge}


def test_the_charge_is_on_record_before_the_records_are_touched():
    commitment, seen = _promise(), []
    ledger = MemoryLedger(begin("bank", "records", commitment.calibration.guarantee))

    class Recording:
        def respond(self, theta, kind="gradient", share=0):
            seen.append((kind, ledger.state().spent))
            return theta[:1]

    Owner("bank", TERMS, commitment, Recording(), ledger).answer(_query())
    assert seen == [("loss", commitment.part("loss").calibration.charge.nano)]


def test_where_the_terms_forbid_it_a_loss_is_refused_for_free(make_sample):
    owner, ledger = _owner(make_sample(records=100), PLAIN)
    reply = owner.answer(_query(terms=PLAIN))
    assert isinstance(reply, Refusal)
    assert reply.reason == "terms"
    assert "loss" in reply.text
    assert ledger.state().spent == 0
    assert not ledger.state().queries


def test_the_same_words_whatever_the_records(make_sample):
    """Refusals of two owners that share nothing but their terms, byte for byte."""
    zeros = Sample.of_rows(np.zeros((100, 4)), np.zeros(100))
    for terms in (PLAIN, TERMS):
        owners = [_owner(sample, terms)[0] for sample in (make_sample(records=100), zeros)]
        questions = [_query(f"q{k}", terms=terms) for k in range(6)]
        questions += [_query(f"q{k}", kind="gradient", terms=terms) for k in range(6)]
        questions += [_query("far", terms=terms, theta=(9.0,) * 4), _query("nan", terms=terms, theta=(math.nan,) * 4)]
        for question in questions:
            one, other = (owner.handle(encode(question)) for owner in owners)
            replies = decode_reply(one), decode_reply(other)
            assert type(replies[0]) is type(replies[1])
            if isinstance(replies[0], Refusal):
                assert one == other


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_neither_kind_can_use_up_the_other(make_sample, delta):
    owner, ledger = _owner(make_sample(records=100), delta=delta)
    losses = [owner.answer(_query(f"l{k}")) for k in range(6)]
    gradients = [owner.answer(_query(f"g{k}", kind="gradient")) for k in range(8)]
    assert [type(reply) for reply in losses] == [Answer] * 3 + [Refusal] * 3
    assert [type(reply) for reply in gradients] == [Answer] * ANSWERS + [Refusal] * 3
    assert {reply.reason for reply in losses[3:] + gradients[ANSWERS:]} == {"exhausted"}
    book = ledger.state()
    assert book.studies == {
        account_of(TERMS.digest(), kind): owner.commitment.part(kind).allowance for kind in ("loss", "gradient")
    }
    assert book.spent <= owner.commitment.budget.nano <= book.budget.nano


def test_a_repeated_loss_is_the_same_bytes_for_free(make_sample):
    owner, ledger = _owner(make_sample(records=100))
    once, twice = (owner.handle(encode(_query())) for _ in range(2))
    assert once == twice
    assert ledger.state().spent == owner.commitment.part("loss").calibration.charge.nano


@pytest.mark.parametrize("kinds", [("loss", "gradient"), ("gradient", "loss")])
def test_an_id_used_for_another_kind_is_a_conflict(make_sample, kinds):
    owner, ledger = _owner(make_sample(records=100))
    first, second = (owner.answer(_query(kind=kind)) for kind in kinds)
    assert isinstance(first, Answer)
    assert isinstance(second, Refusal)
    assert second.reason == "conflict"
    assert ledger.state().spent == owner.commitment.part(kinds[0]).calibration.charge.nano


def test_the_question_of_a_gradient_is_hashed_as_it_always_was(make_sample):
    """Ledgers of earlier versions go on answering repeated queries for free."""
    owner, ledger = _owner(make_sample(records=100))
    owner.answer(_query("g", kind="gradient"))
    expected = hashlib.sha256(TERMS.digest().encode() + np.array(THETA).tobytes()).hexdigest()
    assert ledger.state().queries["g"].question == expected


@pytest.mark.parametrize("changes", [{"theta": THETA[:3]}, {"theta": (2.1, 0.0, 0.0, 0.0)}, {"terms": "0" * 64}])
def test_a_loss_is_checked_like_a_gradient(make_sample, changes):
    owner, ledger = _owner(make_sample(records=100))
    replies = [owner.answer(msgspec.structs.replace(_query(kind=kind), **changes)) for kind in ("loss", "gradient")]
    assert replies[0] == replies[1]
    assert isinstance(replies[0], Refusal)
    assert ledger.state().spent == 0


def test_simulated_owners_evaluate_alike(make_sample):
    sample, commitment, theta = make_sample(records=100), _promise(), np.array(THETA)
    silent = SilentResponder(sample, commitment).respond(theta, "loss")
    noisy = [SimulatedResponder(sample, commitment, np.random.default_rng(1)).respond(theta, "loss") for _ in range(2)]
    assert silent == commitment.part("loss").exact(sample, theta)
    assert noisy[0] == noisy[1] != silent
    assert noisy[0].shape == (1,)
