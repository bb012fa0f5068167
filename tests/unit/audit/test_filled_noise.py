"""Noise on filled gradients: correct owners pass, and twins that hide one part of an answer less are caught.

Correct owners fail at most once in a million runs, and twins escape less often than that; some noise is secure, and so
no two runs are the same.
"""

from itertools import count

import numpy as np
import pytest

from copriv.audit.claim import Claim
from copriv.audit.examination import Effort, examine_filled
from copriv.audit.menu import audit_menu, build_menu_subject, honest_menu
from copriv.audit.pair import canaries
from copriv.audit.subject import build_subject, honest_promise
from copriv.owner.responder import PrivateResponder
from copriv.privacy.guarantee import Guarantee
from copriv.privacy.levels import simulate_levels

PARAMETERS, OWNERS = 4, 60
BOTH = pytest.mark.parametrize("delta", [0.0, 1e-6])


def claim_of(delta, fill=0.4, share=100):
    return Claim(Guarantee.of(1, delta), 1, clip=1.0, records=40, parameters=PARAMETERS, share=share, fill=fill)


# --- noise: twins that hide the second part less ---------------------------------------------------


class Twin:
    """Records behind noise of the promised size, seeded; how it looks behind the gradient is each twin's own."""

    seeds = count()

    def __init__(self, sample, promised):
        self.sample, self.chance = sample, np.random.default_rng(next(self.seeds))
        self.honest, self.promised = PrivateResponder(sample, promised), promised

    def respond(self, theta, kind="gradient", share=0):
        if kind != "gradient":
            return self.honest.respond(theta, kind, share)
        part = self.promised.part(kind, share)
        exact = part.exact(self.sample, theta)
        noise = self.chance.normal(scale=part.calibration.mechanism.scale, size=exact.size)
        return self.told(exact, noise[None])[0]

    def respond_levels(self, theta, levels):
        exact = levels[0].exact(self.sample, theta)
        scales = [level.calibration.mechanism.scale for level in levels]
        return self.told(exact, simulate_levels(np.zeros(exact.size), scales, self.chance))

    def told(self, exact, noise):
        return exact + noise


class HalfBehind(Twin):
    """Half the noise on second moments."""

    def told(self, exact, noise):
        noise[:, PARAMETERS:] /= 2
        return exact + noise


class HalfBefore(Twin):
    """Half the noise on the gradient, and as much more on the second moments."""

    def told(self, exact, noise):
        noise[:, :PARAMETERS] /= 2
        noise[:, PARAMETERS:] *= 1.2
        return exact + noise


class BareWhenFiner(Twin):
    """Second moments of finer answers have no noise."""

    def told(self, exact, noise):
        noise[:-1, PARAMETERS:] = 0
        return exact + noise


class FreshBehind(Twin):
    """Second moments of every level have noise of their own."""

    def told(self, exact, noise):
        noise[:, PARAMETERS:] = self.chance.permuted(noise[:, PARAMETERS:], axis=1)
        return exact + noise


def _audit(delta, make_responder=PrivateResponder):
    claim = claim_of(delta, share=0)
    subject = build_menu_subject(claim, honest_menu(claim), make_responder)
    found = audit_menu(subject, 1e-6, np.random.default_rng(5), lambda _met: None, OWNERS)
    return {verdict.name.removeprefix("menu: "): verdict for verdict in found}


@BOTH
@pytest.mark.parametrize("responder", [PrivateResponder, Twin])
def test_a_correct_owner_passes_at_every_choice(delta, responder):
    verdicts = _audit(delta, responder)
    assert [verdict.words for verdict in verdicts.values() if not verdict.passed] == []
    assert verdicts["noise"].certified <= 1


@BOTH
@pytest.mark.parametrize("twin", [HalfBehind, HalfBefore])
def test_too_little_noise_on_either_part_is_caught(delta, twin):
    verdict = _audit(delta, twin)["noise"]
    assert not verdict.passed
    assert "the noise of gradient at" in verdict.words
    assert verdict.certified > 1


def test_a_finer_answer_whose_second_part_has_no_noise_is_caught():
    found = _audit(0.0, BareWhenFiner)
    assert not found["noise"].passed
    assert not found["levels"].passed


def test_a_finer_answer_whose_second_part_is_drawn_afresh_is_caught():
    found = _audit(0.0, FreshBehind)
    assert found["noise"].passed
    assert not found["levels"].passed


# --- one answer: two records apart in their second moments -----------------------------------------


@BOTH
def test_the_canary_s_tables_differ_in_second_moments_alone(delta):
    claim = claim_of(delta, fill=1.0)
    (pair,) = canaries(claim)
    differing = (pair.first.columns != pair.second.columns).any(axis=0)
    exact = honest_promise(claim).part("gradient", 100).exact
    assert differing.sum() == 1
    assert exact(pair.first, np.zeros(PARAMETERS)) == pytest.approx(pair.origin, abs=1e-15)
    assert exact(pair.second, np.zeros(PARAMETERS)) == pytest.approx(pair.origin + pair.shift, abs=1e-15)
    assert not pair.shift[:PARAMETERS].any()
    assert claim.norm.of(pair.shift) == pytest.approx(claim.change if delta == 0 else claim.change / np.sqrt(2))


def _of_one_answer(delta, make_responder=PrivateResponder):
    effort = Effort(draws=32 * 1500, confidence=0.999)

    def build(claim):
        return build_subject(claim, make_responder=make_responder)

    return examine_filled(claim_of(delta, fill=1.0), effort, np.random.default_rng(2), build)


@BOTH
def test_one_answer_of_a_correct_owner_tells_no_more_than_claimed(delta):
    verdicts = _of_one_answer(delta)
    assert [verdict.name for verdict in verdicts if not verdict.passed] == []
    assert [verdict.name for verdict in verdicts][:2] == ["neighbours", "canary of second moments"]


class NearlyBare(Twin):
    """A fifth of the noise on second moments."""

    def told(self, exact, noise):
        noise[:, PARAMETERS:] /= 5
        return exact + noise


@BOTH
def test_one_answer_with_too_little_noise_on_second_moments_is_caught(delta):
    neighbours, *canary = _of_one_answer(delta, NearlyBare)
    assert neighbours.passed
    assert not all(verdict.passed for verdict in canary)
