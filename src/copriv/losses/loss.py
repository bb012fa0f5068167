"""What a loss is: a convex function of a record's margin z = θᵀx and target y.

Its gradient in θ is slope · x, so clipping, bounds and passes over records need only the slope. Losses of this project
are compiled into the passes by their code (`losses.passes`); a loss from another package is an `OutsideLoss`, whose
functions are compiled when they are first used (`losses.outside`).
"""

from __future__ import annotations

from typing import Protocol


class Loss(Protocol):
    """A convex loss ℓ(z, y) of margin and target."""

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def code(self) -> int:
        """Which branch of the compiled passes computes it; −1 for a loss from outside."""

    @property
    def threshold(self) -> float:
        """The parameter of the loss, 0 if it has none."""

    @property
    def curvature_bound(self) -> float:
        """The largest second derivative in the margin."""

    def slope_bound(self, margin: float, target: float) -> float:
        """The largest |∂ℓ/∂z| over |z| ≤ margin and |y| ≤ target."""

    def value_bound(self, margin: float, target: float) -> float:
        """The largest ℓ over |z| ≤ margin and |y| ≤ target."""
