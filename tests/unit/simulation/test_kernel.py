"""The compiled runs on public rows answer as owners do, be a record a row or a person."""

import numpy as np
import pytest

from copriv.entropy import seeded
from copriv.losses.choose import choose
from copriv.losses.passes import clipped_average_gradient
from copriv.losses.people import Whose
from copriv.losses.sample import Sample
from copriv.simulation.kernel import PublicRows, _clipped_average
from copriv.vectors import Norm

CHANCE = seeded(2, "kernel")
ROWS = Sample.of_rows(CHANCE.uniform(-0.5, 0.5, (400, 3)), CHANCE.choice([-1.0, 1.0], 400))
PEOPLE = Whose(CHANCE.integers(0, 150, 400), 3, "person")


@pytest.mark.parametrize("sample", [ROWS, ROWS.grouped(PEOPLE)], ids=["rows", "people"])
@pytest.mark.parametrize("norm", Norm)
@pytest.mark.parametrize("name", ["squared", "logistic"])
def test_an_answer_of_the_kernel_is_an_owners(sample, norm, name):
    loss, theta = choose(name), np.array([0.4, -1.0, 0.2])
    found = _clipped_average(PublicRows.of((loss.code, loss.threshold), sample, norm.value), theta, 0.2)
    assert np.allclose(found, clipped_average_gradient(loss, sample, theta, 0.2, norm), atol=1e-14)
