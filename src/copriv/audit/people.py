"""Records that are people: each record of a synthetic table becomes a person with several rows.

Rows of a person are copies of its record, so that the mean of their gradients or moments is the record's own, and
whatever is known of an exact answer stays known. The first record, in which neighbours differ, has the most rows. An
owner that clips rows instead of people counts a person as often as it has rows.
"""

from __future__ import annotations

import numpy as np

from copriv.audit.claim import Claim
from copriv.losses.people import Whose
from copriv.losses.sample import Sample
from copriv.vectors import IntArray


def as_people(claim: Claim, sample: Sample, *, unlike: bool = False) -> Sample:
    """The same records as people, if the claim is about people; `unlike` makes the rows of a person differ.

    Args:
        claim: says how many rows a person has at most.
        sample: one record a person; the first has that many rows.
        unlike: later rows of a person are shorter, which exact answers follow; a bound has to hold for them, too.
    """
    if not claim.rows:
        return sample
    sizes = rows_of_people(sample.records, claim.rows)
    rows, who = sample.columns.T.repeat(sizes, axis=0), np.repeat(np.arange(sizes.size), sizes)
    if unlike:
        within = np.arange(who.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rows = rows * (1 - within / (2 * claim.rows))[:, None]
    grouped = Sample.of_rows(rows, sample.targets.repeat(sizes))
    return grouped.grouped(Whose(who.astype(np.int64), claim.rows, "person"))


def rows_of_people(people: int, most: int) -> IntArray:
    """The first has the most, the second one, and the others any number from one to that.

    >>> rows_of_people(6, 3).tolist()
    [3, 1, 1, 2, 3, 1]
    """
    sizes = np.arange(1, people + 1, dtype=np.int64) % most + 1
    sizes[0], sizes[1:2] = most, 1
    return np.asarray(sizes)
