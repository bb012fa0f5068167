"""The short way into OpenDP leads to the same place as the long one."""

import math

import numpy as np
import pytest
from scipy import stats

from copriv.privacy import opendp_call
from copriv.privacy.exact import PrivateVector
from copriv.privacy.gaussian import Gaussian
from copriv.privacy.gaussian import _measurement as gaussian
from copriv.privacy.laplace import Laplace
from copriv.privacy.laplace import _measurement as laplace

DRAWS, LEVEL = 3000, 1e-6
VALUES = np.array([0.3, -2.0, 5.0])
MAKERS = [(Laplace, laplace, stats.laplace), (Gaussian, gaussian, stats.norm)]


def test_the_installed_version_is_tested():
    assert opendp_call.is_tested()


def _seems(found, law, scale):
    """Whether draws look like the values with this noise; wrong once in a million where they are."""
    return all(
        stats.kstest(found[:, j], law(loc=VALUES[j], scale=scale).cdf).pvalue > LEVEL for j in range(VALUES.size)
    )


@pytest.mark.parametrize(("kind", "make", "law"), MAKERS)
def test_both_ways_release_the_values_with_noise_of_the_scale(monkeypatch, kind, make, law):
    short = np.array([opendp_call.invoke(make(0.7, 3), VALUES) for _ in range(DRAWS)])
    monkeypatch.setattr(opendp_call, "is_tested", lambda: False)
    long = np.array([kind(0.7).release(PrivateVector(VALUES)) for _ in range(DRAWS)])
    for found in (short, long):
        assert _seems(found, law, 0.7)
        assert not _seems(found, law, 0.5)
        assert not _seems(found + 0.1, law, 0.7)


@pytest.mark.parametrize(("_kind", "make", "_law"), MAKERS)
def test_releases_lie_on_the_grid_and_differ(_kind, make, _law):
    step = math.ldexp(1, -41)
    first, second = (opendp_call.invoke(make(0.7, 3), VALUES) for _ in range(2))
    assert not np.array_equal(first, second)
    assert np.array_equal(first / step, np.round(first / step))


def test_the_length_is_kept_and_arrays_need_not_be_contiguous():
    wide = np.zeros((40, 2))
    assert opendp_call.invoke(laplace(1.0, 40), wide[:, 0]).shape == (40,)
    assert not np.any(wide)


def test_what_the_library_refuses_is_told():
    from opendp.mod import OpenDPException

    call = opendp_call._interface()
    with pytest.raises(OpenDPException):
        call._result(call._slice_as_object(None, b"Vec<f64>"))
