"""What the adaptive rule asks next: always the first purchase of the plan that should cost the least.

Before any answer that is a look: little of all owners, at the public model; of many owners with little noise half of a
few budgets, and of the others only if these few differ. If they show no shift, everybody is asked for a part of the
rest there, and then for all of it unless that part shows one; no budget is split: answers become finer
(`rules.purchase`). If they do, a part of the owners or all of them are asked at the model of the hour, for little or
everything, or for second moments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from copriv.rules.adaptive_inference import AdaptiveSetting, inferred, visible
from copriv.rules.adaptive_state import AdaptiveState, Question, Told
from copriv.rules.difference import Difference, gradient_left
from copriv.rules.evidence import Among
from copriv.rules.few_rows import is_few
from copriv.rules.purchase import Asked, Budget, Outlook, choose, choose_look, gain_of_finer
from copriv.rules.relabelled import positives_wanted
from copriv.rules.rule import Ask
from copriv.rules.tilted import least_expected
from copriv.rules.transported import VISIBLE, blur, can_move
from copriv.vectors import FloatArray, Norm

# To all owners together, and the most answers of one owner: the last of them takes all that it has left.
MOST_QUESTIONS, MOST_ANSWERS = 7, 5
# Of fewer owners than this nobody knows whether they are alike; of alike ones at least a tenth, or two, are asked.
_ENOUGH, _SCOUTS, _FEWEST = 4, 10, 2
# If α or κ is surely beyond this, the public Hessian is not relied on: nobody is asked for everything in one question.
_STRONG, _SURE = 0.03, 0.8
# Owners count as alike if what they differ by is this little beside their noise, or if it is hardly more than this many
# times what sampling makes them differ by.
_HIDDEN, _DIFFERENT, _PERHAPS = 0.1, 2.0, 0.3
_FLATTEST = 1e-3
# So many owners are a crowd. If their noise leaves this much to be seen of how samples differ, this part of them, each
# for so many per cents, shows whether they are alike; if not, the others are asked for a look of so many per cents.
_CROWD, _CLEAR, _SCOUTED, _SCOUT_SHARE, _LOOK_SHARE = 20, 0.9, 0.15, 50, 20
# Under a strong shift among owners that differ so much of each budget is kept, to see whether the rest led too far.
_KEPT = 10
# Who stays after a look of at most so many per cents keeps this much at first: a finer answer there shows better
# whether to stay, and nothing is lost by becoming finer in two steps.
_LOOKED, _WAITING = 30, 60
# By how much the expected logarithm of the cost has to be lower where owners were asked before than at the model. It
# says nothing where noise is so large that all plans cost alike. So who is near stays: the square of the way to the
# model is below this part of the noise that all budgets together leave.
_WORTH_STAYING, _NEAR = 0.05, 0.4
# So many per cents of everybody's budget go into second moments to move the public rows by (`rules.transported`). Under
# a shift that is surely beyond this, but not strong, noise may blur them by no more than this.
_MOVING_SHARE, _MILD, _CLEARLY = 15, 0.003, 0.5
# Variances of 0 are taken for this, so that precisions can still be added up.
_NO_NOISE = 1e-200


def model_of(setting: AdaptiveSetting, state: AdaptiveState) -> FloatArray:
    """The model of least expected fitness; the public one before any gradient was told."""
    if not any(told.ask.kind == "gradient" for told in state.told):
        return setting.geometry.start
    found, _ = inferred(setting, state)
    return least_expected(setting.geometry, found.intercept, found.hessian, len(found.observations))


def open_question(setting: AdaptiveSetting, state: AdaptiveState, owner: int) -> Question | None:
    """The question that still waits for this owner's answer; none if a strong shift has come up against it.

    Nobody is asked for everything once others have shown a strong shift: looked at after 1, 2, 4, 8, … answers.
    """
    question = state.open_question(owner) or _look_of_the_others(setting, state, owner)
    if question is None or not question.is_for_all or len(state.questions) >= MOST_QUESTIONS:
        return question
    answers = len(state.answered(question))
    return None if answers & (answers - 1) == 0 and is_strong(setting, state) else question


@lru_cache(maxsize=16)
def next_question(setting: AdaptiveSetting, state: AdaptiveState) -> Question:
    """What is asked next, and how many owners: the first purchase of the plan that should cost the least."""
    price = positives_wanted(setting, state)
    if price:
        return Question(Ask(np.zeros_like(setting.geometry.start), "positives", price), len(setting.records))
    found, among = inferred(setting, state)
    theta = model_of(setting, state)
    strong = is_strong(setting, state)
    budget = _budget(setting, state, among, strong=strong)
    outlook = _outlook(setting, found, theta)
    if not _beyond_labels(state.told):
        return _look(setting, outlook, budget)
    if _moments_would_move(setting, state, strong=strong or setting.known > _STRONG):
        share = _on_menu(setting, _MOVING_SHARE)
        return Question(Ask(np.zeros_like(theta), "second_moments", share), len(setting.records))
    finer, asked = _asked(setting, state, theta, outlook, budget)
    purchase = choose(outlook, budget, asked)
    if purchase.kind == "second_moments":
        return Question(Ask(np.zeros_like(theta), "second_moments", purchase.share), purchase.owners)
    if purchase.share > 0:
        return Question(Ask(theta, "gradient", purchase.share), purchase.owners, strong=strong)
    everything = Question(Ask(theta, "gradient", 0), purchase.owners, strong=strong)
    if finer is not None:
        return _stay(setting, state, everything, finer)
    return replace(everything, kept=budget.kept if budget.left.max() > 2 * _KEPT else 0)


def _moments_would_move(setting: AdaptiveSetting, state: AdaptiveState, *, strong: bool) -> bool:
    """Whether second moments are to be asked for, to move the public rows by (`rules.transported`).

    They are under a strong shift, and under a milder one if noise hardly blurs them; once, and for losses of labels.
    """
    noise = setting.noise
    asked = any(question.ask.kind == "second_moments" for question in state.questions)
    if asked or setting.is_moved or "second_moments" not in noise.kinds or not can_move(setting):
        return False
    share = _on_menu(setting, _MOVING_SHARE)
    stds = [noise.at_share(std, share) for std in noise.second_moments_std]
    blurred = blur(setting.geometry, 1 / float(np.sum(_precision(stds))))
    if strong:
        return blurred < VISIBLE
    found, _ = inferred(setting, state)
    return blurred < _CLEARLY and found.exceeds(_MILD) > _SURE


def _stay(setting: AdaptiveSetting, state: AdaptiveState, question: Question, finer: FloatArray) -> Question:
    """The question, at a place where owners were asked before: for a part of what they have left, after a look only."""
    owners = [(state.level(owner, finer), state.left(owner)) for owner in range(len(setting.records))]
    asked = [(level, level + left - _WAITING) for level, left in owners if level > 0 and left > 0]
    above = max((level for level, _ in asked), default=0)
    waits = all(any(level < share <= most for share in setting.noise.shares) for level, most in asked)
    return replace(question, finer=finer, above=above, kept=_WAITING if waits and above <= _LOOKED else 0)


def _look(setting: AdaptiveSetting, outlook: Outlook, budget: Budget) -> Question:
    """The first question: little of everybody, or half of a few; all at once if noise hides even a strong shift."""
    theta, owners = setting.geometry.start, len(setting.records)
    if _is_hidden(setting):
        return Question(Ask(theta, "gradient", 0), owners)
    if setting.noise.norm is Norm.L1 and owners >= _CROWD and visible(setting, 0.0) > _CLEAR:
        return Question(Ask(theta, "gradient", _on_menu(setting, _SCOUT_SHARE)), math.ceil(_SCOUTED * owners))
    return Question(Ask(theta, "gradient", choose_look(outlook, budget).share), owners)


def _look_of_the_others(setting: AdaptiveSetting, state: AdaptiveState, owner: int) -> Question | None:
    """The look at an owner that was not among the first few, if only they were asked so far and they are not alike."""
    owners = len(setting.records)
    asked = [question for question in state.questions if question.ask.kind != "positives"]
    if len(asked) != 1 or asked[0].owners == owners or any(one.owner == owner for one in _beyond_labels(state.told)):
        return None
    _, among = inferred(setting, state)
    if _are_alike(setting, state, among, strong=is_strong(setting, state)):
        return None
    return Question(Ask(setting.geometry.start, "gradient", _on_menu(setting, _LOOK_SHARE)), owners)


def _beyond_labels(told: Sequence[Told]) -> list[Told]:
    """What was told beside the share of positive labels."""
    return [one for one in told if one.ask.kind != "positives"]


def _on_menu(setting: AdaptiveSetting, share: int) -> int:
    """The largest share of the menu that is not larger; the least if there is none."""
    shares = setting.noise.shares
    return max((each for each in shares if each <= share), default=min(shares))


def _is_hidden(setting: AdaptiveSetting) -> bool:
    """Whether all budgets together could not show a strong shift."""
    geometry = setting.geometry
    noise = 1 / float(np.sum(_precision(setting.noise.noise_std))) / geometry.values
    return float(np.mean(noise)) > _STRONG * float(np.mean(np.diag(geometry.spread)))


def _asked(
    setting: AdaptiveSetting, state: AdaptiveState, theta: FloatArray, outlook: Outlook, budget: Budget
) -> tuple[FloatArray | None, Asked]:
    """The place where owners were asked before at which finer answers tell the most; None if a new place tells more."""
    geometry, owners = setting.geometry, len(setting.records)
    best, where, most = Asked(np.zeros(owners), np.zeros(geometry.parameters)), None, -math.inf
    places = {one.ask.theta.tobytes(): one.ask.theta for one in state.told if one.ask.kind == "gradient"}
    # Answers of one place say nothing of the Hessian: under a strong shift nobody stays there, unless few public rows
    # make a shift look strong.
    few = is_few(geometry.public.records, geometry.parameters)
    may_stay = budget.power > 1 and (few or len(places) > 1 or not is_strong(setting, state))
    for place in places.values() if may_stay else ():
        level = np.asarray([state.level(owner, place) for owner in range(owners)], dtype=np.float64)
        asked = Asked(level, (geometry.place(theta) - geometry.place(place)) ** 2)
        # Of near places that where most was told; who has told nothing there is asked at the model.
        gained = float(level.sum()) if _is_near(setting, asked) else gain_of_finer(outlook, budget, asked)
        if gained > most:
            best, where, most = asked, place, gained
    return (where if most > _WORTH_STAYING else None), best


def _is_near(setting: AdaptiveSetting, asked: Asked) -> bool:
    """Whether the way to the model is short beside the noise: then a Hessian that is a little wrong hardly matters."""
    noise = 1 / float(np.sum(_precision(setting.noise.noise_std))) / setting.geometry.values
    return float(asked.moved.sum()) < _NEAR * float(noise.sum())


def is_strong(setting: AdaptiveSetting, state: AdaptiveState) -> bool:
    """Whether the answers so far surely show a strong shift, or owners that differ as much."""
    if not state.told:
        return False
    found, among = inferred(setting, state)
    return max(found.exceeds(_STRONG), among.exceeds(_STRONG)) > _SURE


def _outlook(setting: AdaptiveSetting, found: Difference, theta: FloatArray) -> Outlook:
    """What is not known yet, at a model."""
    geometry = setting.geometry
    gradient = gradient_left(found, geometry, float(sum(setting.records)), geometry.place(theta))
    openness = np.stack([scale.variance for scale in found.scales])
    shape = (*gradient.shape[:2], *openness.shape[1:])
    return Outlook(
        chances=found.chances.ravel(),
        gradient=gradient.reshape(-1, geometry.parameters),
        openness=np.broadcast_to(openness, shape).reshape(-1, *openness.shape[1:]),
        hessian=np.maximum(np.diag(found.hessian), _FLATTEST),
        values=geometry.values,
        lift=geometry.hessian_noise(1.0),
        spread=np.diag(geometry.spread),
        unevenness=geometry.unevenness,
    )


def _budget(setting: AdaptiveSetting, state: AdaptiveState, among: Among, *, strong: bool) -> Budget:
    """What owners can still tell, after what they have told."""
    left = np.full(len(setting.records), 100.0)
    for told in state.told:
        left[told.owner] -= told.ask.share
    noise, owners = setting.noise, len(setting.records)
    most = max(state.answers(owner) for owner in range(owners))
    bought = any(told.ask.kind == "second_moments" for told in state.told)
    squares = np.zeros(owners)
    probed = strong or sum(question.ask.kind == "gradient" for question in state.questions) >= 2
    if "second_moments" in noise.kinds and probed and not bought:
        squares = _precision(noise.second_moments_std)
    alike = _are_alike(setting, state, among, strong=strong)
    kept = _KEPT if strong and not alike else 0
    return Budget(
        left=left,
        gradient=_precision(noise.noise_std),
        second_moments=squares,
        power=2 if noise.norm is Norm.L1 else 1,
        among=among.expected + 1 / float(np.mean(setting.records)),
        shares=noise.shares,
        fewest=max(_FEWEST, math.ceil(owners / _SCOUTS)),
        purchases=min(MOST_QUESTIONS - len(state.questions), MOST_ANSWERS - most) - (kept > 0),
        alike=alike,
        kept=kept,
    )


def _heard(state: AdaptiveState) -> int:
    """The most owners that answered one question: of fewer than a handful that agree, others may still differ."""
    asked = [told.ask.theta.tobytes() for told in state.told if told.ask.kind == "gradient"]
    return max(map(asked.count, set(asked)), default=0)


def _are_alike(setting: AdaptiveSetting, state: AdaptiveState, among: Among, *, strong: bool) -> bool:
    """Whether noise hides how owners differ: then it does not matter who is asked where."""
    if strong and _heard(state) < _ENOUGH:
        return False
    likely = among.exceeds(_DIFFERENT / float(np.mean(setting.records))) < _PERHAPS
    return len(setting.records) >= _ENOUGH and (likely or visible(setting, among.expected) < _HIDDEN)


def _precision(stds: Sequence[float]) -> FloatArray:
    return np.asarray(1 / (np.asarray(stds) ** 2 + _NO_NOISE))
