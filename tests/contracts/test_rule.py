"""One suite for every rule: those of this project, and one of another package. And the suite catches what is broken."""

import dataclasses
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from tests.choosing_rule import ENTRY as CHOOSING
from tests.choosing_rule import REFINING, REST, ChoosingRule, RefiningRule

from copriv.rules import registry
from copriv.rules.averaged import AveragedRule
from copriv.rules.entry import RuleEntry
from copriv.rules.rule import Ask
from copriv.testing import ContractBroken, check_rule, examine_rule
from copriv.testing.rule_checks import RULE_CHECKS

OUTSIDE = Path(__file__).resolve().parents[1] / "outside"


@pytest.fixture(autouse=True)
def _nothing_stays(monkeypatch):
    monkeypatch.setattr(registry, "_PASSED", {})


@pytest.mark.parametrize("entry", registry.built_in(), ids=lambda entry: entry.name)
def test_every_rule_of_this_project_keeps_the_contract(entry):
    check_rule(entry)


def test_a_rule_of_another_package_keeps_it(monkeypatch):
    monkeypatch.syspath_prepend(str(OUTSIDE))
    check_rule("fading")


@dataclass(frozen=True)
class Plain:
    """A rule that is right, for twins to break."""

    parameters: int
    records: tuple[int, ...]
    limit: float
    name = "plain"
    asks = "gradient"

    @property
    def answer_size(self):
        return self.parameters

    def begin(self):
        return np.zeros(self.parameters)

    def question(self, state, owner):
        return state.copy()

    def absorb(self, state, owner, answer, asked=None):
        weight = len(self.records) * self.records[owner] / sum(self.records)
        return np.clip(state - 0.3 * weight * answer, -self.limit, self.limit)

    def model(self, state):
        return state.copy()

    def pack(self, state):
        return state.tobytes()

    def unpack(self, data):
        return np.frombuffer(data).reshape(self.parameters)


class Changing(Plain):
    def absorb(self, state, owner, answer, asked=None):
        state = state if state.flags.writeable else state.copy()
        state[:] = super().absorb(state, owner, answer)
        return state


class ChangingTheAnswer(Plain):
    def absorb(self, state, owner, answer, asked=None):
        answer *= 0.5
        return super().absorb(state, owner, answer)


class LosingBits(Plain):
    def pack(self, state):
        return state.astype(np.float32).tobytes()

    def unpack(self, data):
        return np.frombuffer(data, dtype=np.float32).reshape(self.parameters).astype(np.float64)


class Gambling(Plain):
    def question(self, state, owner):
        return np.clip(state + np.random.default_rng().normal(0, 1e-3, state.size), -self.limit, self.limit)


class Watching(Plain):
    def absorb(self, state, owner, answer, asked=None):
        return super().absorb(state, owner, answer) + (time.perf_counter_ns() % 1000) * 1e-9


class Boxless(Plain):
    def absorb(self, state, owner, answer, asked=None):
        return state - 0.3 * answer


class AskingOutside(Plain):
    def question(self, state, owner):
        return 3 * state


class Forgetting(Plain):
    def absorb(self, state, owner, answer, asked=None):
        return state.copy()


class Ascending(Plain):
    def absorb(self, state, owner, answer, asked=None):
        return super().absorb(state, owner, -answer)


class Remembering(Plain):
    def absorb(self, state, owner, answer, asked=None):
        count = self.__dict__.setdefault("count", [0])
        count[0] += 1
        return super().absorb(state, owner, answer / count[0])


class TakingAnything(Plain):
    def unpack(self, data):
        return np.resize(np.frombuffer(data[: len(data) // 8 * 8]), self.parameters)


class Overflowing(Plain):
    def absorb(self, state, owner, answer, asked=None):
        return super().absorb(state, owner, answer * (1 / (1 + 0 * answer**8)))


class Short(Plain):
    def model(self, state):
        return state[:-1]


class Half(Plain):
    def question(self, state, owner):
        return state.astype(np.float32)


class Misled(Plain):
    def absorb(self, state, owner, answer, asked=None):
        return super().absorb(state, owner, answer if asked is None else 0.9 * answer)


class Misnamed(Plain):
    name = "someone-else"


class Mistaken(Plain):
    @property
    def answer_size(self):
        return self.parameters + 1


class ForThree(Plain):
    def absorb(self, state, owner, answer, asked=None):
        return super().absorb(state, owner, answer * self.records[2] / self.records[2])


class InTurn(Plain):
    """Takes it for granted that owners come in turn, and begins with the first."""

    def begin(self):
        return np.zeros(1 + self.parameters)

    def question(self, state, owner):
        return state[1:].copy()

    def model(self, state):
        return state[1:].copy()

    def absorb(self, state, owner, answer, asked=None):
        place = int(state[0])
        return np.append(place + 1, super().absorb(state[1:], (0, 1, 2, *range(3, 99))[place], answer))

    def unpack(self, data):
        return np.frombuffer(data).reshape(1 + self.parameters)


TWINS = {
    "pure": (Changing, ChangingTheAnswer),
    "packed": (LosingBits, Remembering),
    "repeatable": (Gambling, Watching, Remembering),
    "questions": (Half,),
    "extreme answers": (Boxless, AskingOutside, Overflowing),
    "learns": (Forgetting, Ascending),
    "wrong bytes": (TakingAnything,),
    "models": (Short,),
    "late answers": (Misled,),
    "named": (Misnamed, Mistaken),
    "small studies": (ForThree,),
    "any order": (InTurn,),
}


class OffTheMenu(ChoosingRule):
    def ask(self, state, owner):
        ask = super().ask(state, owner)
        return ask if ask is None or ask.kind == "gradient" else dataclasses.replace(ask, share=16)


class Greedy(ChoosingRule):
    def ask(self, state, owner):
        return dataclasses.replace(super().ask(state, owner) or Ask(self.model(state)), share=REST, kind="gradient")


class Unfounded(RefiningRule):
    def ask(self, state, owner):
        ask = super().ask(state, owner)
        return ask if ask is None or not ask.before else dataclasses.replace(ask, theta=np.full(self.parameters, 0.5))


@pytest.mark.parametrize("entry", [CHOOSING, REFINING], ids=lambda entry: entry.name)
def test_a_rule_that_chooses_keeps_the_contract(entry):
    check_rule(entry)


@pytest.mark.parametrize(("twin", "entry"), [(OffTheMenu, CHOOSING), (Greedy, CHOOSING), (Unfounded, REFINING)])
def test_a_rule_that_leaves_its_menu_is_caught(twin, entry):
    def build(terms, owners, noise, public):
        return twin(terms.parameters, owners.records, noise.norm, terms.regularization, terms.limit)

    results = {result.name: result for result in examine_rule(dataclasses.replace(entry, build=build))}
    assert not results["menu"].passed


def entry_of(kind):
    def build(terms, owners, noise, public):
        return kind(terms.parameters, owners.records, terms.limit)

    return RuleEntry("plain", build, any_noise=True, answers=20)


def test_the_rule_that_twins_break_keeps_the_contract():
    check_rule(entry_of(Plain))


@pytest.mark.parametrize(
    ("check", "twin"),
    [(check, twin) for check, twins in TWINS.items() for twin in twins],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_every_check_catches_a_broken_twin(check, twin):
    results = {result.name: result for result in examine_rule(entry_of(twin))}
    assert not results[check].passed
    assert results[check].problem
    with pytest.raises(ContractBroken, match=check):
        check_rule(entry_of(twin))


def test_every_check_has_a_twin():
    assert {*TWINS, "menu"} == set(RULE_CHECKS)


def test_a_rule_of_this_project_that_ignores_its_box_is_caught():
    def build(terms, owners, noise, public):
        rule = registry.resolve("averaged").make(terms, owners, noise)
        assert isinstance(rule, AveragedRule)
        return dataclasses.replace(rule, limit=1e300)

    entry = dataclasses.replace(registry.resolve("averaged"), name="boxless", build=build)
    failed = {result.name for result in examine_rule(entry) if not result.passed}
    assert "extreme answers" in failed
