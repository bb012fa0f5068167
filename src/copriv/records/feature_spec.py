"""Which features are wanted, as people write it: `10`, `all`, `pls:30`, `pls:10+score`, `all+splines`, `auto`."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields

from copriv.errors import BadInput

MOST_FEATURES = 10_000
_COUNTED = ("codes", "pca", "pls", "leaves")
_PLAIN = ("all", "score", "splines", "pairs")
_PART = re.compile(r"(?P<name>[a-z]+)(?::(?P<count>\d{1,9}))?")
# What a number alone stands for.
_NUMBER = "codes"
# How many leaves a tree has at most that is grown for the sake of its leaves, and how many trees are worth comparing.
LEAVES_OF_A_TREE = 8
_TREES = 20


@dataclass(frozen=True, slots=True)
class FeatureSpec:
    """The blocks of features, in the order in which a row has them.

    Args:
        codes: principal components of standardised columns, categories as integer codes; alone, with no other block.
        pca: principal components of the cells.
        pls: supervised components of the cells.
        all: every cell.
        score: the score of a boosting model of the public rows.
        leaves: the leaves of so many small trees.
        splines: whether numbers also have hinges.
        pairs: whether strong columns also have products.
        auto: whether a plan is to choose.
    """

    codes: int = 0
    pca: int = 0
    pls: int = 0
    all: bool = False
    score: bool = False
    leaves: int = 0
    splines: bool = False
    pairs: bool = False
    auto: bool = False

    @classmethod
    def parse(cls, given: FeatureSpec | str | int) -> FeatureSpec:
        """What a person wrote.

        Raises:
            BadInput: it is none of these words, or a number below 1.

        >>> FeatureSpec.parse("pls:10+score")
        FeatureSpec('pls:10+score')
        >>> FeatureSpec.parse(10) == FeatureSpec.parse("10")
        True
        """
        if isinstance(given, FeatureSpec):
            return given
        text = str(given).strip().lower()
        if re.fullmatch(r"-?\d{1,9}", text):
            text = f"{_NUMBER}:{_require_count(int(text), str(given))}"
        chosen: dict[str, int | bool] = {}
        for part in text.split("+"):
            name, value = _part(part.strip(), str(given))
            if name in chosen:
                raise _unknown(str(given))
            chosen[name] = value
        spec = cls(**chosen)  # type: ignore[arg-type]
        _require_sense(spec, str(given))
        return spec

    @property
    def blocks(self) -> bool:
        """Whether there is anything but what changes cells."""
        return bool(self.codes or self.pca or self.pls or self.all or self.score or self.leaves)

    @property
    def needs_boosting(self) -> bool:
        """Whether trees are grown."""
        return self.score or self.leaves > 0

    def __str__(self) -> str:
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return "+".join(name if value is True else f"{name}:{value}" for name, value in values if value)

    def __repr__(self) -> str:
        return f"FeatureSpec({str(self)!r})"


def candidates(rows: int, cells: int, *, boosting: bool = True) -> list[FeatureSpec]:
    """Features worth comparing for so many usable public rows that have so many cells, the fewest numbers first.

    All but the last are cheap to fit together: they share the cells, one path of supervised components and one boosting
    model. Leaves stand beside a score, and beside all cells if these are few enough. There are at most a third as many
    features as rows.

    >>> [str(spec) for spec in candidates(300, 20)]
    ['pls:3', 'pls:3+score', 'pls:10', 'pls:10+score', 'all', 'all+score']
    >>> [str(spec) for spec in candidates(1000, 60)][-3:]
    ['all', 'all+score', 'all+score+leaves:20']
    >>> [str(spec) for spec in candidates(30, 60, boosting=False)]
    ['pls:3', 'pls:10']
    """
    most = max(rows // 3, 1)
    # A hundred components are nearly all cells, and fit public rows better than others: only where cells are too many.
    counts = [count for count in (3, 10, 30, 100) if count < min(cells, most + 1)] or [1]
    counts = [count for count in counts if count < 100 or cells > most]
    found = [FeatureSpec(pls=count) for count in counts]
    found += [FeatureSpec(all=True)] if cells <= most else []
    scored = boosting and rows >= _FEWEST_TO_BOOST
    pairs = ([spec, FeatureSpec(pls=spec.pls, all=spec.all, score=True)] if scored else [spec] for spec in found)
    return [spec for both in pairs for spec in both] + (_with_leaves(most, cells) if scored else [])


def _with_leaves(most: int, cells: int) -> list[FeatureSpec]:
    """Leaves beside a score and all cells, or beside some components if cells are too many; none if leaves are."""
    left = most - _TREES * LEAVES_OF_A_TREE - 1
    if cells <= left:
        return [FeatureSpec(all=True, score=True, leaves=_TREES)]
    return [FeatureSpec(pls=_BESIDE, score=True, leaves=_TREES)] if left >= _BESIDE else []


# Components that leaves may stand beside; they are among the others.
_BESIDE = 30


_FEWEST_TO_BOOST = 100


def _part(part: str, given: str) -> tuple[str, int | bool]:
    read = _PART.fullmatch(part)
    if read is None:
        raise _unknown(given)
    name, count = read["name"], read["count"]
    if name in _COUNTED and count is not None:
        return name, _require_count(int(count), given)
    if name in (*_PLAIN, "auto") and count is None:
        return name, True
    raise _unknown(given)


def _require_count(count: int, given: str) -> int:
    if not 1 <= count <= MOST_FEATURES:
        raise BadInput(f"{given} features", remedy=f"ask for at least 1, and at most {MOST_FEATURES:,}", value=given)
    return count


def _require_sense(spec: FeatureSpec, given: str) -> None:
    others = spec.pca or spec.pls or spec.all or spec.score or spec.leaves or spec.splines or spec.pairs
    if (spec.codes or spec.auto) and (others or (spec.codes and spec.auto)):
        raise BadInput(f"features {given!r}", remedy="codes and auto stand alone", value=given)
    if not (spec.blocks or spec.auto):
        raise BadInput(f"features {given!r}: only what changes cells", remedy="add all, pls:K or pca:K", value=given)


def _unknown(given: str) -> BadInput:
    return BadInput(
        f"features {given!r}",
        remedy="use a number, auto, or a sum of all, pls:K, pca:K, score, leaves:T, splines, pairs: pls:10+score",
        value=given,
    )
