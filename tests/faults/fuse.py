"""Places where a process kills itself: around every step of an owner, a learner and every statement to a database."""

import os
import signal


class Fuse:
    """Burns at the given place, the `countdown`-th time it is reached; at no place at all if the place is unknown."""

    def __init__(self, place, countdown):
        self._place, self._countdown = place, countdown

    def at(self, place):
        if place == self._place:
            self._countdown -= 1
            if self._countdown == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def around(self, what, call):
        self.at(f"before {what}")
        result = call()
        self.at(f"after {what}")
        return result

    def connecting(self, connect):
        """The same way of connecting, with a fuse at every statement."""
        return lambda path: FusedConnection(connect(path), self)


class FusedConnection:
    def __init__(self, connection, fuse):
        self._connection, self._fuse = connection, fuse

    def execute(self, statement, *parameters):
        return self._fuse.around(name_of(statement), lambda: self._connection.execute(statement, *parameters))

    def close(self):
        self._connection.close()


class FusedLedger:
    """A ledger with a fuse before and after the two halves of an answer."""

    def __init__(self, ledger, fuse):
        self._ledger, self._fuse = ledger, fuse

    def reserve(self, *arguments):
        return self._fuse.around("reserve", lambda: self._ledger.reserve(*arguments))

    def store(self, *arguments):
        return self._fuse.around("store", lambda: self._ledger.store(*arguments))

    def __getattr__(self, name):
        return getattr(self._ledger, name)


class FusedTransport:
    def __init__(self, transport, fuse):
        self._transport, self._fuse = transport, fuse

    def ask(self, query):
        return self._fuse.around("ask", lambda: self._transport.ask(query))


def name_of(statement):
    """A statement in one or two words.

    >>> name_of("INSERT INTO entry VALUES (?, ?, ?)"), name_of("BEGIN IMMEDIATE"), name_of("COMMIT")
    ('insert entry', 'begin immediate', 'commit')
    """
    words = statement.replace("INSERT INTO", "INSERT").lower().split()
    return " ".join(words[:2])
