"""Average losses of owners, added up by their records, with the error that their noise leaves."""

import math

import msgspec
import numpy as np
import pytest

from copriv.errors import BadInput, ProtocolError
from copriv.learner.evaluation import combine
from copriv.privacy.release import Release
from copriv.protocol.messages import Answer


def _answer(owner, loss, mechanism="laplace", scale=0.01):
    measure = "epsilon" if mechanism == "laplace" else "rho"
    return Answer("q", owner, (loss,), Release("q", mechanism, scale, 0.001, "L1", 5, measure), "ab" * 32)


def test_owners_count_by_their_records():
    found = combine([_answer("a", 0.2), _answer("b", 0.4)], {"a": 300, "b": 100, "c": 7})
    assert found.loss == pytest.approx(0.25)
    assert found.standard_error == pytest.approx(math.sqrt(2) * 0.01 * math.hypot(0.75, 0.25))
    assert (found.records, found.owners) == (400, 2)


def test_one_owner_is_itself():
    found = combine([_answer("a", -0.1, "gaussian", 0.3)], {"a": 12})
    assert (found.loss, found.standard_error) == (pytest.approx(-0.1), pytest.approx(0.3))


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_the_standard_error_is_the_spread_of_the_result(mechanism):
    """Seeded; off by 10 % it would be seen in so many repetitions."""
    generator = np.random.default_rng(3)
    sizes, scales, losses = {"a": 50, "b": 500, "c": 200}, {"a": 0.5, "b": 0.02, "c": 0.1}, {"a": 1, "b": 2, "c": 3}
    draw = generator.laplace if mechanism == "laplace" else generator.normal
    found = [
        combine(
            [_answer(name, losses[name] + draw(scale=scales[name]), mechanism, scales[name]) for name in sizes], sizes
        )
        for _ in range(4000)
    ]
    spread = np.std([result.loss for result in found])
    assert spread == pytest.approx(found[0].standard_error, rel=0.06)
    assert np.mean([result.loss for result in found]) == pytest.approx(1650 / 750, abs=5 * spread / 4000**0.5)


def test_what_cannot_be_added_up_is_refused():
    good, sizes = _answer("a", 0.2), {"a": 10, "b": 20}
    with pytest.raises(BadInput, match="no owner"):
        combine([], sizes)
    with pytest.raises(BadInput, match="2 answers of 'a'"):
        combine([good, _answer("b", 0.1), good], sizes)
    with pytest.raises(BadInput, match="'c' has 0 records"):
        combine([_answer("c", 0.1)], sizes)
    for values in ((), (0.1, 0.2), (math.nan,), (math.inf,)):
        with pytest.raises(ProtocolError, match="one finite number"):
            combine([msgspec.structs.replace(good, values=values)], sizes)
    with pytest.raises(ProtocolError, match="'uniform'"):
        combine([_answer("a", 0.1, "uniform")], sizes)
    with pytest.raises(BadInput, match="scale"):
        combine([_answer("a", 0.1, scale=-1.0)], sizes)
