"""Which rows a study takes as public, and where they come from: nobody in them is protected."""

from __future__ import annotations

import msgspec

from copriv.protocol.text import plain


class PublicRows(msgspec.Struct, frozen=True, omit_defaults=True):
    """Rows that are taken as known to everybody.

    Args:
        rows: how many; 0 if there are none, or nobody has said.
        source: the name of the file that they came from.
        own: whether they are rows of the very file that holds the private records.
    """

    rows: int = 0
    source: str = ""
    own: bool = False

    @property
    def words(self) -> str:
        """What is to be said of them wherever a promise is stated.

        >>> PublicRows(10_000, "loans.csv", own=True).words
        '10,000 rows of this very file (loans.csv) are public: nobody in them is protected'
        >>> PublicRows(500, "survey.csv").words
        '500 public rows of survey.csv: nobody in them is protected'
        """
        if self.rows == 0:
            return f"public rows of {plain(self.source)}, number not noted" if self.source else "no public rows noted"
        if self.own:
            return (
                f"{self.rows:,} rows of this very file ({plain(self.source)}) are public: nobody in them is protected"
            )
        source = f" of {plain(self.source)}" if self.source else ", source not named"
        return f"{self.rows:,} public rows{source}: nobody in them is protected"
