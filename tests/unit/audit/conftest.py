"""Owners that break their promise, one mistake each; the audit has to catch every one of them.

They are made by the function that makes correct owners, with a promise or a responder of their own.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from copriv.audit import whole_reply
from copriv.audit.claim import Claim
from copriv.audit.reference import reference_moments
from copriv.audit.subject import build_subject, honest_promise
from copriv.losses.sample import Sample
from copriv.privacy.calibration import calibrate
from copriv.privacy.guarantee import Guarantee
from copriv.privacy.sensitivity import Sensitivity
from copriv.protocol.messages import Answer
from copriv.runtime.simulated_responder import SimulatedResponder
from copriv.vectors import Norm

OWNERS = 10


def _with_mechanism(commitment, mechanism):
    return replace(commitment, calibration=replace(commitment.calibration, mechanism=mechanism))


def half_noise(claim):
    commitment = honest_promise(claim)
    mechanism = commitment.calibration.mechanism
    return build_subject(claim, commitment=_with_mechanism(commitment, type(mechanism)(mechanism.scale / 2)))


def l2_bound_used_as_l1(claim):
    """Theorem 1 of the paper as printed: gradients clipped in L2, Laplace noise for a change of 2C/n in L1."""
    return build_subject(claim, commitment=replace(honest_promise(claim), norm=Norm.L2))


def no_cap(claim):
    """Every answer gets the noise of T/N answers, and T are given."""
    fewer = honest_promise(claim.over(max(1, claim.answers // OWNERS)))
    return build_subject(claim, commitment=_with_mechanism(honest_promise(claim), fewer.calibration.mechanism))


def numpy_noise(claim):
    generator = np.random.default_rng(5)
    return build_subject(
        claim, make_responder=lambda sample, commitment: SimulatedResponder(sample, commitment, generator)
    )


def clip_forgotten(claim):
    return build_subject(claim, commitment=replace(honest_promise(claim), clip=math.inf))


def _with_sensitivity(claim, value):
    """An owner of moments that takes them for less sensitive than they are."""
    sensitivity = Sensitivity(value, claim.norm)
    calibration = calibrate(claim.guarantee, answers=claim.answers, sensitivity=sensitivity, parameters=claim.numbers)
    return build_subject(
        claim, commitment=replace(honest_promise(claim), sensitivity=sensitivity, calibration=calibration)
    )


def root_of_four(claim):
    """What follows from xxᵀ and xy one after the other, without their interplay at 60°."""
    return _with_sensitivity(claim, 2.0)


def root_of_four_and_a_half_in_l1(claim):
    """The bound in L2, for Laplace noise."""
    return _with_sensitivity(claim, math.sqrt(4.5))


def one_record_instead_of_two(claim):
    """How long one record's moments are, not how far apart those of two: right if records are added, not replaced."""
    flat = np.full((1, claim.parameters), 1 / math.sqrt(claim.parameters))
    return _with_sensitivity(claim, claim.norm.of(reference_moments(Sample.of_rows(flat, [1.0]), claim.norm)))


def packed_for_another_norm(claim):
    """Numbers above the diagonal count √2 times, and the sensitivity does not know."""
    return build_subject(claim, commitment=replace(honest_promise(claim), norm=Norm.L2))


def any_record_accepted(claim):
    return build_subject(claim, commitment=replace(honest_promise(claim), row_norm=math.inf, target_bound=math.inf))


OF_GRADIENTS = (half_noise, l2_bound_used_as_l1, no_cap, numpy_noise, clip_forgotten)
OF_MOMENTS = (
    root_of_four,
    root_of_four_and_a_half_in_l1,
    one_record_instead_of_two,
    packed_for_another_norm,
    any_record_accepted,
)
TWINS = {twin.__name__: twin for twin in (*OF_GRADIENTS, *OF_MOMENTS)}


@pytest.fixture(scope="session")
def twin():
    """A broken twin by its name, for a claim."""
    return lambda name, claim: TWINS[name](claim)


@pytest.fixture(scope="session")
def claim_of():
    """The claims of these tests."""

    def make(epsilon=1, delta=0.0, answers=1, parameters=10, asks="gradient"):
        return Claim(Guarantee.of(epsilon, delta), answers, clip=1.0, records=100, parameters=parameters, asks=asks)

    return make


@dataclass(slots=True)
class Told:
    """Of a study with a menu: kinds that every owner answered, and how far the exact share of positives moved."""

    kinds: set[str]
    moved: float = 0.0


@pytest.fixture
def of_menus(monkeypatch):
    """What whole replies that are compared from now on tell of each study with positives on its menu, by its name."""
    found, judge = {}, whole_reply._judge_pair

    def note(case, odd, base, other):
        if "positives" in case.study.content()["privacy"].get("kinds", []) and other.replies:
            kinds = {reply.id.partition("-")[0] for reply in other.replies if isinstance(reply, Answer)}
            told = found.setdefault(case.study.name, Told(kinds))
            told.kinds &= kinds
            pairs = (pair for pair in zip(base.exact, other.exact, strict=True) if "positives" in pair[0].where)
            told.moved = max([told.moved, *(whole_reply._change(*pair) for pair in pairs)])
        return judge(case, odd, base, other)

    monkeypatch.setattr(whole_reply, "_judge_pair", note)
    return found


@pytest.fixture
def generator():
    return np.random.default_rng(11)
