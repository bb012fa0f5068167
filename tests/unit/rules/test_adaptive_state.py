"""The adaptive rule at the edges: little left to ask for, any menu, and states that are none."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from copriv.errors import BadInput
from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.losses.sample import Sample
from copriv.rules.adaptive_newton import KINDS, SHARES, AdaptiveNewton
from copriv.rules.adaptive_state import AdaptiveState, Question, Told
from copriv.rules.rule import Ask
from copriv.rules.setting import NoiseModel
from copriv.vectors import Norm

NOISE = NoiseModel((0.05, 0.05), 1.0, Norm.L1, None, SHARES, KINDS, (0.1, 0.1))


@pytest.fixture(scope="module")
def rule():
    generator = np.random.default_rng(0)
    rows = np.hstack([0.4 * generator.normal(size=(120, 1)), np.full((120, 1), 0.5)])
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    public = Sample.of_rows(rows, np.clip(rows @ [0.4, 0.2] + 0.1 * generator.normal(size=120), -1, 1))
    return AdaptiveNewton.of(public, Objective(choose("squared"), 1e-5, 2.0), records=(100, 100), noise=NOISE)


def _with_menu(rule, shares):
    return AdaptiveNewton(replace(rule.setting, noise=replace(NOISE, shares=shares)))


def _told(rule, *shares):
    """A state in which these were answered, by the owners in turn."""
    start = rule.setting.geometry.start
    told = tuple(Told(number % 2, Ask(start, "gradient", share), np.zeros(2)) for number, share in enumerate(shares))
    return AdaptiveState((Question(Ask(start, "gradient", shares[0]), 2),), told)


@pytest.mark.parametrize("left", [5, 10, 15, 20])
def test_an_owner_with_less_left_than_a_round_takes_is_asked_for_the_rest(rule, left):
    """Nobody could pay for the next round, which once ended the study."""
    assert rule.ask(_told(rule, 100, 100 - left), 1).share == left


def test_answers_at_nearly_one_place_with_nearly_no_noise_lead_to_a_model(rule):
    """Their covariance was singular, and the last owner that had answered was expelled for it."""
    silent = AdaptiveNewton(replace(rule.setting, noise=replace(NOISE, noise_std=(1e-15, 1e-15))))
    start = rule.setting.geometry.start
    for apart in (1e-15, 1e-12, 1e-9):
        places = [start + apart * step for step in range(4)]
        told = tuple(
            Told(number % 2, Ask(theta, "gradient", 25), np.full(2, 0.01)) for number, theta in enumerate(places)
        )
        state = AdaptiveState(tuple(Question(Ask(theta, "gradient", 25), 1) for theta in places), told)
        assert np.all(np.isfinite(silent.model(state)))


@pytest.mark.parametrize(
    ("shares", "wanted"), [((10, 50), (40, 10)), ((30, 90), (90, 0)), ((95,), None), ((1, 100), (1, 0))]
)
def test_only_what_is_on_the_menu_is_asked(rule, shares, wanted):
    """Owners refuse all else: a share of 90, left of 100 after 10, may not be on it; nor may the level before."""
    ask = _with_menu(rule, shares).ask(_told(rule, 10, 10), 0)
    assert (None if ask is None else (ask.share, ask.before)) == wanted


def test_a_state_that_was_corrupted_is_refused(rule):
    data = rule.pack(_told(rule, 10, 20))
    assert rule.pack(rule.unpack(data)) == data
    for place in range(len(data)):
        for other in (0x00, 0x7F, 0x91, 0xFF, data[place] ^ 1):
            _unpack_or_refuse(rule, data[:place] + bytes([other]) + data[place + 1 :])
        with pytest.raises(BadInput, match="not a state of this rule"):
            rule.unpack(data[:place])


def _unpack_or_refuse(rule, data):
    """What is read again can be asked and has a model."""
    try:
        state = rule.unpack(data)
    except BadInput:
        return
    assert all(told.values.size == 2 and told.ask.theta.size == 2 and told.owner in (0, 1) for told in state.told)


@pytest.mark.parametrize(
    "change",
    [
        {"owner": 2},
        {"owner": -1},
        {"share": 101},
        {"share": 0},
        {"before": 95},
        {"before": -1},
        {"theta": b""},
        {"theta": np.zeros(3).tobytes()},
        {"theta": np.array([0.0, np.nan]).tobytes()},
        {"values": b"123"},
        {"values": np.zeros(3).tobytes()},
        {"values": np.array([0.0, np.inf]).tobytes()},
        {"kind": "second_moments"},
    ],
)
def test_answers_that_no_owner_of_the_study_gave_are_refused(rule, change):
    names = ("owner", "kind", "share", "theta", "values", "kept", "before", "strong", "above")
    questions, (first, second) = msgspec.msgpack.decode(rule.pack(_told(rule, 10, 20)))
    changed = list((dict(zip(names, first, strict=True)) | change).values())
    with pytest.raises(BadInput, match="not a state of this rule"):
        rule.unpack(msgspec.msgpack.encode((questions, [changed, second])))


def test_a_checkpoint_of_before_opens_and_a_question_of_no_study_does_not(rule):
    """Checkpoints of before have no `above`; whoever stayed then was asked for everything."""
    state = _told(rule, 10, 20)
    questions, told = msgspec.msgpack.decode(rule.pack(state))
    former = rule.unpack(msgspec.msgpack.encode(([one[:-1] for one in questions], [one[:-1] for one in told])))
    assert rule.pack(former) == rule.pack(state)
    for above in (-1, 101):
        changed = [[*one[:-1], above] for one in questions]
        with pytest.raises(BadInput, match="not a state of this rule"):
            rule.unpack(msgspec.msgpack.encode((changed, told)))
