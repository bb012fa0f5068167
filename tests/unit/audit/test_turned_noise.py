"""Noise on gradients along axes: correct owners pass, and twins whose noise knows of the axes are caught.

Correct owners fail at most once in a million runs, and twins escape less often than that; some noise is secure, and so
no two runs are the same. What the twins draw is seeded.
"""

from itertools import count

import numpy as np
import pytest

from copriv.audit.axes import skewed_axes
from copriv.audit.claim import Claim
from copriv.audit.examination import Effort, examine_turned
from copriv.audit.menu import audit_menu, build_menu_subject, honest_menu
from copriv.audit.pair import canaries
from copriv.audit.subject import ROW_NORM, build_subject, honest_promise
from copriv.owner.responder import PrivateResponder
from copriv.privacy.guarantee import Guarantee
from copriv.privacy.levels import simulate_levels
from copriv.vectors import Norm

PARAMETERS, OWNERS = 4, 60
AXES = skewed_axes(PARAMETERS, np.random.default_rng(3))
BOTH = pytest.mark.parametrize("delta", [0.0, 1e-6])
FILLS = pytest.mark.parametrize("fill", [0.0, 0.4])


def claim_of(delta, fill, share=100):
    guarantee = Guarantee.of(1, delta)
    return Claim(guarantee, 1, clip=1.0, records=40, parameters=PARAMETERS, share=share, fill=fill, axes=AXES)


# --- noise at every share ---------------------------------------------------------------------------


class Twin:
    """Records behind noise of the promised size, seeded; how it looks along the axes is each twin's own."""

    seeds = count()

    def __init__(self, sample, promised):
        self.sample, self.chance = sample, np.random.default_rng(next(self.seeds))
        self.honest, self.promised = PrivateResponder(sample, promised), promised

    def respond(self, theta, kind="gradient", share=0):
        if kind != "gradient":
            return self.honest.respond(theta, kind, share)
        part = self.promised.part(kind, share)
        exact, scale = part.exact(self.sample, theta), part.calibration.mechanism.scale
        draw = self.chance.normal if self.promised.norm is Norm.L2 else self.chance.laplace
        return exact + self.hidden(draw(scale=scale, size=(1, exact.size)))[0]

    def respond_levels(self, theta, levels):
        exact = levels[0].exact(self.sample, theta)
        scales = [level.calibration.mechanism.scale for level in levels]
        return exact + self.hidden(simulate_levels(np.zeros(exact.size), scales, self.chance))

    def hidden(self, noise):
        return noise


class ScaledByTheAxes(Twin):
    """The noise of every number is as much smaller as its axis is."""

    def hidden(self, noise):
        noise[:, :PARAMETERS] *= np.linalg.norm(AXES, axis=1)
        return noise


class TurnedWithItsNoise(Twin):
    """The noise is drawn along the features, and turned with what it hides."""

    def hidden(self, noise):
        noise[:, :PARAMETERS] = noise[:, :PARAMETERS] @ np.asarray(AXES).T
        return noise


class ScaledOnlyBehind(Twin):
    """Second moments are shorter along axes, and so is the noise on them; that on gradients is larger instead."""

    def hidden(self, noise):
        noise[:, :PARAMETERS] *= 1.5
        noise[:, PARAMETERS:] *= np.linalg.norm(AXES) / 2
        return noise


def _audit(delta, fill, make_responder=PrivateResponder):
    claim = claim_of(delta, fill, share=0)
    subject = build_menu_subject(claim, honest_menu(claim), make_responder)
    found = audit_menu(subject, 1e-6, np.random.default_rng(5), lambda _met: None, OWNERS)
    return {verdict.name.removeprefix("menu: "): verdict for verdict in found}


@BOTH
@FILLS
@pytest.mark.parametrize("responder", [PrivateResponder, Twin])
def test_a_correct_owner_passes_at_every_choice(delta, fill, responder):
    verdicts = _audit(delta, fill, responder)
    assert [verdict.words for verdict in verdicts.values() if not verdict.passed] == []
    assert verdicts["noise"].certified <= 1
    assert set(verdicts) == {"noise", "limits", *(() if delta else ("levels",))}


@BOTH
@pytest.mark.parametrize(
    ("twin", "fill"),
    [(ScaledByTheAxes, 0.0), (ScaledByTheAxes, 0.4), (TurnedWithItsNoise, 0.0), (ScaledOnlyBehind, 0.4)],
)
def test_noise_that_follows_the_axes_is_caught(delta, twin, fill):
    verdict = _audit(delta, fill, twin)["noise"]
    assert not verdict.passed
    assert "the noise of gradient at" in verdict.words
    assert verdict.certified > 1


# --- one answer: two records whose turned gradients are opposite ------------------------------------


@BOTH
@pytest.mark.parametrize("fill", [0.0, 1e4])
def test_the_canary_s_tables_differ_in_one_record_and_are_as_far_apart_as_can_be(delta, fill):
    claim = claim_of(delta, fill)
    (pair,) = canaries(claim)
    differing = (pair.first.columns != pair.second.columns).any(axis=0) | (pair.first.targets != pair.second.targets)
    exact = honest_promise(claim).part("gradient", 100).exact
    assert differing.sum() == 1
    assert np.linalg.norm(pair.second.columns[:, 0]) == pytest.approx(ROW_NORM)
    assert exact(pair.first, np.zeros(PARAMETERS)) == pytest.approx(pair.origin, abs=1e-15)
    assert exact(pair.second, np.zeros(PARAMETERS)) == pytest.approx(pair.origin + pair.shift, abs=1e-15)
    # Second moments of one record are as far from those of another as a gradient in L1, and √2 times less in L2.
    nearer = np.sqrt(2) if fill and delta else 1
    assert claim.norm.of(pair.shift) == pytest.approx(claim.change / nearer)
    assert pair.shift[:PARAMETERS].any() == (fill == 0)


def _of_one_answer(delta, fill, make_responder=PrivateResponder):
    effort = Effort(draws=64 * 1500, confidence=0.999)

    def build(claim):
        return build_subject(claim, make_responder=make_responder)

    return examine_turned(claim_of(delta, fill), effort, np.random.default_rng(2), build)


@BOTH
@pytest.mark.parametrize("fill", [0.0, 1e4])
def test_one_answer_of_a_correct_owner_tells_no_more_than_claimed(delta, fill):
    verdicts = _of_one_answer(delta, fill)
    assert [verdict.name for verdict in verdicts if not verdict.passed] == []
    canary = "canary of second moments" if fill else "canary along e₁"
    assert [verdict.name for verdict in verdicts][:3] == ["exact answers", "neighbours", canary]


class NearlyBare(Twin):
    """A fifth of the noise."""

    def hidden(self, noise):
        return noise / 5


@BOTH
@pytest.mark.parametrize("fill", [0.0, 1e4])
def test_one_answer_with_too_little_noise_is_caught(delta, fill):
    exact, neighbours, *canary = _of_one_answer(delta, fill, NearlyBare)
    assert exact.passed
    assert neighbours.passed
    assert not all(verdict.passed for verdict in canary)
