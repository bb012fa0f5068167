"""scikit-learn's own checks of an estimator, on simulated fits with agreed bounds; what must fail is named."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from copriv.sklearn import ConsortiumClassifier, ConsortiumRegressor

BOUNDED = ConsortiumRegressor(
    epsilon=1e6, simulate=True, bounds=((-10, 10), (-10, 10)), settings={"regularization": 1e-9, "box": 100.0}
)
TWO_CLASSES = ConsortiumClassifier(
    epsilon=1e6, simulate=True, bounds=((-10, 10), None), settings={"regularization": 1e-9, "box": 100.0}
)


def _expected(estimator):
    return {}


@parametrize_with_checks([BOUNDED, TWO_CLASSES], expected_failed_checks=_expected)
def test_a_check_of_scikit_learn(estimator, check):
    check(estimator)
