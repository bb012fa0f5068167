"""What a rule promises, one check a promise. The rules of this project are held to the same list."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from copriv.errors import CoprivError
from copriv.losses.moments import moment_count
from copriv.losses.optimum import minimise
from copriv.losses.sample import Sample
from copriv.rules.entry import RuleEntry
from copriv.rules.registry import resolve
from copriv.testing.bench import RuleBench
from copriv.testing.result import CheckResult, go_through, raise_if_broken, require
from copriv.vectors import FloatArray

# Large enough to be far from any gradient, small enough that its square is a number.
_EXTREMES = (1e9, -1e9, 1e60, -1e60)
# A rule that has learnt has gained at least this share of what there is to gain.
_LEARNT = 0.5


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
    rule, parameters = bench.build(), bench.terms.parameters
    size = moment_count(parameters) if bench.entry.asks == "moments" else parameters
    require(rule.name == bench.entry.name, f"the entry is called {bench.entry.name!r}, and the rule {rule.name!r}")
    require(rule.asks == bench.entry.asks, f"the entry asks for {bench.entry.asks!r}, and the rule for {rule.asks!r}")
    require(rule.answer_size == size, f"answer_size is {rule.answer_size}, and answers have {size} numbers")


def pure(bench: RuleBench) -> None:
    """No call changes a state, an answer or a question that it was given."""
    rule = bench.build()
    for state, owner, answer in bench.walk(rule, bench.order()[:12]):
        before, kept = rule.pack(state), copy.deepcopy(state)
        asked, given = np.array(rule.question(state, owner)), np.array(answer)
        where = np.array(asked)
        rule.absorb(state, owner, given, where)
        rule.model(state)
        require(rule.pack(state) == before == rule.pack(kept), "a call changed the state that it was given")
        require(np.array_equal(given, answer), "absorb changed the answer that it was given")
        require(np.array_equal(where, asked), "absorb changed the question that it was given")


def repeatable(bench: RuleBench) -> None:
    """The same answers give the same questions, state and model to the last bit: no clock, no chance, no memory."""
    first, second = bench.build(), bench.build()
    order = bench.order()[:12]
    for (state, owner, answer), (twin, _, _) in zip(bench.walk(first, order), bench.walk(second, order), strict=True):
        question = _bits(first.question(state, owner))
        require(question == _bits(first.question(state, owner)), "question says something else when asked again")
        require(question == _bits(second.question(twin, owner)), "two rules built alike ask different questions")
        after, again = (first.pack(first.absorb(state, owner, answer)) for _ in range(2))
        require(after == again, "absorb gives another state when called again")
        require(after == second.pack(second.absorb(twin, owner, answer)), "two rules built alike have different states")
        require(_bits(first.model(state)) == _bits(second.model(twin)), "two rules built alike have different models")


def packed(bench: RuleBench) -> None:
    """A state that was packed and unpacked is the same state to the last bit, and training goes on from it alike."""
    rule, other = bench.build(), bench.build()
    for state, owner, answer in bench.walk(rule, bench.order()[:12]):
        data = rule.pack(state)
        require(isinstance(data, bytes), "pack gives no bytes")
        back = other.unpack(data)
        require(other.pack(back) == data, "packing what was unpacked gives other bytes")
        require(_bits(other.model(back)) == _bits(rule.model(state)), "the model of an unpacked state is another one")
        require(
            _bits(other.question(back, owner)) == _bits(rule.question(state, owner)),
            "the question of an unpacked state is another one",
        )
        went_on = other.pack(other.absorb(back, owner, answer))
        require(went_on == rule.pack(rule.absorb(state, owner, answer)), "training goes on differently when unpacked")


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
    for state, _, _ in bench.walk(rule, bench.order()):
        for owner in range(len(bench.samples)):
            _require_model(bench, rule.question(state, owner), "a question")


def models(bench: RuleBench) -> None:
    """There is a model before the first answer and after every one, of finite doubles, within the box."""
    rule = bench.build()
    for state, _, _ in bench.walk(rule, bench.order()):
        _require_model(bench, rule.model(state), "the model")


def late_answers(bench: RuleBench) -> None:
    """An answer with the place where it was asked counts as without; one from another place is taken, too."""
    rule = bench.build()
    elsewhere = np.full(bench.terms.parameters, bench.terms.limit / 2)
    for state, owner, answer in bench.walk(rule, bench.order()[:6]):
        here = np.array(rule.question(state, owner))
        plain = rule.pack(rule.absorb(state, owner, answer))
        require(rule.pack(rule.absorb(state, owner, answer, here)) == plain, "saying where was asked changes the state")
        late = rule.absorb(state, owner, bench.answer(owner, elsewhere), elsewhere)
        _require_model(bench, rule.model(late), "the model after a late answer")


def any_order(bench: RuleBench) -> None:
    """Owners come in any order: one alone, one never, one again and again, and more often than was planned."""
    everybody = tuple(range(len(bench.samples)))
    for order in (everybody[::-1], everybody[:1] * 7, everybody[1:] * 3, bench.order() + everybody * 2):
        rule = bench.build()
        state = bench.end(rule, order)
        _require_model(bench, rule.model(state), "the model")
        for owner in everybody:
            _require_model(bench, rule.question(state, owner), "a question")


def small_studies(bench: RuleBench) -> None:
    """A study of one owner, or of two numbers, is one as well."""
    for small in (RuleBench.of(bench.entry, sizes=(300,)), RuleBench.of(bench.entry, parameters=2)):
        rule = small.build()
        _require_model(small, rule.model(small.end(rule, small.order())), "the model")


def extreme_answers(bench: RuleBench) -> None:
    """An answer far beyond any gradient leaves questions and model finite and within the box."""
    rule, owners = bench.build(), range(len(bench.samples))
    for extreme in _EXTREMES:
        answer = np.full(rule.answer_size, extreme)
        answer[::2] *= -1
        state = rule.begin()
        for owner in (*owners, *owners):
            state = rule.absorb(state, owner, answer)
            _require_model(bench, rule.model(state), f"the model after an answer of {extreme:g}")
            for met in owners:
                _require_model(bench, rule.question(state, met), f"a question after an answer of {extreme:g}")


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
        late_answers,
        any_order,
        small_studies,
        extreme_answers,
        learns,
    )
}


def _require_model(bench: RuleBench, theta: Any, what: str) -> None:  # noqa: ANN401
    parameters, limit = bench.terms.parameters, bench.terms.limit
    require(isinstance(theta, np.ndarray) and theta.dtype == np.float64, f"{what} is no array of doubles")
    require(theta.shape == (parameters,), f"{what} has the shape {theta.shape}, and the study {parameters} numbers")
    require(np.all(np.isfinite(theta)), f"{what} has numbers that are not finite")
    require(np.all(np.abs(theta) <= limit), f"{what} leaves the box: {np.max(np.abs(theta)):g} beyond {limit:g}")


def _bits(theta: FloatArray) -> bytes:
    return np.asarray(theta).tobytes()
