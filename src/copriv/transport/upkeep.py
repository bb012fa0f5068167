"""The learner renews its own certificate and the broker's at half-life, and has the broker reload.

Nobody is dropped: a link keeps the certificates with which it was made.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from copriv.errors import CoprivError
from copriv.transport.certificates import life_of, written
from copriv.transport.learner_workspace import LearnerWorkspace

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.2, 600.0


@dataclass(slots=True)
class Upkeep:
    """What keeps the certificates of broker and learner young.

    Args:
        quarters: the learner's folder.
        tell: is told what happens, in words.
        elsewhere: whether the broker is somebody else's to reload.
        unheard: whether the broker has still to reload.
    """

    quarters: LearnerWorkspace
    tell: Callable[[str], None]
    elsewhere: bool = False
    unheard: bool = False

    def look(self, now: datetime) -> None:
        """Renew what is past its half-life."""
        with self.quarters.locked():
            due = self.quarters.keys.due(now)
            self.quarters.keys.renew(due, now, self.quarters.register().days)
        for name in due:
            until = life_of(self.quarters.keys.own()[name]).ends
            self.tell(f"the certificate of the {name} is renewed until {written(until)}")
        self.unheard = self.unheard or "broker" in due
        if self.unheard:
            self._reload()

    def _reload(self) -> None:
        if not self.quarters.reload_broker() and self.elsewhere:
            self.tell("the broker runs elsewhere: copy server.key there and have it reload")
        self.unheard = False

    def pause(self, now: datetime) -> float:
        """Seconds until the next look; what is past its half-life was just looked at."""
        halves = [life_of(certificate).half for certificate in self.quarters.keys.own().values()]
        ahead = [(half - now).total_seconds() for half in halves if half > now]
        return min(max(min(ahead, default=_LONGEST_PAUSE), _SHORTEST_PAUSE), _LONGEST_PAUSE)


@contextmanager
def kept_up(quarters: LearnerWorkspace, tell: Callable[[str], None], *, elsewhere: bool = False) -> Iterator[None]:
    """Renew at once what is due, and go on renewing in a thread of its own until the block is left."""
    upkeep, stop = Upkeep(LearnerWorkspace(quarters.folder), tell, elsewhere), threading.Event()
    upkeep.look(datetime.now(UTC))
    thread = threading.Thread(target=_keep_looking, args=(upkeep, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _keep_looking(upkeep: Upkeep, stop: threading.Event) -> None:
    pause = 0.0
    while not stop.wait(pause):
        try:
            upkeep.look(datetime.now(UTC))
            pause = upkeep.pause(datetime.now(UTC))
        except (CoprivError, OSError) as problem:
            upkeep.tell(f"certificates cannot be renewed now: {problem}")
            pause = max(min(2 * pause, _LONGEST_PAUSE), 1.0)
