"""A page beside somebody's work: it ends with it, and what goes wrong with it is a sentence."""

import http.client
import subprocess
import sys
from contextlib import closing

import pytest
from benchmarks.crowded_run import crowded_run

from copriv.dashboard.launch import beside
from copriv.dashboard.server import bind


def _status(port):
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request("GET", "/learner.json")
        return connection.getresponse().status


def test_it_is_there_for_as_long_as_the_block(tmp_path):
    run, address = crowded_run(tmp_path / "run", 10, 100), bind(0)
    port = address.socket.getsockname()[1]
    with beside("learner", run, address):
        assert _status(port) == 200
    with pytest.raises(OSError, match="refused"):
        _status(port)


def test_an_order_that_cannot_be_carried_out_is_a_sentence(tmp_path):
    order = b'{"kind":"learner","folder":"%s","descriptor":99,"token":null,"hosts":null}\n' % str(tmp_path).encode()
    done = subprocess.run([sys.executable, "-m", "copriv.dashboard"], input=order, capture_output=True, check=False)
    assert done.returncode == 2
    [line] = done.stderr.decode().splitlines()
    assert "neither a run nor a study" in line
