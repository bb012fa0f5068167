"""The audit covers validations: honest owners pass, and twins that leak or count too small a change are caught."""

import numpy as np
import pytest

from copriv.api.audited_owner import audited_house
from copriv.audit import odd_records
from copriv.audit.hostile_studies import VALIDATED, VALIDATED_LABELS
from copriv.audit.whole_reply import Case, compare_all
from copriv.owner import holding_back
from copriv.privacy.laplace import Laplace
from copriv.privacy.sensitivity import Sensitivity
from copriv.protocol import further_questions
from copriv.records.held_back import Divided

HOUSE = audited_house()


def told(house, study, thorough=False):
    case = Case(study, "csv", odd_records.SHARP, thorough=thorough)
    return [seen.where for _, seen in compare_all(house, case)]


@pytest.mark.parametrize("study", [VALIDATED, VALIDATED_LABELS])
def test_owners_that_validate_pass(study):
    assert told(HOUSE, study, thorough=True) == [None, None, None]


def test_a_twin_that_counts_a_change_of_one_is_caught(monkeypatch):
    """Replacing a record takes one count away and adds another: under replace-one that is two."""
    monkeypatch.setattr(further_questions, "of_counts", lambda norm: Sensitivity(1.0, norm))
    assert "an exact answer moves further than declared" in told(HOUSE, VALIDATED_LABELS)


def test_a_twin_that_divides_by_content_is_caught(monkeypatch):
    """Then a record that is replaced may change sides, and both numbers of records with it."""

    def by_content(sample, _share, _key):
        chosen = sample.columns.sum(axis=0) > np.median(sample.columns.sum(axis=0)[:6])
        return Divided(sample.take(np.flatnonzero(~chosen)), sample.take(np.flatnonzero(chosen)))

    monkeypatch.setattr(holding_back, "divide", by_content)
    assert any(where is not None for where in told(HOUSE, VALIDATED_LABELS))


def test_a_twin_without_noise_in_empty_bins_is_caught():
    """Its answers show which bins are empty: noise that is exactly nothing has probability 0."""
    noisy = Laplace(8.0)

    class Sparse:
        def release(self, exact):
            values = noisy.release(exact)
            return np.where(values_of(exact) == 0, 0.0, values)

    from copriv.privacy.exact import PrivateVector, unseal

    def values_of(exact):
        return unseal(exact)

    counts = np.array([3.0, 0.0, 0.0, 5.0, 1.0])
    assert finds_zeros(lambda: noisy.release(PrivateVector(counts))) == 0
    assert finds_zeros(lambda: Sparse().release(PrivateVector(counts))) > 0


def finds_zeros(release):
    """How many numbers of a few answers are nothing; of honest noise on a grid of 2⁻³⁷ none, but once in 10⁹."""
    return sum(int((release() == 0).sum()) for _ in range(5))
