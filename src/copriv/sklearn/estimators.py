"""Estimators: a consortium of owners as one linear regressor or classifier of scikit-learn."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, d2_tweedie_score, r2_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from copriv.planning.training_spec import RuleChoice
from copriv.privacy.guarantee import Guarantee
from copriv.sklearn.cells import numbers_of, private_rows, private_targets
from copriv.sklearn.fitting import fit_line
from copriv.sklearn.given import Given
from copriv.sklearn.lookers import refuse_lookers_at_fit, refuse_lookers_at_predict
from copriv.sklearn.problem import Problem, Promise
from copriv.sklearn.public_scoring import are_public, is_simulated, public_score, require_public
from copriv.sklearn.reading import classes_of, encode, owners_of, public_of, require_loss
from copriv.sklearn.refusal import refusing
from copriv.sklearn.rows import LABEL, SIGN, Line, dictionary_of, target_of
from copriv.sklearn.settings import Settings, read_settings
from copriv.sklearn.surroundings import earlier_steps, require_ledger, target_transformed
from copriv.vectors import FloatArray

# The losses with a log link, and the power of the mean that their variance grows with.
_POWERS = {"poisson": 1, "gamma": 2}


class _Consortium(BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """What regressor and classifier share: parameters, the way to a fit, and what a fit leaves."""

    def __init__(
        self,
        epsilon: float | str = 1.0,
        delta: float = 0.0,
        *,
        public: tuple[Any, Any] | None = None,
        bounds: tuple[Any, Any] | None = None,
        ledger: str | Path | None = None,
        simulate: bool = False,
        rule: RuleChoice = "auto",
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.public = public
        self.bounds = bounds
        self.ledger = ledger
        self.simulate = simulate
        self.rule = rule
        self.settings = settings

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        words: str = super().__repr__(N_CHAR_MAX)
        return f"{words} (simulated, not private)" if is_simulated(self) else words

    def __sklearn_tags__(self) -> Given:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Given, y: Given, owner: Given = None) -> Self:
        """Train on the records of all owners; with noise unless simulated, and then charged before the first answer.

        Args:
            X: rows; what is no finite number is filled.
            y: what is to be predicted; with real noise, a record whose target cannot be read counts and says nothing.
            owner: whose each row is; None for one owner.

        Raises:
            Refusal: something does not fit, the budget does not allow it, or a search would score without noise on
                private rows. It is a `ValueError`, and nothing is spent.
        """
        steps = earlier_steps()
        if not self.simulate:
            refuse_lookers_at_fit(public_score)
            if self.ledger is None:
                require_ledger(steps)
        if target_transformed():
            steps.append("a transformer of y was fitted on private rows before")
        with refusing():
            guarantee = Guarantee.of(self.epsilon, self.delta)
            settings = read_settings(self.settings)
            problem = self._problem(X, y, owner, settings)
            promise = Promise(guarantee, self.rule, settings, self.ledger, self.simulate, type(self).__name__)
            outcome = fit_line(problem, promise, steps)
        self._take(outcome.line, problem)
        self.owners_ = np.unique(problem.owners)
        self.fill_ = outcome.line.fill
        self.spent_ = outcome.spent
        self._fitted_public = self.public
        self.forecast_ = outcome.forecast
        self.statement_ = outcome.statement
        self.n_iter_ = outcome.questions
        return self

    @abstractmethod
    def _problem(self, X: Given, y: Given, owner: Given, settings: Settings) -> Problem:
        """What is to be learnt, checked."""

    @abstractmethod
    def _take(self, line: Line, problem: Problem) -> None:
        """Keep the model in the units of X and y."""

    def _names(self) -> tuple[str, ...] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(names)

    def _read(self, X: Given, y: Given) -> tuple[FloatArray, npt.NDArray[Any]]:
        """Rows and targets to fit on; with real noise no single cell of them can raise an error."""
        if self.simulate:
            numeric = isinstance(self, RegressorMixin)
            rows, targets = validate_data(self, X, y, dtype=np.float64, ensure_all_finite=False, y_numeric=numeric)
            return rows, targets
        rows = private_rows(X)
        validate_data(self, X, skip_check_array=True)
        return rows, private_targets(y, len(rows))

    def _read_again(self, X: Given) -> FloatArray:
        """Rows to predict."""
        check_is_fitted(self)
        if is_simulated(self):
            checked: FloatArray = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite=False)
            return checked
        with refusing():
            rows = private_rows(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return rows

    def _margins(self, X: Given, *, scored: bool = False) -> FloatArray:
        """X @ coef_ + intercept_, with what is no finite number filled; `scored` if the rows are known to be public.

        Raises:
            Refusal: the noise is real, and what asks looks at private rows without any.
        """
        rows = self._read_again(X)
        if not scored and not is_simulated(self):
            refuse_lookers_at_predict(public_score, lambda: are_public(self, rows))
        filled = np.where(np.isfinite(rows), rows, self.fill_)
        return np.asarray(filled @ np.ravel(self.coef_) + np.ravel(self.intercept_)[0], dtype=np.float64)


class ConsortiumRegressor(RegressorMixin, _Consortium):  # type: ignore[misc]
    """Linear regression on the records of several owners, with noise on what each of them answers.

    Args:
        epsilon: ε that a fit promises for any one record (replace-one).
        delta: δ; 0 for Laplace noise, more for Gaussian noise.
        public: (X, y) of rows that nobody has to protect; everything is chosen on them.
        bounds: ((low, high) of X, as numbers or one a column, (low, high) of y); with them no public rows are needed.
        ledger: the file of a budget, as `open_budget` makes it; clones, pickles and parallel fits all pay from it.
            None for the ledger that the records have in the user's registry, as in `copriv train`.
        simulate: noise from a seed, no ledger: not private.
        rule: auto, newton, statistics, averaged, paper, or one from outside, by its name or its entry.
        settings: everything else, by name: see `Settings`.

    Attributes:
        coef_: slopes in the units of X.
        intercept_: predict(X) is X @ coef_ + intercept_; exp of that with the Poisson and the Gamma loss.
        spent_: what the fit cost.
        forecast_: ψ, the relative excess loss, as the public rows foretell it: relative_fitness, interval, caveats; NaN
            without public rows.
        statement_: what is promised, and what is not covered.
        owners_: whose records they are.
        n_iter_: questions to owners.

    >>> X = np.random.default_rng(0).normal(size=(3000, 2))
    >>> y, bank = 3 * X[:, 0] - X[:, 1] + 5, np.arange(3000) % 3
    >>> model = ConsortiumRegressor(epsilon=1, simulate=True, bounds=((-4, 4), (-15, 25))).fit(X, y, owner=bank)
    >>> model.predict(X).shape, model.n_iter_
    ((3000,), 15)
    >>> print(model.statement_.splitlines()[0])
    Simulated, not private: the noise can be drawn again.
    """

    def predict(self, X: Given) -> FloatArray:
        """X @ coef_ + intercept_: in the units of y, and not held within its bounds; exp of it with a log link."""
        return self._predictions(self._margins(X))

    def _predictions(self, margins: FloatArray) -> FloatArray:
        return margins if self._power is None else np.exp(margins)

    def score(self, X: Given, y: Given, sample_weight: Given = None, *, public: bool = False) -> float:
        """R² on rows that are public, or of a simulation; with the Poisson and the Gamma loss, D².

        Raises:
            Refusal: the noise is real and the rows are neither `self.public` nor declared public.
        """
        require_public(self, X, y, declared=public)
        found = self._predictions(self._margins(X, scored=True))
        if self._power is None:
            return float(r2_score(y, found, sample_weight=sample_weight))
        return float(d2_tweedie_score(y, found, sample_weight=sample_weight, power=self._power))

    def _problem(self, X: Given, y: Given, owner: Given, settings: Settings) -> Problem:
        rows, values = self._read(X, y)
        public = public_of(self.public, rows.shape[1], self._names())
        targets = None if public is None else public.numbers()
        loss = require_loss(settings.get("loss", "squared"), ("squared", "huber", *_POWERS))
        target = target_of(self.bounds, loss)
        dictionary = dictionary_of(self.bounds, rows.shape[1], targets, target, settings.get("components", 10), loss)
        owners = owners_of(owner, len(rows))
        return Problem(rows, numbers_of(values), owners, self._names(), targets, dictionary, loss, np.empty(0))

    def _take(self, line: Line, problem: Problem) -> None:
        target, self._power = problem.dictionary.target, _POWERS.get(problem.loss)
        if target.is_rate:
            self.coef_, self.intercept_ = line.slopes, float(line.start + np.log(target.center))
            return
        self.coef_ = line.slopes * target.scale
        self.intercept_ = float(line.start * target.scale + target.center)


class ConsortiumClassifier(ClassifierMixin, _Consortium):  # type: ignore[misc]
    """Two classes told apart by a line, on the records of several owners, with noise on what they answer.

    Args:
        epsilon: ε that a fit promises for any one record (replace-one).
        delta: δ; 0 for Laplace noise, more for Gaussian noise.
        public: (X, y) of rows that nobody has to protect; everything is chosen on them.
        bounds: ((low, high) of X, as numbers or one a column, the two classes); with them no public rows are needed.
        ledger: the file of a budget, as `open_budget` makes it; clones, pickles and parallel fits all pay from it.
            None for the ledger that the records have in the user's registry, as in `copriv train`.
        simulate: noise from a seed, no ledger: not private.
        rule: auto, newton, statistics, averaged, paper, or one from outside, by its name or its entry.
        settings: everything else, by name: see `Settings`.

    Attributes:
        classes_: the two classes, of the public rows or as agreed in `bounds`; a record of another class counts and
            says nothing.
        coef_: slopes in the units of X.
        intercept_: decision_function(X) is X @ coef_ + intercept_.
        spent_: what the fit cost.
        forecast_: ψ, the relative excess loss, as the public rows foretell it: relative_fitness, interval, caveats; NaN
            without public rows.
        statement_: what is promised, and what is not covered.
        owners_: whose records they are.
        n_iter_: questions to owners.

    >>> X = np.random.default_rng(0).normal(size=(3000, 2))
    >>> y = np.where(X[:, 0] > 0, "good", "bad")
    >>> model = ConsortiumClassifier(epsilon=1, simulate=True, bounds=((-4, 4), ("bad", "good"))).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    def __sklearn_tags__(self) -> Given:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def decision_function(self, X: Given) -> FloatArray:
        """X @ coef_ + intercept_: above 0 for the second class."""
        return self._margins(X)

    def predict(self, X: Given) -> npt.NDArray[Any]:
        """The likelier class."""
        return self._likelier(self._margins(X))

    def _likelier(self, margins: FloatArray) -> npt.NDArray[Any]:
        return np.asarray(self.classes_[(margins > 0).astype(int)])

    def predict_proba(self, X: Given) -> FloatArray:
        """The probability of each class."""
        margins = self._margins(X)
        return np.column_stack([expit(-margins), expit(margins)])

    def predict_log_proba(self, X: Given) -> FloatArray:
        """The logarithm of the probability of each class."""
        margins = self._margins(X)
        return np.column_stack([-np.logaddexp(0, margins), -np.logaddexp(0, -margins)])

    def score(self, X: Given, y: Given, sample_weight: Given = None, *, public: bool = False) -> float:
        """The share of rows whose class is predicted, on rows that are public, or of a simulation.

        Raises:
            Refusal: the noise is real and the rows are neither `self.public` nor declared public.
        """
        require_public(self, X, y, declared=public)
        likelier = self._likelier(self._margins(X, scored=True))
        return float(accuracy_score(y, likelier, sample_weight=sample_weight))

    def _problem(self, X: Given, y: Given, owner: Given, settings: Settings) -> Problem:
        rows, values = self._read(X, y)
        if self.simulate:
            check_classification_targets(values)
        public = public_of(self.public, rows.shape[1], self._names())
        classes = classes_of(self.bounds, public, values, simulate=self.simulate)
        targets = None if public is None else public.labels(classes)
        usual = "squared" if public is None else "logistic"
        loss = require_loss(settings.get("loss", usual), ("logistic", "squared"))
        target = LABEL if loss == "logistic" else SIGN
        dictionary = dictionary_of(self.bounds, rows.shape[1], targets, target, settings.get("components", 10))
        owners = owners_of(owner, len(rows))
        return Problem(rows, encode(values, classes), owners, self._names(), targets, dictionary, loss, classes)

    def _take(self, line: Line, problem: Problem) -> None:
        """Of a squared loss the margin is the mean of ±1; twice that is the log-odds, to the first order."""
        factor = 1.0 if problem.loss == "logistic" else 2.0
        self.classes_ = problem.classes
        self.coef_ = factor * line.slopes[None, :]
        self.intercept_ = np.array([factor * line.start])
