"""What calls `fit`: a search that would score without noise on private rows, or a pipeline that has fitted before.

scikit-learn clones an estimator and calls `fit` on the clone, which cannot know why. The calls above it on the stack
do: they are scikit-learn's own functions, also in a worker process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any

from sklearn.utils import get_tags

from copriv.sklearn.refusal import Refusal

# What fits and then looks at private rows without noise, by module; each is refused unless it scores on public rows.
_LOOKERS = (
    "sklearn.model_selection.",
    "sklearn.calibration",
    "sklearn.ensemble._stacking",
)
_LOOKING_FUNCTIONS = ("RFECV.", "_rfe_single_fit")
_BLIND = ("FixedThresholdClassifier",)

Scorer = Callable[..., Any]


def refuse_search(public_scorer: Scorer) -> None:
    """Refuse to be fitted by a search or a cross-validation, unless `public_scorer` is all that it scores with.

    Raises:
        Refusal: before anything is spent; its words say what to do instead.
    """
    lookers = [frame for frame in _callers() if _looks(frame)]
    if not lookers or _scores_with(_scorer_of(lookers[0].f_locals), public_scorer):
        return
    name = _name(lookers[-1])
    raise Refusal(
        f"{name} scores without noise on private rows",
        remedy="search with simulate=True, or on public rows with scoring=copriv.sklearn.public_score; then fit once "
        "with noise; nothing was spent",
        value=name,
    )


def earlier_steps() -> list[str]:
    """The steps that pipelines have fitted before this `fit`, each with what it is; the outer pipeline's first."""
    found: list[str] = []
    stops: dict[int, int] = {}
    for frame in _callers():
        if frame.f_globals.get("__name__") != "sklearn.pipeline":
            continue
        function, pipeline = frame.f_code.co_qualname, frame.f_locals.get("self")
        if pipeline is None:
            continue
        if function == "Pipeline._fit":  # an estimator inside a step that is not the last
            stops[id(pipeline)] = frame.f_locals.get("step_idx", -1)
        elif function.startswith("Pipeline.fit"):
            before = pipeline.steps[: stops.get(id(pipeline), -1)]
            found = [*(_describe(name, step) for name, step in before if step not in (None, "passthrough")), *found]
    return found


def target_transformed() -> bool:
    """Whether a `TransformedTargetRegressor` has fitted a transformer of the target before."""
    return any(frame.f_globals.get("__name__") == "sklearn.compose._target" for frame in _callers())


def _describe(name: str, step: object) -> str:
    kind = type(step).__name__
    if kind == "FrozenEstimator":
        return f"step {name!r} ({kind}) was fitted elsewhere: covered only if that was on public rows"
    if not get_tags(step).requires_fit:
        return f"step {name!r} ({kind}) learns nothing: covered only if it maps each row by itself"
    return f"step {name!r} ({kind}) was fitted on private rows before"


def _callers() -> Iterator[FrameType]:
    frame = sys._getframe(2)  # noqa: SLF001 - the only way to know who fits
    while frame is not None:
        yield frame
        frame = frame.f_back  # type: ignore[assignment]


def _looks(frame: FrameType) -> bool:
    module, function = str(frame.f_globals.get("__name__", "")), frame.f_code.co_qualname
    if type(frame.f_locals.get("self")).__name__ in _BLIND:
        return False
    if module == "sklearn.feature_selection._rfe":
        return function.startswith(_LOOKING_FUNCTIONS)
    return module.startswith(_LOOKERS)


def _name(frame: FrameType) -> str:
    """What a user calls it: a class, or a function."""
    looker = frame.f_locals.get("self")
    return frame.f_code.co_name if looker is None else type(looker).__name__


def _scorer_of(local: Mapping[str, Any]) -> object:
    """What a function of scikit-learn scores with, by the names that it has for it."""
    if "scorer" in local:
        return local["scorer"]
    return local["scoring"] if "scoring" in local else getattr(local.get("self"), "scoring", None)


def _scores_with(scorer: object, wanted: Scorer) -> bool:
    """Whether a scorer, or every one of several, is the wanted one."""
    several = scorer if isinstance(scorer, Mapping) else getattr(scorer, "_scorers", None)
    if isinstance(several, Mapping):
        return bool(several) and all(each is wanted for each in several.values())
    return scorer is wanted
