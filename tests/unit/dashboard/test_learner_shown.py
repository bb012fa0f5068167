"""Which owners are shown: found, filtered, sorted, a page at a time; what makes no sense is said."""

import pytest

from copriv.dashboard.learner_shown import Asked, OwnerRow
from copriv.errors import BadInput

ROWS = [
    OwnerRow("east", "done", answers=3, refused={"failed": 2}, silence=5.0, left=0.5, days=40.0),
    OwnerRow("North-East", "waited for"),
    OwnerRow("west", "connected", answers=7, silence=1.0, left=0.2, days=9.0),
]


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({}, ["west", "North-East", "east"]),
        ({"q": "EAST"}, ["North-East", "east"]),
        ({"place": "done"}, ["east"]),
        ({"sort": "answers", "order": "down"}, ["west", "east", "North-East"]),
        ({"sort": "refused", "order": "down"}, ["east", "North-East", "west"]),
        ({"sort": "silence"}, ["west", "east", "North-East"]),
        ({"sort": "left"}, ["west", "east", "North-East"]),
        ({"sort": "days"}, ["west", "east", "North-East"]),
        ({"sort": "owner"}, ["North-East", "east", "west"]),
    ],
)
def test_who_is_shown(given, names):
    assert [row.owner for row in Asked.read(given).choose(ROWS)] == names


@pytest.mark.parametrize(
    "given",
    [
        {"sort": "shoe size"},
        {"order": "sideways"},
        {"place": "moon"},
        {"page": "0"},
        {"per": "-1"},
        {"page": "٣"},
        {"x": ""},
    ],
)
def test_what_makes_no_sense_is_said(given):
    with pytest.raises(BadInput):
        Asked.read(given)
