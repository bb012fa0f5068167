"""scikit-learn's own checks of an estimator: all pass, on simulated fits with agreed bounds.

The checks bring rows of many shapes and no public ones, so bounds take their place. ε is so large that noise does not
decide whether a score is good enough. No check is expected to fail.
"""

from sklearn.utils.estimator_checks import parametrize_with_checks

from copriv.sklearn import ConsortiumClassifier, ConsortiumRegressor

BOUNDED = ConsortiumRegressor(
    epsilon=1e6, simulate=True, bounds=((-10, 10), (-10, 10)), settings={"regularization": 1e-9, "box": 100.0}
)
TWO_CLASSES = ConsortiumClassifier(
    epsilon=1e6, simulate=True, bounds=((-10, 10), None), settings={"regularization": 1e-9, "box": 100.0}
)


@parametrize_with_checks([BOUNDED, TWO_CLASSES])
def test_a_check_of_scikit_learn(estimator, check):
    check(estimator)
