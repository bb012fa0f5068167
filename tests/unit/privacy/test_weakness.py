"""A promise that means little is called that, and one that means something is not."""

import pytest

from copriv.privacy.guarantee import Guarantee
from copriv.privacy.weakness import weakness, weakness_of


@pytest.mark.parametrize(
    ("epsilon", "delta", "records", "words"),
    [
        (10.5, 0.0, None, "factor of e^10.5, about 36,000"),
        (1e9, 0.0, 10_000, "factor of e^1e+09, which is no limit"),
        (1, 0.9, None, "δ = 0.9"),
        (1, 0.002, None, "δ = 0.002"),
        (1, 1e-3, 1000, "with 1,000 records it allows to publish one"),
        (1, 1e-4, 20_000, "with 20,000 records"),
        (20, 0.5, 50, "ε = 20"),
    ],
)
def test_what_means_little_is_said_to(epsilon, delta, records, words):
    found = weakness(Guarantee.of(epsilon, delta), records)
    assert words in found
    assert "means little" in found


@pytest.mark.parametrize(
    ("epsilon", "delta", "records"),
    [(10, 0.0, None), (0.1, 1e-3, None), (1, 1e-6, 10_000), (1, 9.9e-4, 1000), (10, 0.0, 1)],
)
def test_what_means_something_is_left_in_peace(epsilon, delta, records):
    assert weakness(Guarantee.of(epsilon, delta), records) is None


def test_both_reasons_are_given_and_an_endless_loss_is_no_crash():
    assert weakness_of(20, 0.5, 50).count("means little") == 2
    assert "no limit" in weakness_of(float("inf"), 0.0)
