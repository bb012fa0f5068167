"""Every exception of the project; each carries the offending value and says what would help."""

from __future__ import annotations


class CoprivError(Exception):
    """A problem somebody can act on.

    Args:
        problem: what is wrong, naming the value.
        remedy: what to do about it.
        value: the offending value itself.
    """

    def __init__(self, problem: str, *, remedy: str, value: object = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy
        self.value = value

    def __str__(self) -> str:
        return f"{self.problem} ({self.remedy})"

    def __reduce__(self) -> tuple[object, ...]:
        """An error that comes back from another process says the same as there."""
        return _rebuild, (type(self), self.problem, self.remedy, self.value)


def _rebuild(kind: type[CoprivError], problem: str, remedy: str, value: object) -> CoprivError:
    return kind(problem, remedy=remedy, value=value)


class BadInput(CoprivError):
    """A value from outside was refused before anything was spent or written."""


class BadTable(BadInput):
    """A table of records cannot be read or used as asked."""


class RecordsChanged(CoprivError):
    """Records are not those that were read first: nothing may be answered from them until somebody has looked."""


class BadGuarantee(BadInput):
    """A privacy guarantee that cannot be promised."""


class LedgerRefusal(CoprivError):
    """The ledger does not allow the charge: the budget is spent, or the account is not in order."""


class LedgerFailure(CoprivError):
    """The ledger cannot be read or written: nothing may be answered until somebody has looked."""


class QueryConflict(LedgerRefusal):
    """The id of a query was used before for a different question."""


class ProtocolError(CoprivError):
    """A message that does not follow the protocol."""
