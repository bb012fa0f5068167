"""What a study would make of an owner's records, for the person who approves it.

Names of studies, columns and categories are the learner's choice: they are shown as text, whatever is in them.
"""

from __future__ import annotations

from copriv.protocol.study_file import StudyFile
from copriv.protocol.terms import Terms
from copriv.protocol.text import plain
from copriv.records.dictionary import Dictionary
from copriv.records.target import Target

_MOST_CATEGORIES = 12


def study_rows(study: StudyFile) -> list[tuple[str, str]]:
    """Each a name and what is to be said: which columns are read, in which range, and what is made of them."""
    dictionary = Dictionary.from_study(study.dictionary)
    return [
        ("features", ", ".join(plain(column.name) for column in dictionary.columns)),
        ("target", f"{plain(dictionary.target.name)}: {_target(dictionary.target)}"),
        ("bounds", _bounds(study.terms)),
    ]


def _target(target: Target) -> str:
    """What the target becomes, in its own unit."""
    if target.kind == "label":
        levels = f", which takes {' and '.join(f'{level:g}' for level in target.levels)}" if target.levels else ""
        return f"a label, positive above {target.center:g}{levels}{_categories(target)}"
    lowest, highest = target.center - target.scale, target.center + target.scale
    return f"held between {lowest:g} and {highest:g}{_categories(target)}"


def _categories(target: Target) -> str:
    if not target.categories:
        return ""
    shown = [f"{plain(name, 40)} = {place}" for place, name in enumerate(target.categories[:_MOST_CATEGORIES], start=1)]
    more = len(target.categories) - len(shown)
    return f" ({', '.join(shown)}{f' and {more} more' if more else ''})"


def _bounds(terms: Terms) -> str:
    return (
        f"models within ±{terms.limit:g}, a record's gradient at most {terms.clip:g} long, "
        f"regularization {terms.regularization:g}"
    )
