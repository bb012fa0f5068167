"""Refusals as scikit-learn's users expect them: a `ValueError`, with the remedy in the words of the estimators."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from copriv.errors import BadInput, LedgerRefusal

# What the rest of the project calls by an option of the command line, and the estimators by a parameter.
_IN_PYTHON = (
    ("--rule averaged with --step and --clip", "rule='averaged' with settings={'step': …, 'clip': …}"),
    ("--rule statistics", "rule='statistics'"),
    ("--version-of ", "ledger="),
    ("--unrelated", "settings={'unrelated': True}"),
    ("a larger --budget", "a larger settings={'budget': …}"),
)


class Refusal(BadInput, ValueError):
    """An estimator refuses before anything is answered; what and why is in its words."""


@contextmanager
def refusing() -> Iterator[None]:
    """Within, bad input and refused charges become a `Refusal`."""
    try:
        yield
    except Refusal:
        raise
    except (BadInput, LedgerRefusal) as problem:
        raise Refusal(problem.problem, remedy=_in_python(problem.remedy), value=problem.value) from problem


def _in_python(remedy: str) -> str:
    """A remedy in the words of the estimators.

    >>> _in_python("they share a budget: --version-of my.sqlite; if no record is in both, --unrelated")
    "they share a budget: ledger=my.sqlite; if no record is in both, settings={'unrelated': True}"
    """
    for option, parameter in _IN_PYTHON:
        remedy = remedy.replace(option, parameter)
    return remedy
