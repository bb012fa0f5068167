"""What looks at private rows without noise while it fits or predicts: searches, scores, calibration, some ensembles.

They are known by the functions of scikit-learn that are on the call stack, also in a worker process. Each is refused,
unless it scores with `public_score`, which looks at public rows alone. A plain `predict` is nobody's look: what a user
does with the predictions is not covered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

from copriv.sklearn.callers import actor_of, caller_name, callers, module_of
from copriv.sklearn.refusal import Refusal

_MODULES = (
    "sklearn.model_selection.",
    "sklearn.calibration",
    "sklearn.ensemble._gb",
    "sklearn.ensemble._stacking",
    "sklearn.ensemble._weight_boosting",
    "sklearn.linear_model._ransac",
    "sklearn.semi_supervised.",
)
_WHATEVER_THEY_DO = ("sklearn.metrics.", "sklearn.inspection.")
_ELIMINATION = ("RFECV.", "_rfe_single_fit")
_SCORES = ("score", "staged_score")
_BLIND = ("FixedThresholdClassifier",)

Scorer = Callable[..., Any]


def refuse_lookers_at_fit(public_scorer: Scorer) -> None:
    """Refuse to be fitted by what looks at private rows, unless `public_scorer` is all that any of them scores with.

    Raises:
        Refusal: before anything is spent; its words say what to do instead.
    """
    _refuse([frame for frame in callers() if _looks(frame)], public_scorer, "nothing was spent")


def refuse_lookers_at_predict(public_scorer: Scorer, are_public: Callable[[], bool]) -> None:
    """Refuse to predict for what scores, calibrates or stacks; plain predictions of whatever is fitted go on.

    Args:
        public_scorer: which looks at public rows alone.
        are_public: whether the rows are public, asked only if somebody looks.

    Raises:
        Refusal: the predictions would be held against private targets without noise.
    """
    frames = [frame for frame in callers() if _looks_at_predictions(frame)]
    if frames and not are_public():
        _refuse(frames, public_scorer, "nothing more was spent")


def _refuse(frames: list[FrameType], public_scorer: Scorer, spent: str) -> None:
    lookers = [frame for frame in frames if not _is_only(_scorer_of(frame.f_locals), public_scorer)]
    if not lookers:
        return
    name = caller_name(lookers[-1])
    raise Refusal(
        f"{name} scores without noise on private rows",
        remedy="search with simulate=True, or on public rows with scoring=copriv.sklearn.public_score; then fit once "
        f"with noise; {spent}",
        value=name,
    )


def _looks(frame: FrameType) -> bool:
    """Whether a function of scikit-learn fits in order to look; one within another is that one's business."""
    module, function = module_of(frame), frame.f_code.co_qualname
    if not module.startswith("sklearn.") or "<" in function:
        return False
    actor = actor_of(frame)
    if type(actor).__name__ in _BLIND:
        return False
    if module == "sklearn.ensemble._bagging":
        return bool(getattr(actor, "oob_score", False))
    if module == "sklearn.multioutput":
        return getattr(actor, "cv", None) is not None
    if module == "sklearn.feature_selection._rfe":
        return function.startswith(_ELIMINATION)
    return module.startswith(_MODULES)


def _looks_at_predictions(frame: FrameType) -> bool:
    """Whether predictions go to a look: to any function that is no method, or to a method that fits or scores."""
    module, function = module_of(frame), frame.f_code.co_name
    if not module.startswith("sklearn."):
        return False
    if module.startswith(_WHATEVER_THEY_DO) or function in _SCORES:
        return True
    method = actor_of(frame) is not None
    return _looks(frame) and (not method or function.lstrip("_").startswith("fit"))


def _scorer_of(local: Mapping[str, Any]) -> object:
    """What a function of scikit-learn scores with, by the names that it has for it."""
    if "scorer" in local:
        return local["scorer"]
    return local["scoring"] if "scoring" in local else getattr(local.get("self"), "scoring", None)


def _is_only(scorer: object, wanted: Scorer) -> bool:
    """Whether a scorer, or every one of several, is the wanted one."""
    several = scorer if isinstance(scorer, Mapping) else getattr(scorer, "_scorers", None)
    if isinstance(several, Mapping):
        return bool(several) and all(each is wanted for each in several.values())
    return scorer is wanted
