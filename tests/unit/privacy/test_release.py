import pytest

from copriv.errors import BadInput
from copriv.privacy.calibration import calibrate
from copriv.privacy.guarantee import Guarantee
from copriv.privacy.release import describe, total
from copriv.privacy.sensitivity import Sensitivity
from copriv.vectors import Norm


def test_the_account_is_a_fold_over_releases():
    sensitivity = Sensitivity(0.01, Norm.L1)
    calibration = calibrate(Guarantee.of(1), answers=7, sensitivity=sensitivity, parameters=3)
    releases = [describe(f"q{k}", calibration, sensitivity) for k in range(7)]
    assert total(releases) == calibration.charge * 7
    assert total(releases).nano <= calibration.guarantee.nano_epsilon
    assert releases[0].mechanism == "laplace"
    assert releases[0].norm == "L1"


def test_currencies_are_not_mixed():
    pure, gaussian = (
        describe("q", calibrate(Guarantee.of(1, delta), answers=1, sensitivity=s, parameters=2), s)
        for delta, s in ((0.0, Sensitivity(1.0, Norm.L1)), (1e-6, Sensitivity(1.0, Norm.L2)))
    )
    with pytest.raises(BadInput, match="currencies"):
        total([pure, gaussian])
