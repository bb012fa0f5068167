"""What was trained, in words that need no other page."""

from __future__ import annotations

import msgspec

from copriv.protocol.terms import Terms
from copriv.protocol.text import plain
from copriv.records.dictionary import Dictionary
from copriv.records.target import Target
from copriv.report.sentence import many

_RULES = {
    "newton": (
        "public Newton (newton): training starts from the model of the public rows, and each owner tells in a few "
        "noisy answers by how much its records differ"
    ),
    "statistics": (
        "sufficient statistics (statistics): each owner tells noisy averages of products of features and target once, "
        "and the model is solved from them"
    ),
    "averaged": "averaged steps (averaged): every noisy gradient moves the model a little, and the models are averaged",
    "paper": (
        "Algorithm 1 of the paper (paper): owners answer when they are there, and every noisy gradient moves the model"
    ),
}
_LOSSES = {
    "squared": "squared error",
    "logistic": "logistic loss of two labels",
    "poisson": "half the Poisson deviance of counts, with log link",
    "gamma": "half the Gamma deviance of amounts, with log link",
}
_REASONS = {
    "exhausted": "the owner's budget for this study was spent",
    "failed": "the owner could not answer",
    "garbage": "the owner sent what it had not promised",
    "rollback": "the owner's ledger was behind its own receipts",
    "unfounded": "there was no answer that could be made finer",
    "terms": "the owner knows other terms",
    "outside": "the question was outside of the terms",
    "conflict": "another question had the same number",
    "malformed": "the question could not be read",
    "oversized": "the question was too long",
}


def rule_words(rule: str) -> str:
    """How answers become a model."""
    return _RULES.get(rule, f"{plain(rule)}, a rule from outside")


def loss_words(terms: Terms) -> str:
    """What a mistake costs."""
    if terms.loss == "huber":
        return f"Huber loss: squared up to {terms.threshold:g} of the target's scale, linear beyond"
    return _LOSSES.get(terms.loss, f"{plain(terms.loss)}, a loss from outside")


def reason_words(reason: str) -> str:
    """Why a meeting came to nothing."""
    return _REASONS.get(reason, plain(reason))


def target_words(dictionary: Dictionary) -> str:
    """What is predicted, and within which bounds."""
    target = dictionary.target
    if target.kind == "label":
        positive = target.positive
        what = f"above {target.center:g}" if positive is None else f"“{plain(positive)}”"
        return f"the probability that it is {what}"
    if target.is_rate:
        beyond = f"values beyond {target.scale:.4g} (from public rows) count as that"
        return f"the expected {target.kind}; {beyond}{_per(target)}"
    low, high = target.center - target.scale, target.center + target.scale
    return f"a number; values beyond {low:.4g} to {high:.4g} (from public rows) count as these ends"


def _per(target: Target) -> str:
    """What the exposure is, if there is one."""
    given = target.given_exposure
    if given is None:
        return ""
    what = "logarithm of the exposure" if given.logarithm else "exposure"
    return f"; the {what} is “{plain(given.name)}”, held within {given.words}"


def feature_words(dictionary: Dictionary) -> list[str]:
    """The features, block by block."""
    cells, columns = len(dictionary.cells()), many(len(dictionary.columns), "column")
    weights = () if isinstance(dictionary.weights, msgspec.UnsetType) else dictionary.weights
    kept = sum(weight != 0 for weight in weights)
    found = []
    if dictionary.components:
        found.append(
            f"{many(len(dictionary.components), 'component')}: weighted sums of {many(cells, 'cell')} "
            f"(numbers, categories, missing values) from {columns}"
        )
    if kept:
        found.append(f"{many(kept, 'cell')} of {columns}: numbers as they are, a category as 0 or 1")
    if dictionary.score_trees is not None:
        found.append("the score of a boosting model that was fitted to the public rows")
    if dictionary.leaf_trees is not None:
        found.append(
            f"{many(int(dictionary.leaf_trees.leaves.size), 'leaf').replace('leafs', 'leaves')} of small trees"
        )
    return found
