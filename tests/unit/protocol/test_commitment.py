"""What an owner promises follows from the terms and from what it says of itself, in one place."""

import msgspec
import numpy as np
import pytest

from copriv.losses.moments import moment_count, positive_share
from copriv.losses.objective import Objective
from copriv.losses.people import Whose
from copriv.losses.sample import Sample
from copriv.privacy.guarantee import Guarantee
from copriv.privacy.sensitivity import of_positives
from copriv.protocol.commitment import commitment_of, make_commitment
from copriv.protocol.meeting import Hello
from copriv.protocol.menu import MENU_KINDS
from copriv.protocol.plain_terms import plain_terms

LABELS = plain_terms(rule="newton", loss="logistic", shares=(10, 20, 70), kinds=MENU_KINDS)
NOISES = [(0.0, "pld"), (1e-6, "pld"), (1e-6, "zcdp")]
# Terms that change what a gradient or second moments are, and nothing about the share of positives.
ELSEWHERE = {
    "clip": {"clip": 0.01},
    "rows": {"row_norm": 30.0},
    "targets": {"target_bound": 9.0},
    "model": {"parameters": 9, "regularization": 0.1, "limit": 7.0},
    "loss": {"loss": "huber", "threshold": 0.3},
    "rule": {"rule": "mine", "horizon": 77, "name": "another"},
    "menu": {"shares": (3, 10, 20, 21, 70, 100)},
}


def promise(terms=LABELS, delta=0.0, accountant="pld", records=40, epsilon=1):
    return make_commitment(terms, Guarantee.of(epsilon, delta), records=records, answers=3, accountant=accountant)


@pytest.mark.parametrize(("delta", "accountant"), [(0.0, "pure"), (1e-6, "pld"), (1e-6, "zcdp")])
def test_a_hello_says_all_that_a_commitment_needs(delta, accountant):
    terms = plain_terms()
    hello = Hello(terms.digest(), "east", "a", 40, 2 * 10**9, delta, accountant, 5)
    worked_out = "zcdp" if accountant == "zcdp" else "pld"
    expected = make_commitment(terms, Guarantee.of(2, delta), records=40, answers=5, accountant=worked_out)
    assert commitment_of(hello, terms) == expected


@pytest.mark.parametrize("rule", ["statistics", "mine"])
def test_what_is_asked_decides_what_is_promised_not_the_rule_s_name(rule):
    terms = plain_terms(rule=rule, asks="moments")
    commitment = make_commitment(terms, Guarantee.of(1), records=40, answers=1)
    assert commitment.main == "moments"
    assert [part.kind for part in commitment.parts] == ["moments"]
    sample = Sample.of_rows(np.full((40, terms.parameters), 0.5), np.zeros(40))
    assert commitment.exact_answer(sample, np.zeros(terms.parameters)).size == moment_count(terms.parameters)


def test_a_rule_from_outside_gets_the_noise_of_any_rule_that_asks_for_gradients():
    ours, theirs = (
        make_commitment(plain_terms(rule=rule), Guarantee.of(1), records=40, answers=3) for rule in ("paper", "mine")
    )
    assert ours == theirs


@pytest.mark.parametrize(("delta", "accountant"), NOISES)
def test_share_kind_budget_and_size_decide_the_noise_of_positives_and_nothing_else(delta, accountant):
    """Neither what a gradient is nor what else is on the menu; the same changes do change the other kinds' noise."""
    plain, moved = promise(delta=delta, accountant=accountant), set()
    for changes in ELSEWHERE.values():
        other = promise(msgspec.structs.replace(LABELS, **changes), delta, accountant)
        for share in LABELS.shares:
            here, there = (each.part("positives", share) for each in (plain, other))
            assert (here.calibration, here.sensitivity, here.bound) == (there.calibration, there.sensitivity, 1.0)
            assert (here.calibration.answers, here.allowance) == (there.calibration.answers, there.allowance)
            for kind in MENU_KINDS[:2]:
                moved |= {kind} if other.part(kind, share).calibration != plain.part(kind, share).calibration else set()
        assert other.whole_positives == plain.whole_positives
    assert moved == set(MENU_KINDS[:2])
    for another in (promise(LABELS, delta, accountant, records=41), promise(LABELS, delta, accountant, epsilon=2)):
        told = [each.part("positives", 10).calibration.mechanism.scale for each in (plain, another)]
        assert told[1] < told[0]


@pytest.mark.parametrize(("delta", "accountant"), NOISES)
def test_positives_of_a_share_cost_what_anything_costs_at_that_share(delta, accountant):
    commitment = promise(delta=delta, accountant=accountant)
    for share in LABELS.shares:
        assert len({commitment.part(kind, share).calibration.charge for kind in MENU_KINDS}) == 1
    scales = [commitment.part("positives", share).calibration.mechanism.scale for share in LABELS.shares]
    part = np.array([100 / share for share in LABELS.shares]) ** (0.5 if delta else 1.0)
    # A charge is rounded down to a whole billionth, and the noise is never smaller than the charge pays for.
    np.testing.assert_allclose(scales, commitment.whole_positives.mechanism.scale * part, rtol=1e-6)
    if not delta:
        assert commitment.whole_positives.mechanism.scale == pytest.approx(1 / 40, rel=1e-6)


def test_two_kinds_are_promised_as_they_were_without_the_third():
    three, two = promise(), promise(msgspec.structs.replace(LABELS, kinds=MENU_KINDS[:2]))
    assert [part for part in three.menu if part.kind != "positives"] == list(two.menu)
    assert (three.budget, three.calibration, three.whole_moments) == (two.budget, two.calibration, two.whole_moments)
    assert two.whole_positives is None
    assert not two.allows("positives", 10)
    assert three.kinds == MENU_KINDS
    assert three.levels("positives", 10) == ()


@pytest.mark.parametrize("weigh", ["person", "row"])
def test_positives_of_people_are_bounded_by_a_person(weigh):
    of_people = {"unit": "person", "person": "patient", "rows_cap": 6, "weigh": weigh}
    commitment = promise(msgspec.structs.replace(LABELS, **of_people))
    part = commitment.part("positives", 20)
    assert part.sensitivity == of_positives(records=40, norm=commitment.norm, rows=6)
    generator = np.random.default_rng(3)
    rows = Sample.of_rows(generator.normal(size=(90, 4)), generator.choice([-1.0, 1.0], 90))
    people = rows.grouped(Whose(np.append(np.arange(40), generator.integers(0, 40, 50)), 6, weigh))
    for theta in (np.zeros(4), np.ones(4)):
        assert part.exact(people, theta).tolist() == positive_share(people).tolist()
    assert part.exact(people, np.zeros(4)).tolist() != part.exact(rows, np.zeros(4)).tolist()


def test_a_loss_that_says_its_slopes_are_nothing_has_no_shorter_clip_than_terms_allow(monkeypatch):
    """Products with a clip of 1e-160 would leave the range of doubles; the proof of the sensitivity starts at 1e-9."""
    monkeypatch.setattr(Objective, "gradient_bound", lambda *_args, **_kwargs: 1e-160)
    commitment = make_commitment(plain_terms(), Guarantee.of(1), records=100, answers=2)
    assert commitment.clip == 1e-9
    assert commitment.sensitivity.value >= 2e-11
