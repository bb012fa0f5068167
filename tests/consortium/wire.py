"""A wire that misbehaves: a proxy in front of the broker that stalls, cuts, truncates or reorders what it carries."""

import random
import select
import socket
import threading
from contextlib import suppress

CHUNK = 4096


class Wire:
    """Carries bytes between owners and the broker, well or badly, as it is told."""

    def __init__(self, port):
        self._port, self._listener = port, socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._mood, self._pairs, self._open = "well", [], True
        self._clear = threading.Event()
        self._clear.set()
        self._chance = random.Random(0)  # noqa: S311 - a bad wire, not a secret
        self.carried = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def behave(self, mood):
        """well, stalled (bytes wait), truncating (half of a piece, then the end), or reordering (pieces swap)."""
        self._mood = mood
        if mood == "stalled":
            self._clear.clear()
        else:
            self._clear.set()

    def cut(self):
        """Break every connection, at once."""
        for pair in self._pairs:
            for end in pair:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        self._pairs.clear()

    def close(self):
        self._open = False
        self._clear.set()
        self.cut()
        self._listener.close()

    def _accept(self):
        while self._open:
            with suppress(OSError):
                near, _ = self._listener.accept()
                try:
                    far = socket.create_connection(("127.0.0.1", self._port))
                except OSError:
                    near.close()
                    continue
                self._pairs.append((near, far))
                threading.Thread(target=self._carry, args=(near, far), daemon=True).start()

    def _carry(self, near, far):
        held = b""
        with near, far, suppress(OSError):
            while self._open:
                ready, _, _ = select.select([near, far], [], [], 0.5)
                for end in ready:
                    piece = end.recv(CHUNK)
                    self._clear.wait()
                    if not piece:
                        return
                    other = far if end is near else near
                    if self._mood == "truncating":
                        other.sendall(piece[: len(piece) // 2])
                        return
                    if self._mood == "reordering" and not held and self._chance.random() < 0.5:
                        held = piece
                        continue
                    other.sendall(piece + held)
                    held, self.carried = b"", self.carried + len(piece)
