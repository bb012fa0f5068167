"""One kind of question with its share of a budget: the exact answer, how far a record can move it, noise and price.

Under a menu and a pure guarantee an average gradient can be asked for at a coarse level first, and at a finer one later
(`privacy.levels`). The finer answer takes the place of the former, and only the difference of their prices is charged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from copriv.losses.records import Records
from copriv.privacy.calibration import Calibration
from copriv.privacy.guarantee import Amount
from copriv.privacy.sensitivity import Sensitivity
from copriv.protocol.messages import Kind
from copriv.vectors import FloatArray

Exact: TypeAlias = Callable[[Records, FloatArray], FloatArray]


@dataclass(frozen=True, slots=True)
class QueryBudget:
    """One kind of question: its exact answer, how far one record can move it, and the noise that hides this.

    `bound` is the most that one record may count: the clip of a gradient, the bound of a loss, the length of a row.
    What `exact` returns is to be sealed at once by whoever calls. `share` is the per cent of the training budget that
    an answer may cost; 0 without a menu. `before` is the level that the same question was answered at already; the
    noise is then that of both together, and the price the difference. `numbers` is how many an answer of a further
    question has; 0 where the kind says it.
    """

    kind: Kind
    bound: float
    sensitivity: Sensitivity
    calibration: Calibration
    exact: Exact = field(repr=False, compare=False)
    share: int = 0
    before: int = 0
    numbers: int = 0

    @property
    def allowance(self) -> Amount:
        """The price of all the promised answers of this kind, and of not one more; of a menu, the training budget."""
        return self.calibration.budget if self.share else self.calibration.charge * self.calibration.answers

    @property
    def level(self) -> int:
        """The share that the noise stands for."""
        return self.before + self.share

    @property
    def has_levels(self) -> bool:
        """Whether an answer can be made finer: Laplace noise on a gradient, with a share from a menu."""
        return self.kind == "gradient" and self.share > 0 and self.calibration.guarantee.pure

    def after(self, former: QueryBudget) -> QueryBudget | None:
        """What it takes to get from a coarser level to this one; None if that is no question that is answered.

        Prices of levels are whole billionths, at most floor(B·level/100) of a training budget B. A question that is
        asked at rising levels l₁ < … < l_m is charged price(l₁) + Σ (price(l_i) − price(l_{i−1})) = price(l_m), as if
        it had been asked at l_m at once. The shares paid for it add up to l_m likewise. So shares of all questions that
        add up to at most 100 cost Σ price(l_m) ≤ Σ floor(B·l_m/100) ≤ B, in whatever steps they are asked for. Where
        prices are so small that a step would cost nothing, there is no such step.
        """
        step = self.calibration.charge.nano - former.calibration.charge.nano
        if not (self.has_levels and former.has_levels and former.share < self.share and step > 0):
            return None
        charge = Amount(step, self.calibration.charge.measure)
        return replace(
            self,
            calibration=replace(self.calibration, charge=charge),
            share=self.share - former.share,
            before=former.share,
        )


def find_part(parts: Iterable[QueryBudget], kind: Kind, share: int, before: int) -> QueryBudget | None:
    """What is promised for one kind of question at one share, after one level; None if nothing is."""
    by_share = {part.share: part for part in parts if part.kind == kind}
    if before == 0:
        return by_share.get(share)
    finer, former = by_share.get(before + share), by_share.get(before)
    return None if finer is None or former is None else finer.after(former)
