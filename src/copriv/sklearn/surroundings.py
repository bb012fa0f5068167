"""What calls `fit`: a pipeline that has fitted before, or something that changes the rows, which then have no ledger.

scikit-learn clones an estimator and calls `fit` on the clone, which cannot know why. The calls above it on the stack
do: they are scikit-learn's own functions, also in a worker process.
"""

from __future__ import annotations

from types import FrameType

from sklearn.utils import get_tags

from copriv.sklearn.callers import caller_name, callers, module_of
from copriv.sklearn.refusal import Refusal

# What fits on some of the columns, on some of the rows, or on columns of its own beside them.
_CHANGING_MODULES = ("sklearn.feature_selection.", "sklearn.ensemble._bagging")
_CHANGING_FUNCTIONS = ("_BaseChain.", "RegressorChain.", "ClassifierChain.", "_fit_ovo_binary")


def require_ledger(steps: list[str]) -> None:
    """Refuse a fit without a named ledger on rows that are not those that the user gave.

    The registry knows rows as they are. Rows that were scaled, or chosen from, are new to it, and would have a fresh
    budget each time.

    Raises:
        Refusal: before anything is spent; its words say what to do instead.
    """
    changing = [frame for frame in callers() if _changes(frame)]
    if not steps and not changing:
        return
    name = caller_name(changing[-1]) if changing else "a step before it"
    raise Refusal(
        f"{name} changes the rows, so the registry cannot tell whose budget they have",
        remedy="name a ledger: ledger=copriv.sklearn.open_budget(path, epsilon=3); or use simulate=True; nothing was "
        "spent",
        value=name,
    )


def earlier_steps() -> list[str]:
    """The steps that pipelines have fitted before this `fit`, each with what it is; the outer pipeline's first."""
    found: list[str] = []
    stops: dict[int, int] = {}
    for frame in callers():
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
    return any(frame.f_globals.get("__name__") == "sklearn.compose._target" for frame in callers())


def _describe(name: str, step: object) -> str:
    kind = type(step).__name__
    if kind == "FrozenEstimator":
        return f"step {name!r} ({kind}) was fitted elsewhere: covered only if that was on public rows"
    if not get_tags(step).requires_fit:
        return f"step {name!r} ({kind}) learns nothing: covered only if it maps each row by itself"
    return f"step {name!r} ({kind}) was fitted on private rows before"


def _changes(frame: FrameType) -> bool:
    module, function = module_of(frame), frame.f_code.co_qualname
    return module.startswith(_CHANGING_MODULES) or (
        module.startswith("sklearn.multi") and function.startswith(_CHANGING_FUNCTIONS)
    )
