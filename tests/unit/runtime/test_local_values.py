"""A number for each owner, from a file, a list or a mapping."""

import pytest

from copriv.errors import BadInput
from copriv.runtime.local_values import match_values, read_values

OWNERS = ["east", "north", "west"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "1\n2\n4\n"),
        ("a.csv", "owner,epsilon\nwest,4\neast,1\nnorth,2\n"),
        ("a.csv", "# as agreed\nwest,4\neast,1\nnorth,2\n"),
        ("a.json", "[1, 2, 4]"),
        ("a.json", '{"west": 4, "north": 2, "east": 1}'),
    ],
)
def test_files_of_all_kinds(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert read_values(tmp_path / name, OWNERS, "epsilon") == ["1", "2", "4"]


def test_digits_are_kept_as_they_are_written(tmp_path):
    (tmp_path / "a.json").write_text("[0.10000000000000000001, 2, 4]")
    assert read_values(tmp_path / "a.json", OWNERS, "epsilon")[0] == "0.10000000000000000001"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["1", "2"], "2 values of epsilon for 3 owners"),
        ({"east": "1", "north": "2"}, "no epsilon for west"),
        ({"east": "1", "north": "2", "west": "3", "south": "4"}, "unknown owners: south"),
    ],
)
def test_values_that_do_not_fit_are_refused(given, words):
    with pytest.raises(BadInput, match=words):
        match_values(given, OWNERS, "epsilon")


@pytest.mark.parametrize(("text", "words"), [("{", "is not JSON"), ("3", "neither a list nor an object")])
def test_files_that_are_broken_are_refused(tmp_path, text, words):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(BadInput, match=words):
        read_values(tmp_path / "a.json", OWNERS, "epsilon")
