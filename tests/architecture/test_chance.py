"""Nobody but `entropy` makes a generator: `numpy.random` appears elsewhere only as the type of one that was given."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "copriv"
TYPES = {"Generator", "BitGenerator"}


def _draws(text):
    """Lines that reach into `numpy.random` for more than the type of a generator."""
    tree = ast.parse(text)
    names = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == "numpy"
    }
    typed = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in TYPES and isinstance(node.value, ast.Attribute)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [node.lineno for alias in node.names if alias.name.startswith("numpy.random")]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("numpy"):
            within = node.module == "numpy.random"
            found += [
                node.lineno for alias in node.names if (within and alias.name not in TYPES) or alias.name == "random"
            ]
        elif isinstance(node, ast.Attribute) and node.attr == "random" and isinstance(node.value, ast.Name):
            found += [node.lineno] if node.value.id in names and id(node) not in typed else []
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in TYPES:
            found.append(node.lineno)
    return sorted(set(found))


FILES = [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "entropy.py"]


def test_nobody_makes_a_generator():
    found = {path.relative_to(SOURCE).as_posix(): _draws(path.read_text(encoding="utf-8")) for path in FILES}
    assert {file: lines for file, lines in found.items() if lines} == {}
    assert _draws((SOURCE / "entropy.py").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "planted",
    [
        "import numpy as np\nnp.random.default_rng(0)",
        "import numpy\nnumpy.random.normal()",
        "import numpy as np\nnp.random.Generator(np.random.PCG64(1))",
        "import numpy as np\nrandom = np.random",
        "import numpy.random",
        "from numpy import random",
        "from numpy.random import default_rng",
        "import numpy.random as chance",
    ],
)
def test_a_planted_generator_is_found(planted):
    assert _draws(planted)


@pytest.mark.parametrize(
    "allowed",
    [
        "import numpy as np\ndef f(stream: np.random.Generator) -> None: stream.normal()",
        "from numpy.random import Generator",
        "import random_thing",
    ],
)
def test_the_type_of_a_generator_is_no_draw(allowed):
    assert _draws(allowed) == []
