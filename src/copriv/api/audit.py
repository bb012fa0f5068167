"""`copriv.audit`: attack owners as they are, and see whether their noise keeps what they promise."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

import msgspec

from copriv.api.audited_owner import audited_house
from copriv.api.settings import require_known
from copriv.audit.axes import skewed_axes
from copriv.audit.claim import Asks, Claim
from copriv.audit.examination import DRAWS, OWNERS, Effort, examine, examine_filled, examine_turned
from copriv.audit.menu import audit_menu, build_menu_subject
from copriv.audit.result import AuditResult
from copriv.audit.transcript import LEVEL
from copriv.audit.whole_reply import Case, audit_whole_reply, corpus, corpus_of_people
from copriv.entropy import seeded
from copriv.errors import BadInput
from copriv.privacy.guarantee import UNITS, Guarantee
from copriv.runtime.events import Tell, counting, silent

if TYPE_CHECKING:
    import polars as pl

AsksName = Literal["gradient", "moments", "menu", "both", "all"]

_KINDS: dict[str, tuple[Asks, ...]] = {
    "gradient": ("gradient",),
    "moments": ("moments",),
    "menu": (),
    "both": ("gradient", "moments"),
    "all": ("gradient", "moments"),
}
_WITH_MENU = ("menu", "all")
# An owner with a menu gives a few answers: so many owners tell as much as that many answers. Filled ones are longer.
_ANSWERS_PER_OWNER, _LONG_ANSWERS_PER_OWNER = 4, 8
_FEWEST_WITH_MENU = 20
# Fills, in clips: one that takes all the room of a row of length 1 along an axis, and one that some rows have room for.
# Rows are shorter along the audited axes, down to some hundredth.
_WHOLE_ROOM, _SOME_ROOM, _ROOM_OF_SHORT_ROWS = 1.0, 0.1, 1e4
_WORDS = {"gradient": "gradients", "moments": "moments"}


class AuditSettings(TypedDict, total=False):
    """What can be set, by name; see `audit`."""

    delta: float
    asks: AsksName
    records: int
    parameters: int
    clip: float
    answers: int
    draws: int
    level: float
    replies: int | None
    seed: int
    unit: Literal["record", "person"]
    rows: int
    tell: Tell


_DEFAULTS = AuditSettings(
    delta=0.0,
    asks="all",
    records=100,
    parameters=10,
    clip=1.0,
    answers=OWNERS,
    draws=DRAWS,
    level=LEVEL,
    replies=None,
    seed=0,
    unit="record",
    rows=5,
    tell=silent,
)


@dataclass(frozen=True, slots=True)
class Audit:
    """All tests of one claim.

    >>> Audit(True, Guarantee.of(1), "laplace", (), (), 0.0).to_dict()["claimed"]
    {'epsilon': 1.0, 'delta': 0.0, 'unit': 'record', 'adjacency': 'replace-one'}

    Args:
        passed: whether the claim stands.
        guarantee: what is claimed.
        mechanism: laplace or gaussian.
        tests: what each test certified; a certified ε is a lower bound of the true one, at the same δ.
        claims: what was attacked: over how many answers, with how many records.
        seconds: how long it took.
        unit: what is swapped: a record, or a person with all of its rows.
    """

    passed: bool
    guarantee: Guarantee
    mechanism: str
    tests: tuple[AuditResult, ...]
    claims: tuple[Claim, ...]
    seconds: float
    unit: str = "record"

    def to_polars(self) -> pl.DataFrame:
        """A row for each test."""
        import polars as pl

        return pl.DataFrame([msgspec.structs.asdict(test) for test in self.tests])

    def to_dict(self) -> dict[str, object]:
        """What `copriv audit --json` prints."""
        return {
            "passed": self.passed,
            "claimed": self.guarantee.describe(self.unit),
            "mechanism": self.mechanism,
            "tests": [msgspec.structs.asdict(test) for test in self.tests],
            "seconds": self.seconds,
        }

    def _repr_html_(self) -> str:
        claimed = self.guarantee.describe(self.unit)
        rows = "".join(
            f"<tr><td>{escape(test.name)}</td><td>{test.certified:.4g}</td><td>{test.claimed:.4g}</td>"
            f"<td>{'passed' if test.passed else 'FAILED'}</td><td>{escape(test.words)}</td></tr>"
            for test in self.tests
        )
        heads = "".join(f"<th>{words}</th>" for words in ("test", "certified ε", "claimed ε", "verdict", "seen"))
        outcome = "The claim stands" if self.passed else "The claim is refuted"
        about = f"ε = {claimed['epsilon']:g}, δ = {claimed['delta']:g} per {claimed['unit']} ({claimed['adjacency']})"
        return f"<p>{outcome}: {escape(about)}.</p><table><tr>{heads}</tr>{rows}</table>"


def audit(epsilon: float | str = 1.0, **settings: Unpack[AuditSettings]) -> Audit:
    """Attack owners with synthetic records, and certify how much their answers give away at least.

    No record is read and no budget is touched. With its defaults it takes about a minute.

    >>> import copriv as cp
    >>> told = cp.audit(1.0, asks="gradient", records=50, parameters=3, answers=20, draws=200, level=1e-9, replies=1)
    >>> told.passed, told.mechanism, told.tests[0].name, told.tests[0].claimed
    (True, 'laplace', 'neighbours', 1.0)

    Args:
        epsilon: what the owner claims about any one record (replace-one).
        settings: delta (0 for Laplace noise, above for Gaussian), asks ("gradient", "moments", "both", "menu" for
            answers of unequal price and kind, among them gradients filled with second moments and gradients along other
            axes, or "all"), records, parameters and clip of the owner, answers (of the transcript), draws (answers of
            the canaries; more certify more), level (how often a correct owner may fail the transcript test), replies
            (how many studies and file formats to compare whole replies under; None for all), seed (of everything but
            the noise), unit ("person" swaps whole people, whose rows are clipped as one), rows (of the person that is
            swapped), tell (is told how far it is).

    Raises:
        BadInput: if a setting is unknown or out of range.
    """
    started = time.perf_counter()
    require_known(settings, AuditSettings, "audit")
    order: AuditSettings = _DEFAULTS | settings
    guarantee = Guarantee.of(epsilon, order["delta"])
    claims = tuple(_claim(order, guarantee, asks) for asks in _kinds(order["asks"]))
    effort = Effort(order["draws"], order["level"], owners=order["answers"])
    cases = _cases(order["replies"], order["unit"])
    tests = [test for claim in claims for test in _attack(claim, effort, order)]
    if order["asks"] in _WITH_MENU:
        with_menu = _claim(order, guarantee, "gradient")
        owners = order["answers"] // _ANSWERS_PER_OWNER
        tests += _attack_menu(with_menu, owners, order, "asking for choices from a menu")
        tests += [] if with_menu.rows else _attack_filled(with_menu, effort, order)
        tests += [] if with_menu.rows else _attack_turned(with_menu, effort, order)
    compared = audit_whole_reply(audited_house(), cases, counting(order["tell"], "comparing whole replies"))
    tests.append(msgspec.structs.replace(compared, claimed=guarantee.epsilon))
    return Audit(
        passed=all(test.passed for test in tests),
        guarantee=guarantee,
        mechanism="laplace" if guarantee.pure else "gaussian",
        tests=tuple(tests),
        claims=claims,
        seconds=round(time.perf_counter() - started, 3),
        unit=order["unit"],
    )


def _kinds(asks: str) -> tuple[Asks, ...]:
    if asks not in _KINDS:
        raise BadInput(f"owners are not asked for {asks}", remedy=f"choose from {', '.join(_KINDS)}", value=asks)
    return _KINDS[asks]


def _claim(order: AuditSettings, guarantee: Guarantee, asks: Asks) -> Claim:
    """Over many gradients, or over moments that are told once."""
    answers = order["answers"] if asks == "gradient" else 1
    if order["unit"] not in UNITS or order["rows"] < 1:
        raise BadInput(
            f"the unit is a {order['unit']} of {order['rows']} rows",
            remedy="give record, or person with at least 1 row",
            value=order["unit"],
        )
    rows = order["rows"] if order["unit"] == "person" else 0
    return Claim(guarantee, answers, order["clip"], order["records"], order["parameters"], asks, rows=rows)


def _cases(replies: int | None, unit: str) -> tuple[Case, ...]:
    """All studies and formats of the unit, or the last so many."""
    if replies is not None and replies < 1:
        raise BadInput(f"whole replies under {replies} studies", remedy="give at least 1", value=replies)
    cases = tuple(corpus_of_people() if unit == "person" else corpus())
    return cases if replies is None else cases[-replies:]


def _attack(claim: Claim, effort: Effort, order: AuditSettings) -> list[AuditResult]:
    """What all tests of one claim say; those of moments say so."""
    count = counting(order["tell"], f"asking for {_WORDS[claim.asks]}")
    tests = examine(claim, effort, seeded(order["seed"], "audit"), tell=count)
    if claim.asks == "gradient":
        return tests
    return [msgspec.structs.replace(test, name=f"{claim.asks}: {test.name}") for test in tests]


def _attack_filled(claim: Claim, effort: Effort, order: AuditSettings) -> list[AuditResult]:
    """Owners that tell second moments in the room of their gradients: alone, and among all that is on a menu."""
    alone = replace(claim, answers=1, share=100, fill=_WHOLE_ROOM * claim.clip)
    count = counting(order["tell"], "asking for filled gradients")
    tests = examine_filled(alone, effort, seeded(order["seed"], "audit of filled gradients"), tell=count)
    among_others = replace(claim, fill=_SOME_ROOM * claim.clip)
    owners = order["answers"] // _LONG_ANSWERS_PER_OWNER
    tests += _attack_menu(among_others, owners, order, "asking for filled gradients from a menu")
    return _named("filled", tests)


def _attack_turned(claim: Claim, effort: Effort, order: AuditSettings) -> list[AuditResult]:
    """Owners that tell gradients along other axes, each with and without what fills them."""
    chance = seeded(order["seed"], "audit of turned gradients")
    turned = replace(claim, axes=skewed_axes(claim.parameters, chance))
    owners = order["answers"] // _LONG_ANSWERS_PER_OWNER
    found: list[AuditResult] = []
    for name, whole, some in (("turned", 0.0, 0.0), ("turned and filled", _ROOM_OF_SHORT_ROWS, _SOME_ROOM)):
        words = f"asking for gradients that are {name}"
        alone = replace(turned, answers=1, share=100, fill=whole * claim.clip)
        tests = examine_turned(alone, effort, chance, tell=counting(order["tell"], words))
        tests += _attack_menu(replace(turned, fill=some * claim.clip), owners, order, f"{words}, from a menu")
        found += _named(name, tests)
    return found


def _named(name: str, tests: list[AuditResult]) -> list[AuditResult]:
    return [msgspec.structs.replace(test, name=f"{name}: {test.name.removeprefix('menu: ')}") for test in tests]


def _attack_menu(claim: Claim, asked: int, order: AuditSettings, words: str) -> list[AuditResult]:
    """Owners whose answers cost unequal shares and are of several kinds."""
    owners, done = max(_FEWEST_WITH_MENU, asked), 0
    count = counting(order["tell"], words)

    def advance(met: int) -> None:
        nonlocal done
        done += met
        count(done, max(owners, done))

    chance = seeded(order["seed"], "audit of a menu")
    return audit_menu(build_menu_subject(claim), order["level"], chance, advance, owners)
