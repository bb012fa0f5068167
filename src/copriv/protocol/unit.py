"""What is protected as one where that is a person: the column that says whose a row is, a cap, what weighs alike."""

from __future__ import annotations

from typing import Any

import msgspec

from copriv.losses.people import Weigh

# What `weigh` does to the model that is looked for, in words.
TARGETS: dict[str, str] = {
    "person": "every person weighs the same: the model is the best for an average person, not for an average row",
    "row": "every row weighs the same, up to the cap of a person: the model is the best for an average row, and the "
    "noise is as large as if every person had as many rows as the cap",
}


class PersonUnit(msgspec.Struct, frozen=True):
    """One person, with all rows that it has at an owner.

    Args:
        column: says whose a row is; it is no feature.
        rows_cap: the most rows of a person that count, the first in the file.
        weigh: whether people weigh alike, or rows.
    """

    column: str
    rows_cap: int
    weigh: Weigh

    def in_terms(self) -> dict[str, Any]:
        """As terms say it."""
        return {"unit": "person", "person": self.column, "rows_cap": self.rows_cap, "weigh": self.weigh}

    @property
    def words(self) -> str:
        """For people.

        >>> PersonUnit("patient", 5, "person").words
        "people by 'patient', at most 5 rows of each; every person weighs the same: the model is the best for an average person, not for an average row"
        """  # noqa: E501
        rows = "1 row" if self.rows_cap == 1 else f"{self.rows_cap:,} rows"
        return f"people by {self.column!r}, at most {rows} of each; {TARGETS[self.weigh]}"
