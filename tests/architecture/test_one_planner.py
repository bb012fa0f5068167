"""Only `planning` chooses rule, mechanism, answers, clip, step, horizon and box: nobody else even knows how."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "copriv"
# How settings are chosen; whoever plans imports it, and nobody else may.
CHOOSING_MODULES = {
    "copriv.planning.tuning",
    "copriv.planning.averaged_tuning",
    "copriv.planning.settle",
    "copriv.planning.screen",
    "copriv.forecast.step_search",
}
CHOOSING_NAMES = {"best_prediction", "NewtonForecast", "best_step", "choose_limit", "likely_answers", "ANSWERS"}
# Where these are made, and where `learner` and `audit` only read what was agreed.
AT_HOME = ("planning/", "forecast/", "schedule/poisson.py")

# The paper's experiments have one clip, the longest gradient: it is part of what is reproduced.
MEASURING = {"reproduction/world.py"}


def modules():
    return sorted(path for path in SOURCE.rglob("*.py"))


def violations(path, text):
    """What a module outside planning does that would choose a setting."""
    name = path.relative_to(SOURCE).as_posix()
    if name.startswith(AT_HOME):
        return []
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = {alias.name for alias in node.names}
            if node.module in CHOOSING_MODULES or {f"{node.module}.{each}" for each in names} & CHOOSING_MODULES:
                found.append(f"{name}:{node.lineno} imports from {node.module}")
            found.extend(f"{name}:{node.lineno} imports {each}" for each in sorted(names & CHOOSING_NAMES))
        if isinstance(node, ast.Import):
            found.extend(
                f"{name}:{node.lineno} imports {each.name}" for each in node.names if each.name in CHOOSING_MODULES
            )
        if isinstance(node, ast.Call) and _called(node) == "gradient_norms" and name not in MEASURING:
            found.append(f"{name}:{node.lineno} measures gradient lengths, as clips are chosen by")
    return found


def _called(node):
    called = node.func
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


def test_only_planning_chooses_settings():
    found = [line for path in modules() for line in violations(path, path.read_text(encoding="utf-8"))]
    assert not found


@pytest.mark.parametrize(
    "planted",
    [
        "from copriv.planning.tuning import choose_limit",
        "from copriv.planning import settle",
        "import copriv.planning.screen",
        "from copriv.forecast.newton import NewtonForecast",
        "from copriv.schedule.poisson import likely_answers",
        "import numpy as np\nclip = np.quantile(gradient_norms(loss, rows, theta, norm), 0.95)",
    ],
)
def test_a_planted_choice_is_caught(planted):
    assert violations(SOURCE / "runtime" / "local.py", planted)
    assert not violations(SOURCE / "planning" / "search.py", planted)


def test_there_is_one_way_to_the_noise_of_an_owner():
    """Noise of answers is worked out in protocol, from the terms: of training in commitment.py, of others beside it."""
    home = {
        *("protocol/commitment.py", "protocol/further_questions.py"),
        *("privacy/calibration.py", "simulation/cost.py"),
    }
    for path in modules():
        name = path.relative_to(SOURCE).as_posix()
        if name in home or name.startswith(("audit/", "privacy/")):
            continue
        text = path.read_text(encoding="utf-8")
        assert "calibrate(" not in text, name
        assert "of_average_gradient(" not in text, name
        assert "expected_noise_std(" not in text, name
