"""The shape of the code: parameters of functions, lines of bodies, lines of files, lines of cli.

A body has the lines from its first statement after the docstring to its end, blank lines and comments included. A
parameter is whatever a caller can give: `self` and `cls` are not, `*args` and `**kwargs` count as one each. Commands in
`cli` have one parameter for each option, so parameters are counted outside it.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

SOURCE = Path(__file__).resolve().parents[1] / "src" / "copriv"
MOST_PARAMETERS, MOST_LINES_OF_A_BODY, MOST_LINES_OF_A_FILE, MOST_LINES_OF_CLI = 8, 40, 400, 2800

Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, order=True)
class Function:
    """One function: where it is, how many parameters it takes, how many lines its body has."""

    file: str
    name: str
    parameters: int
    lines: int

    @property
    def room(self) -> str:
        """The package that it is in."""
        return self.file.split("/", maxsplit=1)[0]


@dataclass(frozen=True, slots=True, order=True)
class Violation:
    """What is too large, and by how much; `where` is a file, with a function after a colon if it is one."""

    where: str
    what: str
    found: int
    most: int


def parameters_of(function: Definition) -> int:
    """How many parameters a caller can give."""
    given = function.args
    names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    if names[:1] in (["self"], ["cls"]):
        del names[0]
    return len(names) + sum(each is not None for each in (given.vararg, given.kwarg))


def body_lines_of(function: Definition) -> int:
    """Lines from the first statement after the docstring to the end."""
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    return (function.end_lineno or 0) - body[0].lineno + 1 if body else 0


def functions_in(text: str, file: str) -> Iterator[Function]:
    """Every function of a file, methods and inner functions too."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, Definition):
            yield Function(file, node.name, parameters_of(node), body_lines_of(node))


def measure(source: Path = SOURCE) -> tuple[list[Function], dict[str, int]]:
    """All functions, and the lines of every file."""
    texts = {path.relative_to(source).as_posix(): path.read_text(encoding="utf-8") for path in source.rglob("*.py")}
    functions = [each for file, text in sorted(texts.items()) for each in functions_in(text, file)]
    return functions, {file: len(text.splitlines()) for file, text in sorted(texts.items())}


def lines_of_cli(files: dict[str, int]) -> int:
    """Lines of all files of the command line."""
    return sum(lines for file, lines in files.items() if file.startswith("cli/"))


def violations(functions: list[Function], files: dict[str, int]) -> list[Violation]:
    """What is larger than it may be."""
    parameters = [
        Violation(f"{each.file}:{each.name}", "parameters", each.parameters, MOST_PARAMETERS)
        for each in functions
        if each.room != "cli"
    ]
    bodies = [
        Violation(f"{each.file}:{each.name}", "lines of a body", each.lines, MOST_LINES_OF_A_BODY) for each in functions
    ]
    whole = [Violation(file, "lines of a file", lines, MOST_LINES_OF_A_FILE) for file, lines in files.items()]
    command_line = Violation("cli", "lines in all", lines_of_cli(files), MOST_LINES_OF_CLI)
    return [each for each in (*parameters, *bodies, *whole, command_line) if each.found > each.most]


def main() -> None:
    """Print what there is and what is too large."""
    functions, files = measure()
    outside = [each for each in functions if each.room != "cli"]
    bodies = sorted(each.lines for each in functions)
    table = Table(title="shape", title_justify="left")
    for column in ("what", "most", "allowed", "median", "how many"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for what, sizes, allowed in (
        ("parameters of a function outside cli", sorted(each.parameters for each in outside), MOST_PARAMETERS),
        ("lines of a body", bodies, MOST_LINES_OF_A_BODY),
        ("lines of a file", sorted(files.values()), MOST_LINES_OF_A_FILE),
    ):
        table.add_row(what, *map(str, (sizes[-1], allowed, sizes[len(sizes) // 2], f"{len(sizes):,}")))
    of_cli = sum(file.startswith("cli/") for file in files)
    table.add_row("lines of cli in all", f"{lines_of_cli(files):,}", f"{MOST_LINES_OF_CLI:,}", "", f"{of_cli} files")
    console = Console(width=120, emoji=False)
    console.print(table)
    for each in violations(functions, files):
        console.print(f"too large: {each.where}: {each.found:,} {each.what}, at most {each.most:,}", highlight=False)


if __name__ == "__main__":
    main()
