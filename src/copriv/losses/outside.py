"""A loss from another package: three functions of one margin and one target, and what bounds them.

The functions are plain Python with numbers and `math` (`losses.plain_function` refuses others), and are compiled by
numba. Each sees one record at a time and can remember none, so no record can change what another one counts; and what
they return is clipped or bounded after them, by the same compiled code as for the losses of this project. A wrong bound
costs accuracy, never privacy: sensitivities follow from the clip. A function that raises counts as no number: a zero
gradient, or the whole bound of a loss.

The passes (`losses.outside_passes`) compile the functions at first use, which takes about a second.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from copriv.errors import BadInput
from copriv.losses.plain_function import require_plain

Scalar: TypeAlias = Callable[[float, float], float]
Bound: TypeAlias = Callable[[float, float], float]

CODE = -1
_NAME = re.compile(r"^[a-z][a-z0-9_-]{0,39}\Z")


@dataclass(frozen=True, slots=True)
class OutsideLoss:
    """A convex loss ℓ(z, y) of margin and target that somebody else has written.

    Args:
        name: what people type: a plain word.
        value: ℓ(z, y).
        slope: ∂ℓ/∂z.
        curvature: ∂²ℓ/∂z².
        slope_bound: the largest |∂ℓ/∂z| over |z| ≤ margin and |y| ≤ target.
        value_bound: the largest ℓ over |z| ≤ margin and |y| ≤ target.
        curvature_bound: the largest second derivative in the margin.
    """

    name: str
    value: Scalar
    slope: Scalar
    curvature: Scalar
    slope_bound: Bound
    value_bound: Bound
    curvature_bound: float
    code = CODE
    threshold = 0.0

    def __post_init__(self) -> None:
        if not _NAME.match(self.name):
            raise BadInput(
                f"a loss is called {self.name!r}",
                remedy="give it a plain word: small letters, digits, - and _, at most 40",
                value=self.name,
            )
        for function in (self.value, self.slope, self.curvature):
            require_plain(function)
