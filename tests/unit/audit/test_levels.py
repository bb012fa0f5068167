"""Answers that are made finer: correct owners pass, and whoever draws them otherwise than as one stack is caught."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from copriv.audit.levels import levels_verdict, steps_hold
from copriv.audit.menu import audit_menu, build_menu_subject, honest_menu
from copriv.audit.transcript import draw_records
from copriv.owner.owner import Owner
from copriv.owner.responder import PrivateResponder

OWNERS, QUESTIONS = 30, 300
STEPS = ((10, 15), (10, 60), (20, 70))


class Twin:
    """Records behind noise that is right where levels do not matter."""

    def __init__(self, sample, promise):
        self.sample, self.promise, self.chance = sample, promise, np.random.default_rng(3)
        self.honest = PrivateResponder(sample, promise)

    def respond(self, theta, kind="gradient", share=0):
        return self.honest.respond(theta, kind, share)

    def respond_levels(self, theta, levels):
        exact = levels[0].exact(self.sample, theta)
        return self.draw(exact, [level.calibration.mechanism.scale for level in levels])

    def laplace(self, exact, scale):
        return exact + self.chance.laplace(scale=scale, size=exact.size)

    def stack(self, exact, scales, increment):
        told = [self.laplace(exact, scales[0])]
        for fine, coarse in pairwise(scales):
            told.append(told[-1] + increment(fine, coarse, exact.size))
        return told


class Fresh(Twin):
    """Every level has noise of its own."""

    def draw(self, exact, scales):
        return [self.laplace(exact, scale) for scale in scales]


class Averaging(Twin):
    """The coarsest first; each finer one is an average with an answer for the difference of the prices."""

    def draw(self, exact, scales):
        told = [self.laplace(exact, scales[-1])]
        for coarse, fine in pairwise(scales[::-1]):
            rest = self.laplace(exact, 1 / (1 / fine - 1 / coarse))
            told.append(fine / coarse * told[-1] + (1 - fine / coarse) * rest)
        return told[::-1]


class WrongAtom(Twin):
    """Increments are 0 as often as the scales are to each other, and not as their squares."""

    def draw(self, exact, scales):
        def increment(fine, coarse, size):
            return np.where(self.chance.random(size) < fine / coarse, 0, self.chance.laplace(scale=coarse, size=size))

        return self.stack(exact, scales, increment)


class Reusing(Twin):
    """One increment serves every question."""

    def __init__(self, sample, promise):
        super().__init__(sample, promise)
        self.kept = {}

    def draw(self, exact, scales):
        def increment(fine, coarse, size):
            stays = self.chance.random(size) < (fine / coarse) ** 2
            drawn = np.where(stays, 0, self.chance.laplace(scale=coarse, size=size))
            return self.kept.setdefault((fine, coarse), drawn)

        return self.stack(exact, scales, increment)


class Following(Twin):
    """Increments point where the finer noise does."""

    def draw(self, exact, scales):
        told = [self.laplace(exact, scales[0])]
        for fine, coarse in pairwise(scales):
            stays = self.chance.random(exact.size) < (fine / coarse) ** 2
            size = np.where(stays, 0, self.chance.exponential(scale=coarse, size=exact.size))
            told.append(told[-1] + size * np.sign(told[-1] - exact))
        return told


class Generous(Twin):
    """Whoever pays for a finer level gets the finest on the menu."""

    def draw(self, exact, scales):
        *_, asked = self.stack(exact, scales, lambda _fine, coarse, size: self.chance.laplace(scale=coarse, size=size))
        finest = self.promise.levels("gradient", 0)[0].calibration.mechanism.scale
        return [*(self.laplace(exact, finest) for _ in scales[1:]), asked]


class Undercharging(Owner):
    """Charges the smallest step, whatever is made finer."""

    def __init__(self, name, terms, commitment, responder, ledger):
        super().__init__(name, terms, commitment, responder, _Cheap(ledger))


class _Cheap:
    def __init__(self, ledger):
        self._ledger, self._smallest = ledger, None

    def reserve(self, query, question, amount, *account):
        paid = amount if self._smallest is None or not self._finer else self._smallest
        self._smallest = min(paid, self._smallest or paid, key=lambda each: each.nano)
        return self._ledger.reserve(query, question, paid, *account)

    def stored_answer(self, question):
        self._finer = True
        return self._ledger.stored_answer(question)

    def __getattr__(self, name):
        return getattr(self._ledger, name)


def _audit(claim, make_responder=PrivateResponder, kind=Owner):
    subject = build_menu_subject(claim, honest_menu(claim), make_responder)

    def make_owner(name, terms, commitment, sample, ledger):
        return kind(name, terms, commitment, make_responder(sample, commitment), ledger)

    found = audit_menu(
        replace(subject, make_owner=make_owner), 1e-6, np.random.default_rng(5), lambda _met: None, OWNERS
    )
    return {verdict.name: verdict for verdict in found}


def test_owners_that_draw_one_stack_pass(claim_of):
    for verdict in _audit(claim_of(1, parameters=4)).values():
        assert verdict.passed, verdict.words


def test_fresh_noise_for_the_difference_is_caught(claim_of):
    verdict = _audit(claim_of(1, parameters=4), Fresh)["menu: levels"]
    assert not verdict.passed
    assert verdict.certified > 1
    assert "not of one draw" in verdict.words


@pytest.mark.parametrize("kind", [PrivateResponder, Fresh, Averaging, WrongAtom, Reusing, Following])
def test_whoever_draws_levels_otherwise_is_caught(claim_of, generator, kind):
    claim = claim_of(1, parameters=4)
    sample, promise = draw_records(claim, generator), honest_menu(claim)
    responder, steps = kind(sample, promise), {}
    for place in range(QUESTIONS):
        before, after = STEPS[place % len(STEPS)]
        theta = generator.uniform(-1, 1, size=4)
        levels = promise.levels("gradient", before)
        told = dict(zip([part.share for part in levels], responder.respond_levels(theta, levels), strict=True))
        exact = promise.part("gradient", before).exact(sample, theta)
        steps.setdefault((before, after), []).append(np.array([told[before] - exact, told[after] - exact]))
    assert steps_hold(claim, steps, 1e-6) == (kind is PrivateResponder)
    assert levels_verdict(claim, steps, 1e-6, 1e-6).passed == (kind is PrivateResponder)
    assert not levels_verdict(claim, {}, 1e-6, None).passed


def test_a_level_above_what_was_paid_is_caught(claim_of):
    found = _audit(claim_of(1, parameters=4), Generous)
    assert not found["menu: noise"].passed
    assert "made finer" in found["menu: noise"].words


def test_an_owner_that_charges_too_little_for_the_step_is_caught(claim_of):
    assert not _audit(claim_of(1, parameters=4), kind=Undercharging)["menu: limits"].passed
