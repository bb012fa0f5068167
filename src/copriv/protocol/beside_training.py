"""What terms say of questions beside training: evaluations and validations, each with an account of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from copriv.errors import BadInput

if TYPE_CHECKING:
    from copriv.protocol.terms import Terms

# What terms without a validation leave out.
VALIDATION = ("held_back", "validations", "validation_share", "validation_grid")


def require_evaluation(terms: Terms) -> None:
    """Evaluations are either forbidden altogether, or have a share of the budget and a bound."""
    if terms.evaluations == 0 and terms.evaluation_share == 0:
        return
    if terms.evaluations < 1 or not 0 < terms.evaluation_share < 1 or not 0 < terms.loss_bound < float("inf"):
        raise BadInput(
            f"{terms.evaluations} evaluations with {terms.evaluation_share:g} of the budget and a loss bound of "
            f"{terms.loss_bound:g}",
            remedy="give at least 1 evaluation, a share between 0 and 1 and a finite bound above 0, or none of them",
            value=terms.evaluations,
        )


def require_validation(terms: Terms) -> None:
    """Likewise validations: none at all, or records held back, a share of the budget, and what to count by."""
    if not any(getattr(terms, name) for name in VALIDATION):
        return
    together = terms.evaluation_share + terms.validation_share
    if terms.validations < 1 or not terms.held_back > 0 or not terms.validation_share > 0 or together >= 1:
        raise BadInput(
            f"{terms.validations} validations with {terms.validation_share:g} of the budget on {terms.held_back:g} of "
            "the records",
            remedy="give at least 1 validation, a share of the budget and one of the records, both above 0 and below "
            "what leaves something for training; or none of them",
            value=terms.validations,
        )
    if terms.unit != "record":
        raise BadInput(
            f"validation of a study that protects one {terms.unit}",
            remedy="count records, of which each counts once; or train without validation",
            value=terms.unit,
        )
    terms.grid()
