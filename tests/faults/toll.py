"""What came of a round of faults: how many there were, and every promise that was seen broken."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Toll:
    faults: int = 0
    counts: Counter = field(default_factory=Counter)
    violations: list = field(default_factory=list)

    @property
    def clean(self):
        return not self.violations
