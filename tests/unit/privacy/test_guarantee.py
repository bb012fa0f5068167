from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copriv.errors import BadGuarantee
from copriv.privacy.guarantee import Amount, Guarantee, ceil_nano, floor_nano


@pytest.mark.parametrize(
    ("written", "nano"),
    [
        ("0.1", 100_000_000),
        (0.1, 100_000_000),
        ("1e-9", 1),
        (10, 10**10),
        ("0.3", 300_000_000),
        ("1.9999999999", 1999999999),
    ],
)
def test_epsilon_is_read_as_written_and_rounded_down(written, nano):
    assert Guarantee.of(written).nano_epsilon == nano


@pytest.mark.parametrize("epsilon", [0, -1, "nan", "inf", float("nan"), "1e-10", "much", ""])
def test_an_epsilon_that_cannot_be_promised_is_named(epsilon):
    with pytest.raises(BadGuarantee, match="epsilon") as caught:
        Guarantee.of(epsilon)
    assert caught.value.remedy


@pytest.mark.parametrize("delta", [-1e-9, 1, 1.5, float("nan")])
def test_delta_lies_in_zero_to_one(delta):
    with pytest.raises(BadGuarantee, match="delta"):
        Guarantee.of(1, delta)


@given(st.floats(min_value=0, max_value=1e6, allow_nan=False))
def test_promises_round_down_and_charges_round_up(value):
    assert Decimal(floor_nano(value)) <= Decimal(value) * 10**9 <= Decimal(ceil_nano(value))
    assert ceil_nano(value) - floor_nano(value) in (0, 1)


def test_every_guarantee_says_its_unit_and_adjacency():
    assert Guarantee.of(1, 1e-6).describe() == {
        "epsilon": 1.0,
        "delta": 1e-6,
        "unit": "record",
        "adjacency": "replace-one",
    }


def test_amounts_are_whole_and_never_negative():
    assert Amount(3, "epsilon") * 4 == Amount(12, "epsilon")
    with pytest.raises(BadGuarantee):
        Amount(-1, "rho")
