"""Whom a live run meets next, as far as that is known. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Agenda:
    """The owners to be met next, in order.

    Args:
        owners: whom, by their place in the session.
        pledged: how many replies are still due to queries from before a crash. While there are any, their owners are
            waited for even if they are absent: whoever follows may have been asked already, at the model that only
            these replies lead to.
    """

    owners: tuple[int, ...] = ()
    pledged: int = 0

    def met(self) -> Agenda:
        """The first owner is being met.

        >>> Agenda((3, 1), pledged=2).met()
        Agenda(owners=(1,), pledged=2)
        """
        return Agenda(self.owners[1:], self.pledged)

    def announcing(self, owner: int) -> Agenda:
        """One more owner is to follow."""
        return Agenda((*self.owners, owner), self.pledged)

    def answered(self) -> Agenda:
        """A reply came; it may have been a pledged one.

        >>> Agenda((1,), pledged=2).answered(), Agenda((1,)).answered()
        (Agenda(owners=(1,), pledged=1), Agenda(owners=(1,), pledged=0))
        """
        return Agenda(self.owners, max(self.pledged - 1, 0))

    def silent(self, owner: int) -> Agenda:
        """No reply came: an owner that others are pledged to follow is met again at once; else everything is open.

        >>> Agenda((1,), pledged=2).silent(3), Agenda((1,), pledged=1).silent(3)
        (Agenda(owners=(3, 1), pledged=2), Agenda(owners=(), pledged=0))
        """
        return Agenda((owner, *self.owners), self.pledged) if self.pledged > 1 else Agenda()
