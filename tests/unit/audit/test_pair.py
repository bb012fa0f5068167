"""Neighbouring tables as far apart as they can be, and the reference gradient they are known by."""

import numpy as np
import pytest

from copriv.audit.pair import axis, diagonal, make_pair
from copriv.audit.reference import reference_answer
from copriv.audit.subject import honest_promise
from copriv.losses.sample import Sample

ZERO = np.zeros(10)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("direction", [diagonal(10), axis(10)], ids=lambda direction: direction.name)
def test_the_tables_differ_in_one_record_and_their_answers_by_the_whole_sensitivity(claim_of, delta, direction):
    claim = claim_of(delta=delta)
    pair, commitment = make_pair(claim, direction), honest_promise(claim)
    differing = (pair.first.targets != pair.second.targets) | (pair.first.columns != pair.second.columns).any(axis=0)
    assert differing.sum() == 1
    assert not commitment.exact_answer(pair.first, ZERO).any()
    assert commitment.exact_answer(pair.second, ZERO) == pytest.approx(pair.shift, rel=1e-12)
    assert claim.norm.of(pair.shift) == pytest.approx(commitment.sensitivity.value)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_reference_agrees_with_the_owner(claim_of, delta, generator):
    claim = claim_of(delta=delta)
    commitment = honest_promise(claim)
    sample = Sample.of_rows(generator.normal(size=(100, 10)), generator.normal(size=100))
    theta = generator.uniform(-1, 1, size=10)
    expected = reference_answer(sample, theta, claim.clip, claim.norm)
    assert commitment.exact_answer(sample, theta) == pytest.approx(expected, rel=1e-10)
