"""docs/how-to/scikit-learn.md is true: its code runs in order, and every parameter and setting has its line."""

import inspect
import re
from pathlib import Path

import pytest

from copriv.sklearn import ConsortiumRegressor

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "scikit-learn.md"


def test_the_code_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    known = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        exec(block, known)  # noqa: S102 - what a reader does
    shown = capsys.readouterr().out
    assert "Promised: ε = 1, δ = 0 for any one record (replace-one)." in shown
    assert shown.count("the budget of these records has 0 epsilon left") >= 2
    assert "step 'standardscaler' (StandardScaler) was fitted on private rows before" in shown
    assert known["covered"][-1].statement_.count("fitted on private rows") == 0


@pytest.mark.parametrize("name", inspect.signature(ConsortiumRegressor).parameters)
def test_every_parameter_is_explained(name):
    table = PAGE.read_text(encoding="utf-8").split("## What you give")[1].split("## ")[0]
    assert re.search(rf"^\|.*`{name}\b", table, re.MULTILINE)
