"""Features of which nothing is said."""

from __future__ import annotations

from copriv.planning.training_spec import RuleChoice

# Of the paper, and of rules whose forecast takes simulated runs: too many for every choice of features.
PAPER_FEATURES = 10
_QUICK = ("auto", "newton", "statistics")


def features_for(given: int | str | None, rule: RuleChoice) -> int | str:
    """The features that are given, else those that a plan chooses; with other rules, the paper's ten components.

    >>> features_for(None, "newton"), features_for(None, "paper"), features_for("all", "paper")
    ('auto', 10, 'all')
    """
    if given is not None:
        return given
    return "auto" if rule in _QUICK else PAPER_FEATURES
