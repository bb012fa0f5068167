"""Losses by name: this project's, those that are passed, and those of installed packages."""

import dataclasses
from pathlib import Path

import pytest

from copriv.errors import BadInput
from copriv.losses import choose as registry
from copriv.losses.choose import add_loss, choose, is_known, loss_names
from copriv.losses.outside import OutsideLoss
from copriv.protocol.plain_terms import plain_terms

OUTSIDE = Path(__file__).resolve().parents[2] / "outside"
MINE = OutsideLoss(
    "mine",
    value=lambda z, y: (z - y) ** 2,
    slope=lambda z, y: 2 * (z - y),
    curvature=lambda z, y: 2.0,
    slope_bound=lambda margin, target: 2 * (margin + target),
    value_bound=lambda margin, target: (margin + target) ** 2,
    curvature_bound=2.0,
)


@pytest.fixture(autouse=True)
def _nothing_stays(monkeypatch):
    monkeypatch.setattr(registry, "_PASSED", {})


def test_whoever_lacks_the_loss_refuses_the_terms_and_says_what_helps():
    with pytest.raises(BadInput, match="'mine', which is not known here") as caught:
        plain_terms(loss="mine")
    assert "install the package" in caught.value.remedy
    with pytest.raises(BadInput, match="not known"):
        choose("mine")


def test_a_loss_that_is_passed_is_known_by_its_name():
    assert not is_known("mine")
    assert add_loss(MINE) is choose("mine")
    assert loss_names()[-1] == "mine"
    assert plain_terms(loss="mine").objective().loss is MINE


def test_the_names_of_this_project_s_losses_cannot_be_taken():
    with pytest.raises(BadInput, match="'squared'"):
        add_loss(dataclasses.replace(MINE, name="squared"))


def test_an_installed_package_brings_a_loss(monkeypatch):
    monkeypatch.syspath_prepend(str(OUTSIDE))
    assert "smooth-huber" in loss_names()
    assert plain_terms(loss="smooth-huber").objective().loss.slope_bound(1e9, 1.0) == pytest.approx(1.0)


def test_a_loss_has_a_plain_name():
    for name in ("", "My Loss", "a" * 41, "x\x1b"):
        with pytest.raises(BadInput, match="called"):
            dataclasses.replace(MINE, name=name)
