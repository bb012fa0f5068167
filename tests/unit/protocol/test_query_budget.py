"""Steps between levels: their prices add up to that of the last level, and never to more than the budget."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import menu_study as study

from copriv.errors import BadInput
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.commitment import make_commitment

SHARES = (1, 2, 3, 10, 45, 55, 99, 100)
TERMS = msgspec.structs.replace(study.TERMS, shares=SHARES)


def promise(nano=10**9, delta=0.0, records=40):
    return make_commitment(TERMS, Guarantee(nano, delta), records=records, answers=3)


def price(commitment, share, before=0):
    return commitment.part("gradient", share, before).calibration.charge.nano


@settings(max_examples=25, deadline=None)
@given(
    nano=st.one_of(st.integers(100, 2000), st.integers(10**6, 10**11)),
    records=st.integers(1, 10**6),
    chains=st.lists(st.lists(st.sampled_from(SHARES), min_size=1, max_size=5), min_size=1, max_size=6),
)
def test_steps_add_up_and_shares_within_the_whole_cost_at_most_the_budget(nano, records, chains):
    commitment, spent, shares = promise(nano, records=records), 0, 0
    for chain in chains:
        level, paid = 0, 0
        for wanted in sorted(set(chain)):
            step = wanted - level
            if shares + step > 100:
                continue
            if not commitment.allows("gradient", step, level):
                assert level
                assert price(commitment, wanted) <= price(commitment, level)
                continue
            part = commitment.part("gradient", step, level)
            assert (part.level, part.share, part.before) == (wanted, step, level)
            assert part.calibration.mechanism == commitment.part("gradient", wanted).calibration.mechanism
            paid, shares, level = paid + part.calibration.charge.nano, shares + step, wanted
            assert paid == price(commitment, level)
        spent += paid
    assert spent <= commitment.calibration.budget.nano


def test_prices_so_small_that_a_step_is_free_have_no_such_step():
    """A billionth is the smallest charge: 2 and 3 per cent of 60 of them cost the same."""
    terms = msgspec.structs.replace(TERMS, shares=(2, 3, 100))
    commitment = make_commitment(terms, Guarantee(60), records=40, answers=3)
    assert price(commitment, 2) == price(commitment, 3) == 1
    assert not commitment.allows("gradient", 1, 2)
    assert commitment.allows("gradient", 97, 3)
    assert [part.share for part in commitment.levels("gradient", 2)] == [100, 3, 2]


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_levels_are_of_gradients_with_laplace_noise(delta):
    commitment = promise(delta=delta)
    assert [part.share for part in commitment.levels("gradient", 45)] == ([] if delta else [100, 99, 55, 45])
    assert commitment.levels("second_moments", 45) == ()
    assert commitment.allows("gradient", 10, 45) == (delta == 0)
    with pytest.raises(BadInput, match="at a share of 10 % after 45 %"):
        commitment.part("second_moments", 10, 45)


def test_without_a_menu_there_are_no_levels():
    commitment = make_commitment(
        msgspec.structs.replace(TERMS, shares=(), kinds=()), Guarantee.of(1), records=9, answers=2
    )
    assert commitment.levels("gradient", 0) == ()
    assert not commitment.allows("gradient", 0, 10)
    assert not commitment.allows("gradient", 10, 0)
