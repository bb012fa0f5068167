"""What a study would make of an owner's records, for the person who approves it.

Names of studies, columns and categories are the learner's choice: they are shown as text, whatever is in them.
"""

from __future__ import annotations

from copriv.losses.moments import second_moment_count
from copriv.protocol.study_file import StudyFile
from copriv.protocol.terms import Terms
from copriv.protocol.text import quoted
from copriv.records.column import Column
from copriv.records.dictionary import Dictionary
from copriv.records.exposure import Exposure
from copriv.records.target import Target
from copriv.report.menu import MADE_FINER, kind_name, product_of, told_along, told_kind

_MOST_CATEGORIES = 12


def study_rows(study: StudyFile) -> list[tuple[str, str]]:
    """Each a name and what is to be said: which columns are read, in which range, and what is made of them."""
    dictionary = Dictionary.from_study(study.dictionary)
    return [
        ("features", ", ".join(map(_column, dictionary.columns))),
        *_trees(dictionary),
        ("target", f"{quoted(dictionary.target.name)}: {_target(dictionary.target)}"),
        ("bounds", _bounds(study.terms)),
        *([("menu", _menu(study.terms))] if study.terms.shares else []),
        *([("axes", _turned(study.terms))] if study.terms.axes else []),
        *([("behind gradients", _filled(study.terms))] if study.terms.fill else []),
        *([("positive", _positive(dictionary.target))] if "positives" in study.terms.kinds else []),
        *([("evaluations", _evaluations(study.terms))] if study.terms.evaluations else []),
        *([("validations", _validations(study.terms))] if study.terms.validations else []),
    ]


def _column(column: Column) -> str:
    """Its name, and what is made of it."""
    kind = f"category, {len(column.categories)} of them" if column.kind == "category" else column.kind
    others = ", others by a hash" if column.encoded.buckets > 1 else ", and others" if column.encoded.buckets else ""
    return f"{quoted(column.name)} ({kind}{others})"


def _trees(dictionary: Dictionary) -> list[tuple[str, str]]:
    """What is made of the columns by trees, if anything is."""
    score, leaves = dictionary.score_trees, dictionary.leaf_trees
    parts = [] if score is None else [f"the score of {len(score.roots)} of them, grown on public rows"]
    parts += [] if leaves is None else [f"the {leaves.leaves.size} leaves of {len(leaves.roots)} of them"]
    return [("trees", " and ".join(parts))] if parts else []


def _target(target: Target) -> str:
    """What the target becomes, in its own unit."""
    if target.kind == "label":
        levels = f", which takes {' and '.join(f'{level:g}' for level in target.levels)}" if target.levels else ""
        return f"a label, positive above {target.center:g}{levels}{_categories(target)}"
    if target.is_rate:
        what = "a count from 0" if target.kind == "count" else "an amount above 0"
        return f"{what}, held up to {target.scale:g}{_exposure(target.given_exposure)}"
    lowest, highest = target.center - target.scale, target.center + target.scale
    return f"held between {lowest:g} and {highest:g}{_categories(target)}"


def _positive(target: Target) -> str:
    """Which targets a share of positive ones counts, in their own unit."""
    least = 0.0 if target.is_rate else target.center
    return f"a target above {least:g}; a record without a usable target counts as not positive"


def _exposure(given: Exposure | None) -> str:
    """What its offset is, if it has one."""
    if given is None:
        return ""
    what = "offset" if given.logarithm else "exposure"
    return f"; its {what} is {quoted(given.name)}, held within {given.words}, and a record without one says nothing"


def _categories(target: Target) -> str:
    if not target.categories:
        return ""
    shown = [
        f"{quoted(name, 40)} = {place}" for place, name in enumerate(target.categories[:_MOST_CATEGORIES], start=1)
    ]
    more = len(target.categories) - len(shown)
    return f" ({', '.join(shown)}{f' and {more} more' if more else ''})"


def _bounds(terms: Terms) -> str:
    counted = "gradient and second moments together" if terms.fill else "gradient"
    return (
        f"models within ±{terms.limit:g}, a {terms.unit}'s {counted} at most {terms.clip:g} long"
        f"{' (along the axes below)' if terms.axes else ''}, "
        f"regularization {terms.regularization:g}, a record's row at most {terms.row_norm:g} long, its target within "
        f"±{terms.target_bound:g}"
    )


def _menu(terms: Terms) -> str:
    kinds = " or ".join(kind_name(told_kind(kind, terms.fill)) for kind in terms.kinds)
    shares = ", ".join(map(str, terms.shares))
    return (
        f"the learner chooses of each question what it is for ({kinds}) and which share of your training budget it "
        f"takes ({shares} %), as answers come; you alone derive the noise from that"
        + (f"; {MADE_FINER}" if terms.delta == 0 else "")
    )


def _turned(terms: Terms) -> str:
    """Along what gradients are told, where terms name axes; they are in the study file, and in the digest."""
    return (
        f"average {told_along(len(terms.axes))}: a record's counts at most {terms.clip:g} there; no row becomes "
        "longer by it in L2; noise and price are those of gradients along the features"
    )


def _filled(terms: Terms) -> str:
    """What leaves with every gradient, where the terms fill them."""
    return (
        f"with every average gradient leave {second_moment_count(terms.parameters):,} averages of products of two "
        f"{product_of(len(terms.axes))} (xxᵀ); a record's products count at most {terms.fill:g} times, and less where "
        f"its gradient leaves less room below {terms.clip:g}; noise and price are those of the gradient alone"
    )


def _validations(terms: Terms) -> str:
    return (
        f"{terms.validations} of how well the model predicts {terms.held_back:g} of your records, which do not train, "
        f"with {terms.validation_share:g} of your budget"
    )


def _evaluations(terms: Terms) -> str:
    return (
        f"{terms.evaluations} of your average loss, with {terms.evaluation_share:g} of your budget; a record's loss "
        f"counts at most {terms.loss_bound:g}"
    )
