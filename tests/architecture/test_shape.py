"""No function takes too many parameters, no body and no file is too long, and the command line stays small."""

import pytest
from benchmarks.shape import functions_in, measure, violations


def test_nothing_is_too_large():
    functions, files = measure()
    assert len(functions) > 1000
    assert violations(functions, files) == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("def f(a, b, /, c, d, *, e, f, g, h, i): ...", "parameters"),
        ("def f(a, b, c, d, e, f, g, *args, **kwargs): ...", "parameters"),
        ("class C:\n    def m(self, a, b, c, d, e, f, g, h, i): ...", "parameters"),
        ('async def f():\n    """Two\n    lines."""\n' + "    pass\n" * 41, "lines of a body"),
        ("def f():\n    pass\n\n    def g():\n" + "        pass\n" * 41, "lines of a body"),
    ],
)
def test_what_is_too_large_is_found(text, what):
    assert {each.what for each in violations(list(functions_in(text, "rules/planted.py")), {})} == {what}


@pytest.mark.parametrize(
    "text",
    [
        "def f(a, b, /, c, d, *, e, f, g, h): ...",
        "class C:\n    def m(self, a, b, c, d, e, f, g, h): ...",
        'def f():\n    """' + "Long.\n" * 50 + '    """\n' + "    pass\n" * 40,
    ],
)
def test_what_is_just_large_enough_is_not(text):
    assert violations(list(functions_in(text, "rules/planted.py")), {}) == []


def test_long_files_and_a_large_command_line_are_found():
    found = violations([], {"rules/long.py": 401, "rules/short.py": 400, "cli/one.py": 400, "cli/two.py": 2401})
    assert {each.where for each in found} == {"rules/long.py", "cli/two.py", "cli"}
    assert violations([], {"cli/one.py": 400}) == []
