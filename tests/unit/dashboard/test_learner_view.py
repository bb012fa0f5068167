"""A folder looked at from outside: whose certificate is whose, and what a simulation says of itself."""

import json
from types import SimpleNamespace

import pytest
from asking import ask

from copriv.dashboard.learner_metrics import learner_metrics
from copriv.dashboard.learner_page import learner_app
from copriv.dashboard.learner_shown import Asked, Certificate, OwnerRow
from copriv.dashboard.learner_view import RunView
from copriv.dashboard.live import Ending
from copriv.runtime import learner_status
from copriv.transport.expiry import Expiry


@pytest.fixture
def folder(tmp_path):
    def make(**figures):
        (tmp_path / "run.json").write_text(json.dumps({"rule": "newton", "horizon": 2, **figures}))
        return tmp_path

    return make


def test_a_simulated_run_says_so_first(folder):
    app = learner_app(folder(noise="seeded"), Ending())
    assert "SIMULATED" in ask(app, "/learner").text
    assert json.loads(ask(app, "/learner.json").text)["noise"] == "seeded"


def test_a_real_one_does_not(folder):
    assert "SIMULATED" not in ask(learner_app(folder(noise="secure"), Ending()), "/learner").text


def test_an_owner_called_broker_hides_no_certificate(folder, monkeypatch):
    monkeypatch.setattr(learner_status, "expiry_of", lambda holder, ends: Expiry(holder, ends, running_out=False))
    monkeypatch.setattr(learner_status, "fingerprint", lambda root: root)
    quarters = SimpleNamespace(
        keys=SimpleNamespace(roots=lambda: ["root"], own=lambda: {"broker": "soon", "learner": "soon"}),
        invited=lambda: ["broker"],
        issued=SimpleNamespace(held=lambda _name: ("late",)),
    )
    assert {each.expires for each in learner_status.own_certificates_of(quarters)} == {"root", "soon"}
    assert [each.expires for each in learner_status.owners_certificates_of(quarters)] == ["late"]
    shown = RunView(folder()).show(Asked())
    shown.owners, shown.certificates = [OwnerRow("broker", "connected", days=60.0)], [Certificate("broker", 1.0)]
    lines = [line for line in learner_metrics(shown, folder()).splitlines() if "certificate_days{" in line]
    assert len({line.rpartition(" ")[0] for line in lines}) == len(lines) == 2
