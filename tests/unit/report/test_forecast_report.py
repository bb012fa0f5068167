"""A forecast in words: how far it is from the limits."""

from types import SimpleNamespace

import pytest

from copriv.report.forecast_report import LimitsTold, how_far


def told(*, binding=0, delta=0.0, times=(1.154, 3.861)):
    limits = LimitsTold(1e-4, times[0], 3e-5, times[1], 2e-5, binding, "staircase", "cube", 0.1)
    return SimpleNamespace(limits=limits, owners=10, delta=delta)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "1.15 times the best noise, 3.86 times one noise for all; the information limit does not bind"),
        (
            {"times": (20_000.0, 4.2e9)},
            "20,000 times the best noise, 4.2e+09 times one noise for all; the information limit does not bind",
        ),
        (
            {"binding": 10},
            (
                "1.15 times the best noise, 3.86 times one noise for all; the information limit binds: "
                "on new records no method can be expected below ψ = 2.00e-05"
            ),
        ),
        (
            {"binding": 3, "delta": 1e-6},
            (
                "1.15 times the best noise, 3.86 times one noise for all; "
                "the information limit binds for 3 of 10 owners: "
                "on new records no method that keeps the same ρ can be expected below ψ = 2.00e-05"
            ),
        ),
    ],
)
def test_the_sentence(given, said):
    assert how_far(told(**given)) == said
