"""One suite for every loss: those of this project, and one of another package. And the suite catches what is broken."""

import dataclasses
import math
from pathlib import Path

import pytest

from copriv.losses import choose as registry
from copriv.losses.outside import OutsideLoss
from copriv.losses.passes import average_gradient, average_value, record_slopes, record_values
from copriv.losses.sample import Sample
from copriv.testing import ContractBroken, check_loss, examine_loss, loss_checks
from copriv.testing.loss_checks import LOSS_CHECKS

OUTSIDE = Path(__file__).resolve().parents[1] / "outside"


@pytest.fixture(autouse=True)
def _nothing_stays(monkeypatch):
    monkeypatch.setattr(registry, "_PASSED", {})


@pytest.mark.parametrize("name", registry.NAMES)
def test_every_loss_of_this_project_keeps_the_contract(name):
    check_loss(name)


def test_a_loss_of_another_package_keeps_it(monkeypatch):
    monkeypatch.syspath_prepend(str(OUTSIDE))
    check_loss("smooth-huber")


def _value(margin, target):
    return (margin - target) ** 2


def _slope(margin, target):
    return 2 * (margin - target)


def _curvature(margin, target):
    return 2.0


def _too_steep(margin, target):
    return 2.2 * (margin - target)


def _too_bent(margin, target):
    return 2.5


def _cosine(margin, target):
    return 1 + math.cos(margin - target)


def _sine(margin, target):
    return -math.sin(margin - target)


def _minus_cosine(margin, target):
    return -math.cos(margin - target)


def _raising(margin, target):
    if margin > 1e5:
        raise ValueError("too far")
    return 2 * (margin - target)


def _undefined_far_away(margin, target):
    return 2 * (margin - target) + 0 * math.exp(abs(margin))


def _not_compiled(z, y):
    return "text" if z > y else z


SQUARE = OutsideLoss(
    "square",
    _value,
    _slope,
    _curvature,
    slope_bound=lambda margin, target: 2 * (margin + target),
    value_bound=lambda margin, target: (margin + target) ** 2,
    curvature_bound=2.0,
)
TWINS = {
    "a slope that is too steep": ("slope of value", {"slope": _too_steep}),
    "a curvature that is too large": ("curvature of slope", {"curvature": _too_bent}),
    "not convex": ("convex", {"value": _cosine, "slope": _sine, "curvature": _minus_cosine}),
    "a bound on slopes that is too small": ("bounds", {"slope_bound": lambda margin, target: margin}),
    "a bound on values that is too small": ("bounds", {"value_bound": lambda margin, target: margin}),
    "a bound on curvature that is too small": ("bounds", {"curvature_bound": 1.0}),
    "an error far away": ("far away", {"slope": _raising}),
    "no number far away": ("far away", {"slope": _undefined_far_away}),
    "a function that cannot be compiled": ("slope of value", {"slope": _not_compiled}),
}


def test_the_loss_that_twins_break_keeps_the_contract():
    check_loss(SQUARE)


@pytest.mark.parametrize("twin", TWINS)
def test_a_broken_twin_is_caught(twin):
    check, changes = TWINS[twin]
    broken = dataclasses.replace(SQUARE, **changes)
    results = {result.name: result for result in examine_loss(broken)}
    assert not results[check].passed
    with pytest.raises(ContractBroken, match=check):
        check_loss(broken)


def _unclipped(loss, sample, theta, clip, norm):
    return average_gradient(loss, sample, theta)


def _unbounded(loss, sample, theta, bound):
    return average_value(loss, sample, theta)


def _centred(loss, sample, theta):
    slopes = record_slopes(loss, sample, theta)
    return slopes - slopes.mean()


def _forgetful(loss, sample, theta):
    return record_values(loss, Sample(sample.columns, sample.targets), theta)


PASSES = {
    "offsets": ("record_values", _forgetful),
    "clipped": ("clipped_average_gradient", _unclipped),
    "bounded": ("bounded_average_value", _unbounded),
    "record by record": ("record_slopes", _centred),
}


@pytest.mark.parametrize("check", PASSES)
@pytest.mark.parametrize("loss", ["squared", SQUARE], ids=["squared", "outside"])
def test_a_broken_pass_is_caught(check, loss, monkeypatch):
    name, broken = PASSES[check]
    monkeypatch.setattr(loss_checks, name, broken)
    assert check in {result.name for result in examine_loss(loss) if not result.passed}


def test_a_loss_under_another_ones_name_is_caught(monkeypatch):
    monkeypatch.setattr(loss_checks, "add_loss", lambda loss: loss)
    registry.add_loss(dataclasses.replace(SQUARE, curvature_bound=3.0))
    assert "named" in {result.name for result in examine_loss(SQUARE) if not result.passed}


def test_every_check_has_a_twin():
    assert {check for check, _ in TWINS.values()} | set(PASSES) | {"named"} == set(LOSS_CHECKS)
