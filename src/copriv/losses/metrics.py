"""How good predictions are, in figures that people know.

Numbers: R², root mean square and mean absolute error in the target's own unit, beside what always predicting the mean
gives. Labels: AUC, log-loss (nats a record) and accuracy, beside what the share of positive labels and the more
frequent label give. Counts and amounts: the deviance a record and the share of it that is explained (D²), beside what
always predicting the mean gives, the error in the target's unit, and what is expected beside what is observed.
"""

from __future__ import annotations

from statistics import NormalDist

import msgspec
import numpy as np

from copriv.vectors import FloatArray

# A best model that explains less than this of the target has hardly anything to learn.
LITTLE = 0.01
_SURE = 1e-12
# A better model takes at most three quarters of the variance within a class away.
_LEAST_NOISE = 0.25
_LARGEST_ODDS = 50.0


class Metrics(msgspec.Struct, frozen=True, omit_defaults=True):
    """How good predictions are on some records; those of numbers, of labels, or of counts and amounts.

    Args:
        records: on how many.
        r2: the share of the target's variance that is explained; None if it does not vary.
        rmse: root mean square error, in the target's unit.
        mae: mean absolute error, in the target's unit.
        rmse_of_mean: of always predicting the mean of these records.
        auc: the chance that a positive record gets more than a negative one; None if there is one label only.
        log_loss: nats a record.
        accuracy: the share of labels that is right, with a cut at one half.
        majority: the accuracy of always predicting the more frequent label.
        log_loss_of_share: of always predicting the share of positive labels.
        auc_fall: how fast the AUC falls as noise in the model raises the log-loss; of cross-validated models only.
        deviance: of counts (Poisson) or amounts (Gamma), a record.
        d2: the share of the deviance around the mean that is explained; None if there is none.
        expected: the mean prediction, in the target's unit.
        observed: the mean of the target.
    """

    records: int
    r2: float | None = None
    rmse: float | None = None
    mae: float | None = None
    rmse_of_mean: float | None = None
    auc: float | None = None
    log_loss: float | None = None
    accuracy: float | None = None
    majority: float | None = None
    log_loss_of_share: float | None = None
    auc_fall: float | None = None
    deviance: float | None = None
    d2: float | None = None
    expected: float | None = None
    observed: float | None = None

    @property
    def explained(self) -> float | None:
        """The share of the target that is explained: R², D², or of labels 1 − log-loss over that of their share."""
        if self.deviance is not None:
            return self.d2
        if self.log_loss is None:
            return self.r2
        return 1 - self.log_loss / self.log_loss_of_share if self.log_loss_of_share else None

    @property
    def share_name(self) -> str:
        """What people call the share that is explained."""
        if self.deviance is not None:
            return "D²"
        return "R²" if self.log_loss is None else "log-loss explained"

    @property
    def words(self) -> str:
        """The figures in a line.

        >>> number_metrics(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0])).words
        'R² 0.500, RMSE 0.577, MAE 0.333'
        """
        if self.deviance is not None:
            return self._rate_words
        if self.log_loss is not None:
            auc = "" if self.auc is None else f"AUC {self.auc:.3f}, "
            right = "" if self.accuracy is None else f", {self.accuracy:.1%} right (majority {self.majority:.1%})"
            return f"{auc}log-loss {self.log_loss:.4f}{right}"
        return f"R² {'–' if self.r2 is None else f'{self.r2:.3f}'}, RMSE {self.rmse:.3g}, MAE {self.mae:.3g}"

    @property
    def _rate_words(self) -> str:
        share = "–" if self.d2 is None else f"{self.d2:.3f}"
        error = "" if self.rmse is None else f", RMSE {self.rmse:.3g}"
        seen = "" if self.expected is None else f", {self.expected:.4g} expected for {self.observed:.4g} observed"
        return f"D² {share}, deviance {self.deviance:.4g}{error}{seen}"

    def at_loss(self, ratio: float) -> Metrics:
        """What is to be expected of a model whose loss is `ratio` times this one's.

        AUC follows where `auc_fall` is known; accuracy does not follow from a loss and is left out, nor does the error
        of counts and amounts.

        >>> number_metrics(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0])).at_loss(2.0).r2
        0.0
        """
        if self.deviance is not None:
            d2 = None if self.d2 is None else 1 - (1 - self.d2) * ratio
            return Metrics(self.records, deviance=self.deviance * ratio, d2=d2, rmse_of_mean=self.rmse_of_mean)
        if self.log_loss is not None:
            return Metrics(
                self.records,
                auc=self._auc_at(ratio),
                log_loss=self.log_loss * ratio,
                majority=self.majority,
                log_loss_of_share=self.log_loss_of_share,
            )
        length = float(np.sqrt(max(ratio, 0.0)))
        return Metrics(
            self.records,
            r2=None if self.r2 is None else 1 - (1 - self.r2) * ratio,
            rmse=None if self.rmse is None else self.rmse * length,
            mae=None if self.mae is None else self.mae * length,
            rmse_of_mean=self.rmse_of_mean,
        )

    def _auc_at(self, ratio: float) -> float | None:
        """Φ(Φ⁻¹(AUC)/√(1 + c(ratio − 1))), with c the `auc_fall`: noise adds to the variance within a class."""
        if self.auc is None or self.auc_fall is None or not np.isfinite(ratio):
            return None
        normal = NormalDist()
        apart = normal.inv_cdf(min(max(self.auc, _SURE), 1 - _SURE))
        return normal.cdf(apart / float(np.sqrt(max(1 + self.auc_fall * (ratio - 1), _LEAST_NOISE))))


def number_metrics(predictions: FloatArray, truth: FloatArray) -> Metrics:
    """How far off predicted numbers are."""
    residuals = predictions - truth
    spread, squares = float(np.std(truth)), float(np.mean(residuals**2))
    varies = spread > _SURE * max(1.0, float(np.max(np.abs(truth))))
    return Metrics(
        int(truth.size),
        r2=1 - squares / spread**2 if varies else None,
        rmse=float(np.sqrt(squares)),
        mae=float(np.mean(np.abs(residuals))),
        rmse_of_mean=spread,
    )


def rate_metrics(predictions: FloatArray, truth: FloatArray, *, amounts: bool) -> Metrics:
    """How good expectations of counts are, or of amounts.

    >>> rate_metrics(np.array([1.0, 3.0]), np.array([0.0, 4.0]), amounts=False).words
    'D² 0.585, deviance 1.151, RMSE 1, 2 expected for 2 observed'
    """
    unit = _amount_deviances if amounts else _count_deviances
    mean = float(truth.mean())
    deviance, around = float(np.mean(unit(predictions, truth))), float(np.mean(unit(np.full(truth.size, mean), truth)))
    return Metrics(
        int(truth.size),
        rmse=float(np.sqrt(np.mean((predictions - truth) ** 2))),
        mae=float(np.mean(np.abs(predictions - truth))),
        rmse_of_mean=float(np.std(truth)),
        deviance=deviance,
        d2=1 - deviance / around if around > _SURE else None,
        expected=float(predictions.mean()),
        observed=mean,
    )


def _count_deviances(expected: FloatArray, counts: FloatArray) -> FloatArray:
    """2(y log(y/μ) − y + μ)."""
    means = np.maximum(expected, _SURE)
    ratios = np.where(counts > 0, counts, means) / means
    return np.asarray(2 * (counts * np.log(ratios) - counts + means), dtype=np.float64)


def _amount_deviances(expected: FloatArray, amounts: FloatArray) -> FloatArray:
    """2(y/μ − 1 − log(y/μ))."""
    ratios = np.maximum(amounts, _SURE) / np.maximum(expected, _SURE)
    return np.asarray(2 * (ratios - 1 - np.log(ratios)), dtype=np.float64)


def label_metrics(probabilities: FloatArray, positive: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Metrics:
    """How good probabilities of a positive label are.

    >>> label_metrics(np.array([0.9, 0.2, 0.6]), np.array([True, False, False])).auc
    1.0
    """
    held, share = np.clip(probabilities, _SURE, 1 - _SURE), float(positive.mean())
    return Metrics(
        int(positive.size),
        auc=_auc(probabilities, positive),
        log_loss=float(-np.mean(np.where(positive, np.log(held), np.log1p(-held)))),
        accuracy=float(np.mean((probabilities > 0.5) == positive)),
        majority=max(share, 1 - share),
        log_loss_of_share=_entropy(share),
    )


def with_auc_fall(
    metrics: Metrics, margins: FloatArray, positive: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> Metrics:
    """The same, and how fast the AUC falls as the log-loss rises.

    Noise of variance v in the margins raises the log-loss by v·E[p(1 − p)]/2 and adds v to the variance w of margins
    within a class. Two normal laws at a distance d have an AUC of Φ(d/√(2w)). So 1 + v/w is 1 + c(ratio − 1) with
    c = 2·log-loss/(w·E[p(1 − p)]).

    Args:
        metrics: of these margins.
        margins: log-odds.
        positive: which labels are positive.
    """
    within = sum(
        float(margins[chosen].var()) * float(chosen.mean()) for chosen in (positive, ~positive) if chosen.any()
    )
    held = np.clip(margins, -_LARGEST_ODDS, _LARGEST_ODDS)
    bend = float(np.mean(1 / (2 + np.exp(held) + np.exp(-held))))
    if metrics.log_loss is None or not (within > 0 and bend > 0):
        return metrics
    return msgspec.structs.replace(metrics, auc_fall=2 * metrics.log_loss / (within * bend))


def little_to_learn(best: Metrics | None) -> str | None:
    """What a person should not overlook: that even the best model explains hardly anything; None if it does.

    >>> little_to_learn(number_metrics(np.zeros(4), np.array([1.0, -1.0, 1.0, -1.0])))
    'the best model explains 0.0 % of the target: there is hardly anything to learn'
    """
    if best is None:
        return None
    if best.explained is None:
        return "the target is the same in every record: there is nothing to learn"
    if best.explained >= LITTLE:
        return None
    share = f"{100 * max(best.explained, 0.0):.1f} %"
    return f"the best model explains {share} of the target: there is hardly anything to learn"


def median_metrics(found: list[Metrics]) -> Metrics | None:
    """The median of every figure, over those that have it; None if there are none."""
    if not found:
        return None
    medians: dict[str, float] = {}
    for name in Metrics.__struct_fields__[1:]:
        values = [value for each in found if (value := getattr(each, name)) is not None]
        if values:
            medians[name] = float(np.median(values))
    return Metrics(int(np.median([each.records for each in found])), **medians)


def _auc(scores: FloatArray, positive: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float | None:
    """By ranks; ties count one half."""
    positives = int(positive.sum())
    if positives in (0, positive.size):
        return None
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    won = float(ranks[positive].sum()) - positives * (positives + 1) / 2
    return won / (positives * (positive.size - positives))


def _entropy(share: float) -> float:
    if share in (0.0, 1.0):
        return 0.0
    return float(-share * np.log(share) - (1 - share) * np.log1p(-share))
