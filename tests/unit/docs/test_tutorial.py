"""docs/tutorial.md is true: its five commands run in order in an empty folder, and print what stands there."""

import json
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from copriv.cli import main as command
from copriv.protocol.study_file import read_study

PAGE = Path(__file__).resolve().parents[3] / "docs" / "tutorial.md"
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
# Forecasts may move a little with better formulas; the rehearsal's noise is drawn afresh.
CLOSE, NOISY = 1.3, 3.0


@dataclass
class Step:
    command: list[str]
    shown: list[str]
    text: str = ""


def read_steps():
    """The commands of the page, each with the lines of output that stand below it."""
    steps = []
    for kind, block in re.findall(
        r"^```(sh|text)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    ):
        if kind == "sh":
            steps += [Step(shlex.split(line), []) for line in block.splitlines()]
        else:
            steps[-1].shown += block.splitlines()
    return steps


def type_in(folder, words):
    """What a command prints that is typed in a folder; it must succeed."""
    path = folder / "printed"
    with path.open("w", encoding="utf-8") as printed, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("COLUMNS", "200")
        patch.setattr(sys, "argv", words)
        patch.setattr(sys, "stdout", printed)
        with pytest.raises(SystemExit) as stopped:
            command.main()
    assert stopped.value.code == 0, words
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    """Every step with what its command has printed, and the folder in which all of them ran."""
    folder, steps = tmp_path_factory.mktemp("tutorial"), read_steps()
    for step in steps:
        step.text = type_in(folder, step.command)
    return steps, folder


def words(line):
    """A line without its frame, its numbers made alike."""
    return " ".join(NUMBER.sub("#", re.sub(r"[│┃]", " ", line)).split())


def numbers(line):
    return [float(number.replace(",", "")) for number in NUMBER.findall(line)]


def agrees(shown, printed, factor):
    """Whether some printed line has the same words, and numbers within the factor."""
    return any(
        words(line) == words(shown)
        and all(a == b or b / factor <= a <= b * factor for a, b in zip(numbers(line), numbers(shown), strict=True))
        for line in printed.splitlines()
    )


def test_there_are_five_commands_in_the_order_of_the_decision():
    steps = read_steps()
    assert [step.command[:2] for step in steps] == [
        ["copriv", name] for name in ("generate", "forecast", "plan", "train", "verdict")
    ]


def test_every_command_prints_what_stands_below_it(walked):
    for step in walked[0]:
        factor = NOISY if step.command[1] == "train" else CLOSE
        for line in step.shown:
            assert agrees(line, step.text, factor), (line, step.text)
    assert sum(len(step.shown) for step in walked[0]) >= 12


def test_the_comparison_of_lines_has_teeth():
    printed = "│ joint, private │ 7.35e-04 │ 95 %: 3.51e-04 to 0.0013 │"
    assert agrees("│ joint,  private │ 7.9e-04 │ 95 %: 3.4e-04 to 0.0012 │", printed, CLOSE)
    assert not agrees("│ joint, private │ 7.35e-03 │ 95 %: 3.51e-04 to 0.0013 │", printed, CLOSE)
    assert not agrees("│ joint, public │ 7.35e-04 │ 95 %: 3.51e-04 to 0.0013 │", printed, CLOSE)
    assert not agrees("│ joint, private │ 7.35e-04 │ 95 %: 3.51e-04 to 0.0013 │ 1 │", printed, CLOSE)


def test_the_rehearsal_has_the_very_terms_of_the_plan(walked):
    _, folder = walked
    told = json.loads((folder / "rehearsal" / "run.json").read_text())
    assert told["terms"] == read_study((folder / "study.toml").read_text()).terms.digest()
    assert told["noise"] == "secure"


def test_what_the_text_claims_holds(walked):
    steps, folder = walked
    told = json.loads((folder / "rehearsal" / "run.json").read_text())
    assert told["relative_fitness"] < told["alone"]["median"]
    assert told["quality"]["paid"]["alone"] <= 2
    assert told["quality"]["median"]["joint"]["r2"] > told["quality"]["median"]["own"]["r2"]
    assert all(entry["epsilon"] <= 1 and 1 <= entry["answers"] <= 5 for entry in told["spent"])
    by_name = {step.command[1]: step.text for step in steps}
    assert "Too close to call: what needs nobody lies within the interval" in by_name["forecast"]
    [runner_up] = [line for line in by_name["plan"].splitlines() if "runner-up" in line]
    assert float(re.search(r"should cost ([\d.]+) times", runner_up)[1]) > 100
    assert "1/30 of the budget" in runner_up
    assert by_name["verdict"].startswith("Too close to call: use a model of your own records, spend nothing")


def test_with_two_other_banks_and_a_tenth_of_the_budget_it_is_too_close_to_call(walked):
    steps, folder = walked
    [asked] = [step.command for step in steps if step.command[1] == "forecast"]
    changed = {"--owners": "3", "--epsilon": "0.1"}
    words = [changed.get(before, word) for before, word in zip(["", *asked], asked, strict=False)]
    assert json.loads(type_in(folder, [*words, "--json"]))["verdict"] == "too close to call"
