"""A command from a class of options: every option is declared once, in a group that commands share.

A command is a function of one object. Its class lists the options; a group of options is a class to inherit from. So an
option has the same name, meaning, default and help wherever it is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, TypeVar, get_type_hints

import typer

Options = TypeVar("Options")


def option(names: str, panel: str, words: str, metavar: str | None = None) -> Any:  # noqa: ANN401
    """An option, for the annotation of a field."""
    return typer.Option(*names.split(), rich_help_panel=panel, help=words, metavar=metavar)


def argument(words: str, metavar: str | None = None) -> Any:  # noqa: ANN401
    """One argument without a name, for the type of a field."""
    return typer.Argument(help=words, metavar=metavar)


def takes(kind: type[Options]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function of these options.

    If the function has a second argument, it is told the names of the options that the user has typed.
    """

    def make(function: Callable[..., None]) -> Callable[..., None]:
        tells = len(inspect.signature(function).parameters) > 1

        def command(context: typer.Context, **values: Any) -> None:  # noqa: ANN401
            options = kind(**values)
            if tells:
                function(options, tuple(name for name in values if _is_typed(context, name)))
            else:
                function(options)

        command.__name__, command.__doc__ = function.__name__, function.__doc__
        command.__signature__ = _signature(kind)  # type: ignore[attr-defined]
        command.__annotations__ = {
            name: each.annotation
            for name, each in command.__signature__.parameters.items()  # type: ignore[attr-defined]
        }
        return command

    return make


def group(words: str) -> typer.Typer:
    """Commands under one name; without arguments it shows its help."""
    names = {"help_option_names": ["-h", "--help"]}
    return typer.Typer(help=words, no_args_is_help=True, context_settings=names)


def command(place: typer.Typer, kind: type[Options]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Put a function of these options among the commands of a group, under its own name."""

    def add(function: Callable[..., None]) -> Callable[..., None]:
        made: Callable[..., None] = place.command()(takes(kind)(function))
        return made

    return add


def _signature(kind: type) -> inspect.Signature:
    """The fields of a class as parameters, with the context that typer hands over."""
    hints = get_type_hints(kind, include_extras=True)
    found = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    for field in fields(kind):
        default = field.default if field.default_factory is MISSING else field.default_factory()
        found.append(
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if default is MISSING else default,
                annotation=hints[field.name],
            )
        )
    return inspect.Signature(found)


def _is_typed(context: typer.Context, name: str) -> bool:
    """Whether the user has typed an option, be it with its default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
