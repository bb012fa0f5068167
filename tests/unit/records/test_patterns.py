"""Names that polars would take for patterns: a learner must not reach columns that nobody has read the names of."""

import msgspec
import numpy as np
import polars as pl
import pytest

from copriv.errors import BadInput
from copriv.records.dictionary import Dictionary
from copriv.records.load import take_public
from copriv.records.load_owner import load_owner
from copriv.records.target import TargetChoice

PATTERNS = ("*", "^.*$", "^salary$")


@pytest.fixture
def frame():
    generator = np.random.default_rng(0)
    return pl.DataFrame({name: generator.normal(size=40) for name in ("age", "salary", "stay")})


@pytest.fixture
def content(frame):
    return msgspec.to_builtins(take_public(frame.lazy(), TargetChoice("stay"), 2)[0])


@pytest.mark.parametrize("name", PATTERNS)
def test_a_dictionary_names_single_columns(content, name):
    for changed in (
        {**content, "target": {**content["target"], "name": name}},
        {**content, "columns": [{**content["columns"][0], "name": name}, *content["columns"][1:]]},
    ):
        with pytest.raises(BadInput, match="stands for every column"):
            Dictionary.from_study(changed)


@pytest.mark.parametrize("name", PATTERNS)
def test_an_owner_names_one_target(frame, content, name):
    named = frame.rename({"stay": name}).lazy()
    with pytest.raises(BadInput, match="your target is") as refused:
        load_owner(named, Dictionary.from_study(content), target=name)
    assert refused.value.remedy
    with pytest.raises(BadInput, match="stands for every column"):
        TargetChoice(name)


@pytest.mark.parametrize("name", ["^2", "2$", "a*", "x^2$y", ".*"])
def test_other_names_are_names(frame, name):
    table = frame.rename({"age": name})
    dictionary = take_public(table.lazy(), TargetChoice("stay"), 2)[0]
    assert name in dictionary.required_columns()
    assert load_owner(table.lazy(), dictionary).sample.records == 40


@pytest.mark.parametrize("name", PATTERNS)
def test_such_a_column_of_public_rows_is_left_out(frame, name):
    _, _, notices = take_public(frame.with_columns(frame["age"].alias(name)).lazy(), TargetChoice("stay"), 2)
    assert f"left out, a name that stands for several columns: {name}" in notices
