"""Who would train: what makes sense, and how a scenario is varied."""

import numpy as np
import pytest

from copriv.errors import BadInput
from copriv.planning.scenario import Scenario


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"records": ()}, "no owners"),
        ({"records": (5, 0)}, "0 records"),
        ({"records": ("ten",)}, "'ten' records"),
        ({"records": "7000"}, "records of '7000'"),
        ({"records": (5, 5), "epsilon": (1,)}, "1 values of epsilon for 2 owners"),
        ({"records": (5, 5), "epsilon": -1}, "epsilon is -1"),
        ({"records": (5, 5), "delta": 2}, "delta is 2"),
        ({"records": (5, 5), "rates": (1.0,)}, "1 values of rates"),
        ({"records": (5, 5), "rates": (1.0, 0.0)}, "rate of 0"),
        ({"records": (5,), "heterogeneity": float("nan")}, "heterogeneity"),
        ({"records": (5,), "accountant": "none"}, "accountant"),
    ],
)
def test_what_makes_no_sense_is_refused(values, words):
    with pytest.raises(BadInput, match=words) as caught:
        Scenario(**values)
    assert caught.value.remedy


def test_numbers_of_numpy_and_lists_are_as_good():
    given = Scenario(np.array([5, 6]), epsilon=np.array([1.0, 0.5]), rates=[1, 2])
    assert given == Scenario((5, 6), epsilon=(1.0, 0.5), rates=(1, 2))
    assert hash(given) == hash(Scenario((5, 6), epsilon=(1.0, 0.5), rates=(1, 2)))
    assert given.to_dict()["records"] == [5, 6]
    assert "0.5 to 1" in given._repr_html_()
    assert "replace-one" in given._repr_html_()


@pytest.mark.parametrize(
    ("owners", "records", "epsilon", "sizes"),
    [
        (None, "7000,827,30", "1", (7000, 827, 30)),
        (None, "100", "1,2", (100, 100)),
        (3, "100", "1", (100,) * 3),
        (None, "100", "1", (100,) * 10),
    ],
)
def test_text_is_read_as_people_mean_it(owners, records, epsilon, sizes):
    assert Scenario.parse(owners, records, epsilon, 0.0).records == sizes


@pytest.mark.parametrize("records", ["1,,2", ",1", "1,"])
def test_a_comma_too_many_is_refused(records):
    with pytest.raises(BadInput, match="between two commas"):
        Scenario.parse(None, records, "1", 0.0)


def test_a_scenario_is_varied_without_losing_its_pattern():
    who = Scenario((10, 20, 60), epsilon=(1, 0.5, 2), rates=(1, 2, 3))
    assert who.with_largest_epsilon(4).epsilons == (2.0, 1.0, 4.0)
    assert who.with_owners(5).records == (10, 20, 60, 10, 20)
    assert who.with_owners(5).rates == (1, 2, 3, 1, 2)
    assert who.with_owners(2).epsilons == (1.0, 0.5)
    assert who.with_median_records(2).records == (1, 2, 6)
    assert Scenario((10, 10)).with_largest_epsilon(0.3).epsilons == (0.3, 0.3)
