"""What a fit is about: records, targets and owners, and the promise under which they are learnt from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from copriv.losses.sample import Sample
from copriv.planning.training_spec import RuleChoice
from copriv.privacy.guarantee import Guarantee
from copriv.records.dictionary import Dictionary
from copriv.sklearn.rows import sample_of
from copriv.sklearn.settings import Settings
from copriv.vectors import FloatArray


class PublicTable(NamedTuple):
    """Rows that nobody has to protect, with their targets as numbers."""

    rows: FloatArray
    targets: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What is to be learnt.

    Args:
        rows: X.
        targets: y as numbers; NaN for a record that says nothing.
        owners: whose each row is.
        names: of the columns, if they have any.
        public: the public rows, if there are any.
        dictionary: how a row becomes a bounded record.
        loss: squared, huber, poisson, gamma or logistic.
        classes: the two classes that −1 and +1 stand for; none for a target that is a number.
    """

    rows: FloatArray
    targets: FloatArray
    owners: npt.NDArray[np.str_]
    names: tuple[str, ...] | None
    public: PublicTable | None
    dictionary: Dictionary
    loss: str
    classes: npt.NDArray[Any]

    def public_sample(self) -> Sample | None:
        """The public rows as bounded records."""
        return None if self.public is None else sample_of(self.dictionary, self.public.rows, self.public.targets)


@dataclass(frozen=True, slots=True)
class Promise:
    """Under which promise it is learnt, and who pays."""

    guarantee: Guarantee
    rule: RuleChoice
    settings: Settings
    ledger: str | Path | None
    simulate: bool
    name: str
