"""A mapping that never changes, against plain copies of dictionaries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copriv.owner.persistent_map import PersistentMap

KEYS = "abcde"


class InPlace(dict):
    """The broken twin: what it gives is itself, changed."""

    def adding(self, key, value):
        self[key] = value
        return self


def _differences(none, steps):
    """Add to any of the mappings made so far, the newest or not; those that do not say what they should."""
    made, expected = [none], [{}]
    for which, key, value in steps:
        parent = which % len(made)
        made.append(made[parent].adding(key, value))
        expected.append({**expected[parent], key: value})
    return [(mapping, plain) for mapping, plain in zip(made, expected, strict=True) if not _same(mapping, plain)]


def _same(mapping, plain):
    looked_up = all(mapping.get(key) == plain.get(key) and (key in mapping) == (key in plain) for key in KEYS)
    ordered = list(reversed(mapping)) == list(reversed(list(mapping)))
    return looked_up and ordered and dict(mapping) == plain and len(mapping) == len(plain)


@given(st.lists(st.tuples(st.integers(0, 20), st.sampled_from(KEYS), st.integers())))
def test_every_mapping_says_what_it_said_when_it_was_made(steps):
    assert _differences(PersistentMap(), steps) == []


def test_one_that_changes_in_place_is_caught():
    assert _differences(InPlace(), [(0, "a", 1), (1, "a", 2)])


def test_a_chain_of_additions_copies_nothing(monkeypatch):
    copies = []
    plain = PersistentMap._own_table
    monkeypatch.setattr(PersistentMap, "_own_table", lambda self: copies.append(self) or plain(self))
    newest = oldest = PersistentMap()
    for number in range(1000):
        newest = newest.adding(number % 7, number)
        assert newest[number % 7] == number
    assert copies == []
    assert oldest.adding("a", 1) == {"a": 1}
    assert copies


def test_what_was_not_there_is_missing_from_an_older_one():
    older = PersistentMap({"a": 1})
    older.adding("b", 2)
    with pytest.raises(KeyError):
        older["b"]
    assert older["a"] == 1
