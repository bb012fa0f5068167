"""Features as people write them."""

import pytest

from copriv.errors import BadInput
from copriv.records.feature_spec import FeatureSpec


@pytest.mark.parametrize(
    "text",
    ["all", "auto", "pls:30", "pca:10", "codes:10", "pls:10+score", "all+score", "leaves:20", "pls:5+splines+pairs"],
)
def test_what_is_read_is_written_the_same(text):
    assert str(FeatureSpec.parse(text)) == text
    assert FeatureSpec.parse(FeatureSpec.parse(text.upper().replace("+", " + "))) == FeatureSpec.parse(text)


def test_a_number_is_so_many_components_as_ever():
    assert FeatureSpec.parse(10) == FeatureSpec.parse(" 10 ") == FeatureSpec(codes=10)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "-3",
        "pls",
        "pls:0",
        "all:3",
        "score+score",
        "splines",
        "auto+all",
        "codes:3+score",
        "pls:x",
        "1e3",
        "pls:99999",
    ],
)
def test_what_makes_no_sense_is_refused(text):
    with pytest.raises(BadInput, match="features") as caught:
        FeatureSpec.parse(text)
    assert caught.value.remedy
