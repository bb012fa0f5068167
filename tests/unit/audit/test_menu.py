"""Owners with a menu: correct ones pass, and each broken twin is caught, whatever the learner chooses."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from copriv.audit.menu import KINDS, SHARES, audit_menu, build_menu_subject, honest_menu
from copriv.audit.people import as_people
from copriv.audit.reference import reference_positives
from copriv.audit.transcript import draw_records
from copriv.losses.moments import positive_share
from copriv.losses.sample import Sample
from copriv.owner.owner import Owner
from copriv.owner.responder import PrivateResponder
from copriv.privacy.calibration import calibrate_share

OWNERS = 60


def _audit(subject, generator, owners=OWNERS):
    noise, *levels, limits = audit_menu(subject, 1e-6, generator, lambda _met: None, owners)
    assert [found.name for found in levels] == ["menu: levels"][: subject.has_levels]
    return noise, limits


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_correct_owner_passes_at_every_choice(claim_of, generator, delta):
    noise, limits = _audit(build_menu_subject(claim_of(1, delta, parameters=4)), generator)
    assert noise.passed, noise.words
    assert limits.passed, limits.words
    assert f"of {15 if delta else 19} choices" in noise.words
    assert limits.answers > 10 * OWNERS
    assert noise.certified <= 1


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("kind", KINDS)
def test_owners_work_out_the_noise_that_the_claim_demands_of_every_choice(claim_of, delta, kind):
    claim = claim_of(1, delta, parameters=4)
    for share in SHARES:
        part = honest_menu(claim).part(kind, share)
        needed = replace(claim, asks=kind, share=share).needed_scale()
        assert 1 <= part.calibration.mechanism.scale / needed < 1.01
        assert 1 <= part.sensitivity.value / replace(claim, asks=kind).change < 1 + 1e-6


@pytest.mark.parametrize("rows", [0, 5])
def test_the_share_of_positives_that_the_audit_compares_with_is_the_owner_s(claim_of, generator, rows):
    """Of people it is that of people; the twin that counts rows as records says another one."""
    claim = replace(claim_of(parameters=4), rows=rows)
    records = draw_records(claim, generator)
    owned = as_people(claim, records)
    assert reference_positives(records) == pytest.approx([np.mean(records.targets > 0)])
    assert reference_positives(owned) == pytest.approx(positive_share(owned), rel=1e-13)
    assert reference_positives(owned) == pytest.approx(reference_positives(records), rel=1e-13)
    flat = Sample(owned.columns, owned.targets)
    assert (abs(positive_share(flat) - positive_share(owned))[0] > 1e-3) == (rows > 0)


def _choosing_more(commitment, factor, kind):
    """The learner's choice changes the noise beyond the menu: one kind gets that of a larger share at its own price."""

    def change(part):
        if part.kind != kind:
            return part
        larger = calibrate_share(
            commitment.calibration,
            min(100, round(part.share * factor)),
            sensitivity=part.sensitivity,
            parameters=10 if kind == "second_moments" else 1,
        )
        return replace(part, calibration=replace(part.calibration, mechanism=larger.mechanism))

    return replace(commitment, menu=tuple(map(change, commitment.menu)))


# A share of positives is one number, of which fewer are seen: the smallest mistake that is surely caught is larger.
@pytest.mark.parametrize(("kind", "factor"), [("second_moments", 1.4), ("positives", 4)])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_noise_beyond_the_menu_is_caught(claim_of, generator, delta, kind, factor):
    claim = claim_of(1, delta, parameters=4)
    noise, limits = _audit(build_menu_subject(claim, _choosing_more(honest_menu(claim), factor, kind)), generator)
    assert not noise.passed
    assert f"the noise of {kind} at" in noise.words
    assert noise.certified > 1
    assert limits.passed


class Obliging(Owner):
    """Answers any share: off the menu it takes the noise of what was asked and the price of the smallest share."""

    def answer(self, query):
        if self.commitment.allows(query.kind, query.share, query.before):
            return super().answer(query)
        return super().answer(msgspec.structs.replace(query, kind="gradient", share=10, before=0))


class Cheap(Owner):
    """Charges the smallest share, whatever is asked."""

    def __init__(self, name, terms, commitment, responder, ledger):
        cheapest = commitment.part("gradient", 10).calibration.charge
        menu = tuple(replace(part, calibration=replace(part.calibration, charge=cheapest)) for part in commitment.menu)
        super().__init__(name, terms, replace(commitment, menu=menu), responder, ledger)


@pytest.mark.parametrize("kind", [Obliging, Cheap])
def test_an_owner_that_goes_beyond_its_menu_or_budget_is_caught(claim_of, generator, kind):
    subject = build_menu_subject(claim_of(1, parameters=3))

    def make_owner(name, terms, commitment, sample, ledger):
        return kind(name, terms, commitment, PrivateResponder(sample, commitment), ledger)

    _, limits = _audit(replace(subject, make_owner=make_owner), np.random.default_rng(4), owners=20)
    assert not limits.passed
    assert "answers" in limits.words
