"""A bound on memory: how it is written, and what follows from it."""

import pytest

from copriv.errors import BadInput
from copriv.records.cluster import Machine
from copriv.records.resources import GIB, Resources, default_resources, parse_memory


@pytest.mark.parametrize(
    ("text", "found"),
    [("2GiB", 2 << 30), (" 1.5 gib ", 3 << 29), ("2000MB", 2 * 10**9), ("1TB", 10**12), ("500MB", 5 * 10**8)],
)
def test_amounts_with_units_are_understood(text, found):
    assert parse_memory(text) == found


@pytest.mark.parametrize("text", ["", "2", "much", "-2GiB", "2 G", "nanGiB", "2GiBs", "1e3GiB", "2,5GiB"])
def test_nonsense_is_refused(text):
    with pytest.raises(BadInput, match="--memory is"):
        parse_memory(text)


@pytest.mark.parametrize("text", ["300MB", "0GiB", "1kB"])
def test_less_than_the_program_takes_is_refused(text):
    with pytest.raises(BadInput, match="the program itself takes more"):
        parse_memory(text)


def test_without_a_word_it_is_half_of_the_machine():
    with Machine().opened() as resources:
        assert resources == default_resources()
    with Machine("2GiB").opened() as resources:
        assert resources == Resources(2 * GIB)


def test_wide_tables_are_read_in_small_batches():
    assert Resources(2 * GIB).rows_at_once(24) == 100_000
    assert Resources(2 * GIB).rows_at_once(1000) < 5000
    assert Resources(2 * GIB).rows_at_once(10**6) == 1000
    assert Resources(2 * GIB, batch_rows=7).rows_at_once(24) == 7
