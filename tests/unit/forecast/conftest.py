import importlib.util
import inspect
import sys

import pytest


@pytest.fixture
def mistaken():
    """A module with one piece of its text replaced, interpreted and not compiled."""
    made = []

    def make(module, old, new):
        text = inspect.getsource(module)
        assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times"
        text = text.replace(old, new)
        for decorator in ("@compiled_parallel\n", "@compiled_reordered\n", "@compiled\n"):
            text = text.replace(decorator, "")
        name = f"{module.__name__}_mistaken"
        twin = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader=None))
        sys.modules[name] = twin
        made.append(name)
        exec(compile(text, name, "exec"), twin.__dict__)  # noqa: S102
        return twin

    yield make
    for name in made:
        sys.modules.pop(name, None)
