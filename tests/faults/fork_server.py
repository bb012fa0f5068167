"""Real processes, quickly: one process loads everything once and then forks a child for every life.

The fork_server is an interpreter of its own, started afresh, so that no thread of a test runner and no OpenMP pool of a
compiled kernel is ever forked; its kernels run uncompiled, which gives the same bits. A life is a function
`module:function` of this folder that talks to the outside through one channel until it ends, or is killed. The dead are
not reaped before the outside says so: a process id is never used for a stranger.
"""

import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from multiprocessing.reduction import recv_handle, send_handle
from pathlib import Path

PRELOADED = ("world", "owner_life", "learner_life")
CALM = {"NUMBA_DISABLE_JIT": "1", "OPENBLAS_NUM_THREADS": "1"}
KILLED = -signal.SIGKILL


class Life:
    """One forked process, seen from outside."""

    def __init__(self, pid, channel, bury):
        self.pid, self.channel, self._bury = pid, channel, bury

    def send(self, data):
        """Say something; whether it was still heard nobody knows."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self.channel.send_bytes(data)

    def receive(self, patience=2.0):
        """The next thing it says, or None if it is dead or says nothing for that long."""
        try:
            return self.channel.recv_bytes() if self.channel.poll(patience) else None
        except (EOFError, ConnectionResetError):
            return None

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)

    def end(self):
        """What it had said before it died, and how it died: minus the signal, or its exit code."""
        code = self._bury(self.pid)
        words = []
        while (data := self.receive(0)) is not None:
            words.append(data)
        self.channel.close()
        return words, code


class Nursery:
    """Starts lives; leaving it ends the fork_server itself, and lives end with their channel."""

    def __init__(self):
        self._control, theirs = Pipe()
        # Loaded libraries keep idle threads of their own, at which a later Python warns when it forks.
        command = [sys.executable, "-W", "ignore::DeprecationWarning", str(Path(__file__)), str(theirs.fileno())]
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=os.environ | CALM)
        theirs.close()

    def start(self, function, **arguments):
        """Fork a child that runs `module:function(channel, **arguments)`."""
        ours, theirs = Pipe()
        self._control.send_bytes(json.dumps({"start": function, "arguments": arguments}).encode())
        send_handle(self._control, theirs.fileno(), self._process.pid)
        theirs.close()
        return Life(int(self._control.recv_bytes()), ours, self._bury)

    def _bury(self, pid):
        self._control.send_bytes(json.dumps({"bury": pid}).encode())
        return int(self._control.recv_bytes())

    def __enter__(self):
        return self

    def __exit__(self, *_problem):
        self._control.close()
        self._process.wait()


def main():
    control = Connection(int(sys.argv[1]))
    for module in PRELOADED:
        importlib.import_module(module)
    importlib.import_module("world").warm()
    _unshare_locks()
    with suppress(EOFError):
        while True:
            _obey(control, json.loads(control.recv_bytes()))


def _unshare_locks():
    """Numba takes a lock that forked processes share whenever it is told how many threads to use.

    A life that is killed while it holds this lock would leave all later ones waiting for ever.
    """
    from numba.np.ufunc import parallel

    parallel._backend_init_process_lock = threading.RLock()


def _obey(control, request):
    if "bury" in request:
        _, status = os.waitpid(request["bury"], 0)
        control.send_bytes(str(os.waitstatus_to_exitcode(status)).encode())
        return
    handle = recv_handle(control)
    pid = os.fork()
    if pid == 0:
        control.close()
        _live(Connection(handle), request)
    os.close(handle)
    control.send_bytes(str(pid).encode())


def _live(channel, request):
    """Run the life and leave, without what an interpreter does at its end."""
    code = 1
    try:
        module, function = request["start"].split(":")
        with suppress(EOFError, BrokenPipeError, ConnectionResetError):
            getattr(importlib.import_module(module), function)(channel, **request["arguments"])
        code = 0
    except BaseException:  # noqa: BLE001 - the parent's stack is below us: nothing may return into it
        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
