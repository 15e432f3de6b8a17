"""Options for statements: every registered statement that can be asked for is an option of `certify`."""

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from attribound.certificates.statements.registry import STATEMENTS


def asking(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for every statement, in place of its argument `asked`."""
    known = {name: one for name, one in STATEMENTS.items() if one.option is not None and not one.option.hidden}

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        typed = {name: given.pop(name) for name in known}
        command(**given, asked={name: known[name].parse(text) for name, text in typed.items() if text})

    signature = inspect.signature(command)
    parameters = list(signature.parameters.values())
    place = [one.name for one in parameters].index("asked")
    parameters[place : place + 1] = [_parameter(name, one.option) for name, one in known.items()]
    with_options.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {one.name: one.annotation for one in parameters}
    return with_options


def _parameter(name: str, option: Any) -> inspect.Parameter:
    annotation = Annotated[str, typer.Option(help=option.help, metavar=option.metavar, show_default=False)]
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default="", annotation=annotation)
