"""What a rule promises, one check a promise. The rules of this project are held to the same list."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from copriv.errors import CoprivError
from copriv.losses.optimum import minimise
from copriv.losses.sample import Sample
from copriv.rules.entry import RuleEntry
from copriv.rules.registry import resolve
from copriv.rules.rule import AnyRule, Ask, ChoosingRule, answer_size, learn_from, next_ask
from copriv.testing.bench import RuleBench
from copriv.testing.result import CheckResult, go_through, raise_if_broken, require
from copriv.vectors import FloatArray

# Large enough to be far from any gradient, small enough that its square is a number.
_EXTREMES = (1e9, -1e9, 1e60, -1e60)
# A rule that has learnt has gained at least this share of what there is to gain.
_LEARNT = 0.5
# Per cents of a budget.
_WHOLE = 100


def check_rule(rule: str | RuleEntry) -> None:
    """Raise ContractBroken, which lists every broken promise, unless the rule keeps all of them.

    >>> check_rule("averaged")
    """
    raise_if_broken(f"the rule {resolve(rule).name!r}", examine_rule(rule))


def examine_rule(rule: str | RuleEntry) -> tuple[CheckResult, ...]:
    """What came of every check of a rule, by its name or its entry."""
    entry = resolve(rule)
    return go_through(RULE_CHECKS, lambda: RuleBench.of(entry))


def named(bench: RuleBench) -> None:
    """A rule has its entry's name, asks for what the entry says, and knows how long an answer is."""
    rule, size = bench.build(), answer_size(bench.entry.asks, bench.terms.parameters)
    require(rule.name == bench.entry.name, f"the entry is called {bench.entry.name!r}, and the rule {rule.name!r}")
    if isinstance(rule, ChoosingRule):
        require(bench.entry.chooses, "the rule chooses from a menu, and its entry does not say so")
        return
    require(rule.asks == bench.entry.asks, f"the entry asks for {bench.entry.asks!r}, and the rule for {rule.asks!r}")
    require(rule.answer_size == size, f"answer_size is {rule.answer_size}, and answers have {size} numbers")


def pure(bench: RuleBench) -> None:
    """No call changes a state, an answer or a question that it was given."""
    rule = bench.build()
    for state, owner, ask, answer in bench.walk(rule, bench.order()[:12]):
        before, kept = rule.pack(state), copy.deepcopy(state)
        next_ask(rule, state, owner)
        given, where = np.array(answer), np.array(ask.theta)
        learn_from(rule, state, owner, given, replace(ask, theta=where))
        rule.model(state)
        require(rule.pack(state) == before == rule.pack(kept), "a call changed the state that it was given")
        require(np.array_equal(given, answer), "absorb changed the answer that it was given")
        require(np.array_equal(where, ask.theta), "absorb changed the question that it was given")


def repeatable(bench: RuleBench) -> None:
    """The same answers give the same questions, state and model to the last bit: no clock, no chance, no memory."""
    first, second = bench.build(), bench.build()
    order = bench.order()[:12]
    walks = zip(bench.walk(first, order), bench.walk(second, order), strict=True)
    for (state, owner, ask, answer), (twin, _, other, _) in walks:
        require(_asked(first, state, owner) == _written(ask), "question says something else when asked again")
        require(_written(ask) == _written(other), "two rules built alike ask different questions")
        after, again = (first.pack(_learnt(first, state, owner, ask, answer)) for _ in range(2))
        require(after == again, "absorb gives another state when called again")
        beside = second.pack(_learnt(second, twin, owner, ask, answer))
        require(after == beside, "two rules built alike have different states")
        require(_bits(first.model(state)) == _bits(second.model(twin)), "two rules built alike have different models")


def packed(bench: RuleBench) -> None:
    """A state that was packed and unpacked is the same state to the last bit, and training goes on from it alike."""
    rule, other = bench.build(), bench.build()
    for state, owner, ask, answer in bench.walk(rule, bench.order()[:12]):
        data = rule.pack(state)
        require(isinstance(data, bytes), "pack gives no bytes")
        back = other.unpack(data)
        require(other.pack(back) == data, "packing what was unpacked gives other bytes")
        require(_bits(other.model(back)) == _bits(rule.model(state)), "the model of an unpacked state is another one")
        require(_asked(other, back, owner) == _written(ask), "the question of an unpacked state is another one")
        went_on = other.pack(_learnt(other, back, owner, ask, answer))
        here = rule.pack(_learnt(rule, state, owner, ask, answer))
        require(went_on == here, "training goes on differently when unpacked")


def wrong_bytes(bench: RuleBench) -> None:
    """Bytes that are no state of the rule are refused."""
    rule = bench.build()
    data = rule.pack(bench.end(rule, bench.order()[:3]))
    for wrong in (b"", data[:-1], data + b"\0"):
        try:
            rule.unpack(wrong)
        except (CoprivError, ValueError):
            continue
        require(False, f"unpack takes {len(wrong)} bytes, where a state has {len(data)}")


def questions(bench: RuleBench) -> None:
    """Every owner is asked at a model of the study's length, of finite doubles, within the box."""
    rule = bench.build()
    for state, _, _, _ in bench.walk(rule, bench.order()):
        for owner in range(len(bench.samples)):
            _require_question(bench, rule, state, owner)


def models(bench: RuleBench) -> None:
    """There is a model before the first answer and after every one, of finite doubles, within the box."""
    rule = bench.build()
    for state, _, _, _ in bench.walk(rule, bench.order()):
        _require_model(bench, rule.model(state), "the model")


def menu(bench: RuleBench) -> None:
    """A rule that chooses keeps to the menu, and the shares that it asks of an owner add up to at most 100.

    It makes an answer finer only if it has that answer: the same owner's, at the same model and the level it says.
    """
    rule, everybody = bench.build(), tuple(range(len(bench.samples)))
    for order in (bench.order(), everybody[:1] * 7, everybody[::-1] * 5):
        asked: Counter[int] = Counter()
        told: dict[tuple[int, str, bytes], int] = {}
        for _, owner, ask, _ in bench.walk(rule, order):
            listed = not bench.terms.shares or (ask.kind in bench.terms.kinds and ask.level in bench.terms.shares)
            require(listed, f"a question of kind {ask.kind!r} at a share of {ask.level} is not on the menu")
            question = (owner, ask.kind, _bits(ask.theta))
            has = ask.before == 0 or (ask.kind == "gradient" and ask.share > 0 and told.get(question) == ask.before)
            require(has, f"a question builds on an answer at {ask.before} % that was not given")
            told[question] = ask.level
            asked[owner] += ask.share
        most = max(asked.values(), default=0)
        require(most <= _WHOLE, f"the shares asked of an owner add up to {most} per cent")


def late_answers(bench: RuleBench) -> None:
    """An answer with the place where it was asked counts as without; one from another place is taken, too."""
    rule = bench.build()
    elsewhere = np.full(bench.terms.parameters, bench.terms.limit / 2)
    for state, owner, ask, answer in bench.walk(rule, bench.order()[:6]):
        if not isinstance(rule, ChoosingRule):
            plain, here = rule.absorb(state, owner, answer), rule.absorb(state, owner, answer, np.array(ask.theta))
            require(rule.pack(here) == rule.pack(plain), "saying where was asked changes the state")
        alone = replace(ask, theta=elsewhere, share=ask.level, before=0)  # nothing was answered there before
        moved = ask if ask.kind in ("second_moments", "positives") else alone
        late = learn_from(rule, state, owner, bench.answer(owner, moved), moved)
        _require_model(bench, rule.model(late), "the model after a late answer")


def any_order(bench: RuleBench) -> None:
    """Owners come in any order: one alone, one never, one again and again, and more often than was planned."""
    everybody = tuple(range(len(bench.samples)))
    for order in (everybody[::-1], everybody[:1] * 7, everybody[1:] * 3, bench.order() + everybody * 2):
        rule = bench.build()
        state = bench.end(rule, order)
        _require_model(bench, rule.model(state), "the model")
        for owner in everybody:
            _require_question(bench, rule, state, owner)


def small_studies(bench: RuleBench) -> None:
    """A study of one owner, or of two numbers, is one as well."""
    for small in (RuleBench.of(bench.entry, sizes=(300,)), RuleBench.of(bench.entry, parameters=2)):
        rule = small.build()
        _require_model(small, rule.model(small.end(rule, small.order())), "the model")


def extreme_answers(bench: RuleBench) -> None:
    """An answer far beyond any gradient leaves questions and model finite and within the box."""
    rule, owners = bench.build(), range(len(bench.samples))
    for extreme in _EXTREMES:
        state, after = rule.begin(), f"after an answer of {extreme:g}"
        for owner in (*owners, *owners):
            ask = next_ask(rule, state, owner)
            if ask is not None:
                answer = np.full(answer_size(ask.kind, bench.terms.parameters, bench.terms.fill), extreme)
                answer[::2] *= -1
                state = learn_from(rule, state, owner, answer, ask)
            _require_model(bench, rule.model(state), f"the model {after}")
            for met in owners:
                _require_question(bench, rule, state, met, after)


def learns(bench: RuleBench) -> None:
    """Without noise, a study gains at least half of what there is to gain over the model 0, and by its answers."""
    rule = bench.build()
    start = bench.fitness(np.array(rule.model(rule.begin())))
    nothing, best = (
        bench.fitness(theta)
        for theta in (np.zeros(bench.terms.parameters), minimise(bench.terms.objective(), Sample.join(bench.samples)))
    )
    reached = bench.fitness(np.array(rule.model(bench.end(rule, bench.order()))))
    gained = (nothing - reached) / (nothing - best)
    require(gained >= _LEARNT, f"a study without noise gains {gained:.0%} of what there is to gain")
    require(reached < start, "the model after all answers is no better than the one before")


RULE_CHECKS: Mapping[str, Callable[[RuleBench], None]] = {
    check.__name__.replace("_", " "): check
    for check in (
        named,
        pure,
        repeatable,
        packed,
        wrong_bytes,
        questions,
        models,
        menu,
        late_answers,
        any_order,
        small_studies,
        extreme_answers,
        learns,
    )
}


def _require_question(bench: RuleBench, rule: AnyRule[Any], state: Any, owner: int, after: str = "") -> None:  # noqa: ANN401
    ask = next_ask(rule, state, owner)
    if ask is not None:
        _require_model(bench, ask.theta, f"a question {after}".rstrip())


def _require_model(bench: RuleBench, theta: Any, what: str) -> None:  # noqa: ANN401
    parameters, limit = bench.terms.parameters, bench.terms.limit
    require(isinstance(theta, np.ndarray) and theta.dtype == np.float64, f"{what} is no array of doubles")
    require(theta.shape == (parameters,), f"{what} has the shape {theta.shape}, and the study {parameters} numbers")
    require(np.all(np.isfinite(theta)), f"{what} has numbers that are not finite")
    require(np.all(np.abs(theta) <= limit), f"{what} leaves the box: {np.max(np.abs(theta)):g} beyond {limit:g}")


def _asked(rule: AnyRule[Any], state: Any, owner: int) -> tuple[object, ...]:  # noqa: ANN401
    ask = next_ask(rule, state, owner)
    return () if ask is None else _written(ask)


def _written(ask: Ask) -> tuple[object, ...]:
    return _bits(ask.theta), ask.kind, ask.share, ask.before


def _learnt(rule: AnyRule[Any], state: Any, owner: int, ask: Ask, answer: FloatArray) -> Any:  # noqa: ANN401
    """As when the answer comes at once: a rule that does not choose is not told where it was asked."""
    if isinstance(rule, ChoosingRule):
        return rule.learn(state, owner, answer, ask)
    return rule.absorb(state, owner, answer)


def _bits(theta: FloatArray) -> bytes:
    return np.asarray(theta).tobytes()
