"""What terms may say of a menu: shares, kinds, how gradients are filled, and along which axes they are told."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from copriv.errors import BadInput
from copriv.losses.turned import require_axes
from copriv.protocol.text import plain

if TYPE_CHECKING:
    from copriv.protocol.terms import Terms

# What a learner may choose from a menu, in this order, and how many shares a menu may have.
MENU_KINDS = ("gradient", "second_moments", "positives")
MOST_SHARES = 20
# Second moments of longer models fit into no message, and hardly into an owner's memory.
MOST_SQUARED = 1_600
# Of filled gradients every level is drawn and kept; and the square of a smaller fill leaves the range of doubles.
MOST_FILLED, _SMALLEST_FILL = 200, 1e-18


def require_menu(terms: Terms) -> None:
    """A menu has shares and kinds, each written in one way only; or there is none."""
    _require_gradients(terms)
    if not terms.shares and not terms.kinds:
        return
    ascending = all(one < other for one, other in pairwise(terms.shares))
    within = all(1 <= share <= 100 for share in terms.shares)
    if not (0 < len(terms.shares) <= MOST_SHARES and ascending and within):
        raise BadInput(
            f"the shares of the menu are {plain(str(list(terms.shares)[: MOST_SHARES + 1]))}",
            remedy=f"give 1 to {MOST_SHARES} different whole per cents from 1 to 100, the smallest first",
            value=terms.shares,
        )
    some = tuple(MENU_KINDS[:count] for count in range(1, len(MENU_KINDS) + 1))
    if terms.kinds not in some or terms.kind != "gradient":
        raise BadInput(
            f"the kinds of the menu are {plain(str(list(terms.kinds)[:5]))}, and training asks for {terms.kind}",
            remedy=f"give the first one, two or three of {', '.join(MENU_KINDS)}, where training asks for gradients",
            value=terms.kinds,
        )
    if MENU_KINDS[1] in terms.kinds and terms.parameters > MOST_SQUARED:
        raise BadInput(
            f"second moments on the menu, of models of {terms.parameters:,} numbers",
            remedy=f"take them off the menu, or reduce records to at most {MOST_SQUARED:,} features",
            value=terms.parameters,
        )


def _require_gradients(terms: Terms) -> None:
    """Gradients of records alone are filled, and told along axes, under a menu."""
    if 0 < terms.fill < _SMALLEST_FILL:
        raise BadInput(
            f"a fill of {terms.fill:g}", remedy=f"give 0, or a number from {_SMALLEST_FILL:g}", value=terms.fill
        )
    if terms.fill > 0 and (not terms.shares or terms.unit != "record" or terms.parameters > MOST_FILLED):
        raise BadInput(
            f"a fill of {terms.fill:g}, of {terms.unit}s, with {len(terms.shares)} shares on the menu and models of "
            f"{terms.parameters:,} numbers",
            remedy=f"fill gradients of records alone, under a menu, with models of at most {MOST_FILLED} numbers",
            value=terms.fill,
        )
    if terms.axes and (not terms.shares or terms.unit != "record"):
        raise BadInput(
            f"axes of gradients of {terms.unit}s, with {len(terms.shares)} shares on the menu",
            remedy="turn gradients of records alone, under a menu",
            value=len(terms.axes),
        )
    require_axes(terms.axes, terms.parameters)
