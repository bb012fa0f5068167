"""What the audit found."""

from __future__ import annotations

import msgspec


class AuditResult(msgspec.Struct, frozen=True, kw_only=True):
    """One test: the ε it certifies against the ε that is claimed.

    Args:
        name: which test.
        certified: a lower bound of the true ε (at the claimed δ); infinite, and null in JSON, if nothing was hidden.
        claimed: what it may be at most.
        statistic: what was measured: χ² of the noise, the largest change, or the certified ε itself.
        threshold: what it is held against: χ² from below, the others from above.
        answers: how many answers of owners it took.
        false_alarms: the most often that a correct owner fails this test.
        passed: whether the claim stands.
        words: what was seen, in a sentence.
    """

    name: str
    certified: float
    claimed: float
    statistic: float
    threshold: float
    answers: int
    false_alarms: float
    passed: bool
    words: str
