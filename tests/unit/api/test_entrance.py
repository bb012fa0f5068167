"""The entrance as the documentation shows it runs as written: on a page, and in a notebook."""

import json
import subprocess
import sys
from pathlib import Path

from tests.unit.api.entrance import NOTEBOOK, added_names, blocks, lines, runnable

RUN = Path(__file__).with_name("run_notebook.py")
LAST = "assert run.private; print('the last step was reached')"


def _code(notebook):
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_nothing_is_left_out_that_exists():
    assert added_names() == set()


def test_the_notebook_has_the_same_steps():
    assert _code(json.loads(NOTEBOOK.read_text())) == [blocks()[0].strip(), *lines()]


def test_the_steps_run_as_written(tmp_path):
    """In the notebook, which has the steps of the page; a step that fails ends it."""
    notebook, steps = json.loads(NOTEBOOK.read_text()), {blocks()[0].strip(), *runnable(lines())}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] != "code" or "".join(cell["source"]) in steps]
    cells.append({**next(cell for cell in cells if cell["cell_type"] == "code"), "id": "last", "source": [LAST]})
    (tmp_path / "asked.ipynb").write_text(json.dumps(notebook | {"cells": cells}))
    subprocess.run([sys.executable, RUN, tmp_path / "asked.ipynb", tmp_path], check=True, capture_output=True)
    done = json.loads((tmp_path / "done.ipynb").read_text())
    shown = "".join(json.dumps(cell.get("outputs", [])) for cell in done["cells"])
    assert "per_deviation" in shown
    assert "the last step was reached" in shown
    assert (tmp_path / "runs" / "first" / "model.json").is_file()
    assert (tmp_path / "runs" / "first" / "privacy.html").is_file()
