"""The steps of docs/api.md, one statement after the other; and what of them can be run."""

import ast
import re
from pathlib import Path

import copriv

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "api.md"
NOTEBOOK = ROOT / "docs" / "entrance.ipynb"

# Public names that the page shows and that are still to be added: leave this set empty once they are.
TO_COME: set[str] = set()


def blocks():
    """The setup and the steps, as the page has them."""
    section = PAGE.read_text(encoding="utf-8").split("## The entrance")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)


def lines():
    """The steps, line by line: each is a cell of the notebook."""
    return blocks()[1].strip().splitlines()


def runnable(steps):
    """The steps that need nothing which is still to come, and nothing that such a step would have made."""
    missing, kept = set(TO_COME), []
    for step in steps:
        tree = ast.parse(step)
        used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and _of_copriv(node)}
        used |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        used |= {(node.module or "").rpartition(".")[2] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        if used & missing:
            missing |= _made(tree)
        else:
            kept.append(step)
    return kept


def added_names():
    """Names that are no longer to come."""
    return TO_COME & {*copriv.__all__}


def _of_copriv(node):
    return isinstance(node.value, ast.Name) and node.value.id == "cp"


def _made(tree):
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return imported | stored
