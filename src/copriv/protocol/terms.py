"""The terms of a study: what is trained, within which bounds, by which rule. Hashed, and fixed for the study.

Every number has a range, in which no record can overflow, underflow past the clip or be told from others by an error
(docs/theory/sensitivity.md). Terms outside of it are refused by whoever reads them, before anybody approves.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from copriv.errors import BadInput
from copriv.losses.choose import choose, is_known, loss_names
from copriv.losses.objective import Objective
from copriv.losses.validation import Grid, grid_of, shape_for
from copriv.privacy.guarantee import UNITS
from copriv.protocol.beside_training import VALIDATION, require_evaluation, require_validation
from copriv.protocol.menu import require_menu
from copriv.protocol.public_rows import PublicRows
from copriv.protocol.text import is_plain, plain
from copriv.protocol.unit import PersonUnit
from copriv.vectors import Axes

Meeting = Literal["broadcast", "request"]
Clock = Literal["always", "poisson"]
Asked = Literal["gradient", "moments"]
Mechanisms = Literal["any", "asked"]

# Of terms and study files; terms of another format have another digest, and are not answered.
FORMAT = 2
LONGEST_NAME = 200
# What a rule or a loss may be called.
RULE_NAME = r"^[a-z][a-z0-9_-]{0,39}\Z"

RANGES: Mapping[str, tuple[float, float]] = {
    "threshold": (0, 1e6),
    "parameters": (1, 100_000),
    "regularization": (1e-30, 1e6),
    "limit": (1e-6, 1e6),
    "clip": (1e-9, 1e9),
    "row_norm": (1e-3, 1e3),
    "target_bound": (1e-6, 1e6),
    "horizon": (1, 10**9),
    "step": (0, 1e12),
    "answers": (0, 10**9),
    "epsilon": (0, 1e6),
    "delta": (0, 1 - 1e-9),
    "evaluations": (0, 10**6),
    "evaluation_share": (0, 1 - 1e-9),
    "loss_bound": (0, 1e12),
    "held_back": (0, 0.9),
    "validations": (0, 10**6),
    "validation_share": (0, 1 - 1e-9),
    "records": (0, 10**12),
    "public_rows": (0, 10**12),
    "rows_cap": (0, 10**6),
    "fill": (0, 1e12),
}
# Of the Huber loss: its gradients are no longer than twice this.
_SMALLEST_THRESHOLD = 1e-6
_WORDS = {
    "central": ("proof", "printed"),
    "meeting": ("broadcast", "request"),
    "clock": ("always", "poisson"),
    "asks": ("", "gradient", "moments"),
    "mechanisms": ("", "any", "asked"),
    "unit": tuple(UNITS),
    "weigh": ("", "person", "row"),
}


class _Meant(NamedTuple):
    """What terms mean that do not say it: what is asked for, and whose choice the kind of noise is."""

    asks: Asked
    mechanisms: Mechanisms


# Terms once had no words for this: the rule's name stood for it. They are still read, with the digest that they had.
_MEANT: Mapping[str, _Meant] = {
    "paper": _Meant("gradient", "any"),
    "averaged": _Meant("gradient", "any"),
    "newton": _Meant("gradient", "asked"),
    "statistics": _Meant("moments", "asked"),
}
_MEANT_ELSE = _Meant("gradient", "asked")
# What terms of earlier versions did not have, left out where it is empty: they keep their digest.
_OF_MENUS, _OF_PEOPLE = ("shares", "kinds", "fill", "axes"), ("person", "rows_cap", "weigh")
_UNSAID = frozenset((*_Meant._fields, "summary", *_OF_MENUS, *_OF_PEOPLE, *VALIDATION))


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What learner and owners agree on; no owner's budget and no owner's records are part of it.

    Args:
        name: what people call the study; two studies with the same terms are told apart by it.
        loss: name of the loss.
        threshold: its parameter, 0 if it has none.
        parameters: length of a model.
        regularization: λ of g(θ) = λ‖θ‖².
        limit: θ_max of the box.
        clip: the most that one record's gradient may count, in the norm of each owner's mechanism.
        row_norm: bound on ‖x‖₂ that the dictionary keeps.
        target_bound: bound on |y| that the dictionary keeps.
        rule: name of the learner's rule: a plain word. Whether it can be built is the learner's matter.
        horizon: T, the number of meetings.
        step: the rule's step.
        central: which central step Algorithm 1 takes.
        dictionary: SHA-256 of the dictionary.
        answers: K, the most answers of an owner; 0 if each owner chooses its own.
        epsilon: ε asked of every owner; 0 if each owner chooses its own. It is the owner who promises, not the terms.
        delta: δ asked of every owner.
        meeting: who speaks first: the learner (broadcast) or the owner (request).
        clock: whether owners are always on or tick with a Poisson rate of their own.
        evaluations: how often an owner may be asked for its average loss.
        evaluation_share: the part of every owner's budget that is set aside for that.
        loss_bound: the most that one record's loss may count in an evaluation.
        held_back: the share of every owner's records that is kept from training, to validate on.
        validations: how often an owner may be asked what these say of a model.
        validation_share: the part of every owner's budget that is set aside for that.
        validation_grid: what they are counted by: edges of bins of margins; or centre, width and largest residual.
        records: how many records each owner is expected to have; 0 if that is not said.
        learner: who asks, as people call it; empty if not named.
        public_rows: how many public rows the terms were drafted from.
        public_source: the name of the file that they came from.
        asks: what training asks for, gradient or moments; empty where the name of the rule says it (`kind`).
        mechanisms: whether an owner takes any mechanism or the one asked for; empty where the rule's name says it.
        summary: SHA-256 of what the study file says of its public rows; empty if it says nothing.
        shares: a menu: the shares of an owner's training budget, in whole per cents, that the learner may choose from
            for each answer; empty where all answers have the same. The shares asked of an owner add up to at most 100,
            and `answers` is only how many the learner plans to ask for: owners do not count them.
        kinds: likewise what the learner may ask for: gradient, and second_moments and positives if they are on it.
        fill: under a menu, how much of xxᵀ a record tells in the room that its clipped gradient leaves, behind the
            gradient (`losses.filled`); 0 if gradients are told alone.
        axes: under a menu, along which gradients are told (`losses.turned`), one a row; none if along the features.
        unit: what is protected as one: a record, or a person with all rows that it has at an owner.
        person: the column that says whose row it is; empty if the unit is a record.
        rows_cap: the most rows of a person that count, the first in the owner's file; 0 if the unit is a record.
        weigh: whether people weigh alike, each with the mean of its rows, or rows do, each with 1/rows_cap; empty if
            the unit is a record.
        format: of the terms.
    """

    loss: str
    threshold: float
    parameters: int
    regularization: float
    limit: float
    clip: float
    row_norm: float
    target_bound: float
    rule: str
    horizon: int
    step: float
    central: str
    dictionary: str
    name: str = ""
    answers: int = 0
    epsilon: float = 0.0
    delta: float = 0.0
    meeting: Meeting = "request"
    clock: Clock = "always"
    evaluations: int = 0
    evaluation_share: float = 0.0
    loss_bound: float = 0.0
    records: int = 0
    learner: str = ""
    public_rows: int = 0
    public_source: str = ""
    asks: str = ""
    mechanisms: str = ""
    summary: str = ""
    shares: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()
    fill: float = 0.0
    axes: Axes = ()
    unit: str = "record"
    person: str = ""
    rows_cap: int = 0
    weigh: str = ""
    held_back: float = 0.0
    validations: int = 0
    validation_share: float = 0.0
    validation_grid: tuple[float, ...] = ()
    format: int = FORMAT

    def __post_init__(self) -> None:
        if self.format != FORMAT:
            raise BadInput(
                f"terms of format {self.format}", remedy=f"this version reads format {FORMAT}: draft the study again"
            )
        for name, (lowest, highest) in RANGES.items():
            _require_range(name, getattr(self, name), lowest, highest)
        msgspec.structs.force_setattr(self, "axes", tuple(tuple(map(float, axis)) for axis in self.axes))
        for name, words in _WORDS.items():
            _require_word(name, getattr(self, name), words)
        _require_rule(self.rule)
        _leave_unsaid(self)
        if self.loss == "huber":
            _require_range("threshold", self.threshold, _SMALLEST_THRESHOLD, RANGES["threshold"][1])
        _require_texts(self)
        require_evaluation(self)
        require_menu(self)
        _require_unit(self)
        _require_loss(self.loss)
        require_validation(self)

    @property
    def public(self) -> PublicRows:
        """Which rows the terms were drafted from."""
        return PublicRows(self.public_rows, self.public_source)

    def objective(self) -> Objective:
        """The fitness that these terms describe."""
        return Objective(choose(self.loss, self.threshold), self.regularization, self.limit)

    def grid(self) -> Grid:
        """What held-back records are counted by."""
        return grid_of(shape_for(self.loss), self.validation_grid)

    def suits(self, delta: float) -> bool:
        """Whether a guarantee with this δ has the kind of noise that the rule counts on.

        Some rules take any noise. Others compare answers with public rows or pack moments in the norm of the mechanism,
        so all owners must have the one that is asked for: pure, or with δ.
        """
        return (self.mechanisms or _meant(self.rule).mechanisms) == "any" or (delta == 0) == (self.delta == 0)

    @property
    def kind(self) -> Asked:
        """What training asks for.

        >>> from copriv.protocol.plain_terms import plain_terms
        >>> plain_terms(rule="newton").kind, plain_terms(rule="mine", asks="moments").kind
        ('gradient', 'moments')
        """
        if self.asks == "":
            return _meant(self.rule).asks
        return "moments" if self.asks == "moments" else "gradient"

    @property
    def unit_words(self) -> str:
        """What is protected as one, to be put behind "one"."""
        return UNITS[self.unit]

    @property
    def unit_in_words(self) -> str:
        """What is protected as one.

        >>> from copriv.protocol.plain_terms import plain_terms
        >>> plain_terms(unit="person", person="patient", rows_cap=5, weigh="person").unit_in_words
        'one person (all of its rows at this owner)'
        """
        return f"one {UNITS[self.unit]}"

    @property
    def people(self) -> PersonUnit | None:
        """Who is protected, if the unit is a person."""
        if self.unit == "record":
            return None
        return PersonUnit(self.person, self.rows_cap, "row" if self.weigh == "row" else "person")

    def spelled(self) -> dict[str, Any]:
        """The values by name, in order, without what goes without saying: what a study file has and what is hashed."""
        values: dict[str, Any] = msgspec.to_builtins(self)
        if self.unit == "record":
            del values["unit"]
        return {name: value for name, value in values.items() if value or name not in _UNSAID}

    def digest(self) -> str:
        """SHA-256 of the canonical text of the terms; it travels with every message."""
        return hashlib.sha256(msgspec.json.encode(self.spelled())).hexdigest()


def _require_range(name: str, value: float, lowest: float, highest: float) -> None:
    if not lowest <= value <= highest:
        words = name.replace("_", " ")
        raise BadInput(
            f"the {words} is {value:g}",
            remedy=f"give a number from {lowest:g} to {highest:g}",
            value=value,
        )


def _require_word(name: str, value: str, words: tuple[str, ...]) -> None:
    if value not in words:
        raise BadInput(
            f"the {name} of the terms is {plain(value)!r}", remedy=f"choose one of {', '.join(words)}", value=value
        )


def _meant(rule: str) -> _Meant:
    return _MEANT.get(rule, _MEANT_ELSE)


def _leave_unsaid(terms: Terms) -> None:
    """Terms that say what they would mean anyway are the same terms: one meaning has one digest."""
    for name, value in _meant(terms.rule)._asdict().items():
        if getattr(terms, name) == value:
            msgspec.structs.force_setattr(terms, name, "")


def _require_rule(rule: str) -> None:
    if not re.match(RULE_NAME, rule):
        raise BadInput(
            f"the rule of the terms is {plain(rule)!r}",
            remedy="name it by a plain word: small letters, digits, - and _, at most 40",
            value=rule,
        )


def _require_loss(loss: str) -> None:
    """Whoever reads terms computes their loss, so it must be there."""
    if not is_known(loss):
        raise BadInput(
            f"the loss of the terms is {plain(loss)!r}, which is not known here",
            remedy=f"choose one of {', '.join(loss_names())}, or install the package that brings it",
            value=loss,
        )


def _require_texts(terms: Terms) -> None:
    """People read names, so each is one line of printable text; and nothing but a digest stands for what a file has."""
    named = {
        "study": terms.name,
        "learner": terms.learner,
        "source of the public rows": terms.public_source,
        "column of people": terms.person,
    }
    for what, name in named.items():
        if len(name) > LONGEST_NAME or not is_plain(name):
            raise BadInput(
                f"the {what} is called '{plain(name)}'",
                remedy=f"give it a name of at most {LONGEST_NAME} printable characters",
                value=name,
            )
    for what, digest in {"dictionary": terms.dictionary, "summary": terms.summary or "none"}.items():
        if len(digest) > 64 or not digest.isalnum():
            raise BadInput(
                f"the {what} of the terms is '{plain(digest)}'",
                remedy="give its SHA-256, in 64 hexadecimal digits",
                value=digest,
            )


def _require_unit(terms: Terms) -> None:
    """People have a column, a cap and a weight; records have none of them."""
    said = (terms.person != "", terms.rows_cap > 0, terms.weigh != "")
    if any(said) if terms.unit == "record" else not all(said):
        raise BadInput(
            f"the unit of the terms is one {terms.unit}, with the column {plain(terms.person)!r}, at most "
            f"{terms.rows_cap} rows and the weight {terms.weigh!r}",
            remedy="of a person give person (a column), rows_cap (at least 1) and weigh (person or row); of a record, "
            "none of them",
            value=terms.unit,
        )
