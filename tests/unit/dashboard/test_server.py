"""A port is taken before anything else happens, and a token is drawn where others may come."""

import socket
from contextlib import contextmanager

import pytest

from copriv.cli.page import page_beside
from copriv.dashboard import launch
from copriv.dashboard.learner_page import view_of
from copriv.dashboard.server import bind
from copriv.errors import BadInput


def _bound(*given, **more):
    address = bind(*given, **more)
    address.socket.close()
    return address


def test_this_machine_alone_needs_no_token_unless_it_is_nobody_elses_business():
    assert _bound(0).token is None
    assert len(_bound(0, secret=True).token) == 64
    assert _bound(0).hosts == {"127.0.0.1", "localhost", "::1"}


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])  # noqa: S104
def test_whoever_may_come_from_elsewhere_needs_one(host):
    try:
        address = _bound(0, host)
    except BadInput:
        pytest.skip(f"this machine has no {host}")
    assert len(address.token) == 64
    assert address.hosts is None


def test_two_tokens_are_not_the_same():
    assert _bound(0, secret=True).token != _bound(0, secret=True).token


@pytest.mark.parametrize("port", [-1, 65_536])
def test_a_port_that_is_none_is_said(port):
    with pytest.raises(BadInput, match="port"):
        bind(port)


def test_a_port_that_is_taken_is_said():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(BadInput, match="Address already in use"):
            bind(other.getsockname()[1])


def test_a_host_of_another_machine_is_said():
    with pytest.raises(BadInput, match=r"192\.0\.2\.1"):
        bind(0, "192.0.2.1")


def test_a_folder_that_is_neither_run_nor_study_is_said(tmp_path):
    with pytest.raises(BadInput, match="neither a run nor a study"):
        view_of(tmp_path)


@pytest.mark.parametrize(("kind", "host"), [("owner", "127.0.0.1"), ("learner", "0.0.0.0")])  # noqa: S104
def test_an_owners_page_is_shown_to_this_machine_alone_whatever_is_asked(tmp_path, monkeypatch, capsys, kind, host):
    shown = []

    @contextmanager
    def beside(_kind, _folder, address):
        shown.append(address)
        with address.socket:
            yield

    monkeypatch.setattr(launch, "beside", beside)
    with page_beside(kind, tmp_path, 0, "0.0.0.0"):  # noqa: S104
        assert shown[0].socket.getsockname()[0] == host
    assert f"?token={shown[0].token}" in capsys.readouterr().err
