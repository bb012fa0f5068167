"""What a person should know of how a table was read: sentences about rows, features and target."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from copriv.losses.people import NOBODY, Whose
from copriv.protocol.unit import PersonUnit
from copriv.records.cells import read_values
from copriv.records.dictionary import Dictionary
from copriv.records.feature_spec import FeatureSpec
from copriv.records.fit_features import PublicRows
from copriv.records.partition import NAMELESS, Names, Share
from copriv.records.public_cells import Fitted
from copriv.records.strength import describe_giveaways, strengths_of
from copriv.vectors import IntArray

_MOST_SHOWN = 6


def about_public(fitted: Fitted, spec: FeatureSpec, rows: PublicRows) -> tuple[str, ...]:
    """What there is to say about features and target."""
    return (*_about_fit(fitted, spec, rows), *about_target(fitted.dictionary))


def about_default(taken: int, rows: int) -> str:
    """That the last rows are public, though nobody has said how many."""
    taken_rows = f"the last {taken:,} of {rows:,} rows are taken as public, which nothing protects"
    return f"{taken_rows}: --public-rows N or a --public file says otherwise"


def _about_fit(fitted: Fitted, spec: FeatureSpec, rows: PublicRows) -> list[str]:
    """What is left out, and what else there is to say of the features."""
    reasons: dict[str, list[str]] = {}
    for column in fitted.left_out:
        reasons.setdefault(column.reason, []).append(column.name)
    left_out = (f"left out, {reason}: {_list(names)}" for reason, names in sorted(reasons.items()))
    return [*left_out, *fitted.notices, *(_giveaways(fitted, rows) if spec.codes else ())]


def _giveaways(fitted: Fitted, rows: PublicRows) -> list[str]:
    """Columns that nearly determine the target; a fit of cells has named them already."""
    columns, known, labels = fitted.dictionary.columns, np.isfinite(rows.targets), rows.target.kind == "label"
    strengths = strengths_of(read_values(rows.rows, columns)[known], rows.targets[known], labels=labels)
    return describe_giveaways(columns, strengths, labels=labels)


def about_target(dictionary: Dictionary) -> list[str]:
    """How a text target is read."""
    target = dictionary.target
    if not target.categories:
        return []
    if target.positive is not None:
        others = " or ".join(map(repr, target.categories[:-1][:_MOST_SHOWN]))
        more = " or another one" if len(target.categories) > _MOST_SHOWN + 1 else ""
        read = f"the target {target.name!r} is read as labels: {target.positive!r} is positive, {others}{more} negative"
        return [f"{read}; --positive VALUE chooses another one"]
    numbered = ", ".join(f"{name} = {place}" for place, name in enumerate(target.categories, start=1))
    return [f"the target {target.name!r} is read as ordinal: {numbered}"]


def about_use(owners: Sequence[tuple[str, int, int]]) -> list[str]:
    """What contributes nothing, for the people at home; of owners by name, records and usable records."""
    notices = []
    unusable = sum(records - used for _, records, used in owners)
    if unusable:
        notices.append(f"{unusable:,} private rows have no usable target: they count and contribute nothing")
    silent = [name for name, _, used in owners if used == 0]
    if silent:
        notices.append(f"no record has a usable target, so they contribute nothing but noise: {_list(silent)}")
    return notices


def about_people(person: PersonUnit | None, whose: Whose | None, owners: Sequence[IntArray]) -> list[str]:
    """Who is protected, and whom one owner's promise does not cover; for the people at home. Of owners, their rows."""
    if person is None or whose is None:
        return []
    notices = [f"one person is protected as one ({person.words})"]
    nobody = sum(int(np.sum(whose.codes[rows] == NOBODY)) for rows in owners)
    if nobody:
        notices.append(f"{nobody:,} private rows name no person: each counts as a person of its own")
    met = np.concatenate([np.unique(whose.codes[rows]) for rows in owners])
    times = np.unique(met[met != NOBODY], return_counts=True)[1]
    if times.size and times.max() > 1:
        notices.append(
            f"{int(np.sum(times > 1)):,} people have rows at several owners, at most {int(times.max())}: what these "
            "owners promise adds up for such a person"
        )
    return notices


def about_both_sides(whose: Whose | None, private: IntArray) -> list[str]:
    """People of one table who have public rows beside private ones; for the people at home."""
    if whose is None or private.size == whose.codes.size:
        return []
    public = np.delete(whose.codes, private)
    both = np.intersect1d(whose.codes[private], public)
    count = int(np.sum(both != NOBODY))
    return [f"{count:,} people have public rows, too: only their private ones are protected"] if count else []


def about_rows(small: list[Share], names: Names | None, private_rows: IntArray) -> list[str]:
    """Which rows and owners are left out."""
    notices = []
    nameless = 0 if names is None else int(np.sum(names.codes[private_rows] == NAMELESS))
    if nameless:
        which = (
            "1 private row names no owner and is"
            if nameless == 1
            else f"{nameless:,} private rows name no owner and are"
        )
        notices.append(f"{which} left out")
    if small:
        who = "1 owner with too few records is" if len(small) == 1 else f"{len(small)} owners with too few records are"
        notices.append(f"{who} left out: {_list([share.name for share in small])}")
    return notices


def _list(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    return ", ".join(names[:_MOST_SHOWN]) + more
