"""Options for statements: every registered statement that can be asked for is an option of `certify`."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from attribound.certificates.statements.registry import STATEMENTS
from attribound.errors import ArgumentError


def asking(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for every statement, in place of its argument `asked`."""
    known = {name: one for name, one in STATEMENTS.items() if one.option is not None and not one.option.hidden}

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        typed = {name: given.pop(name) for name in known} | _others(given.pop("ask") or ())
        command(**given, asked={name: STATEMENTS[name].parse(text) for name, text in typed.items() if text})

    signature = inspect.signature(command)
    parameters = list(signature.parameters.values())
    place = [one.name for one in parameters].index("asked")
    parameters[place : place + 1] = [*(_parameter(name, one.option) for name, one in known.items()), _ASK]
    with_options.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {one.name: one.annotation for one in parameters}
    return with_options


def _others(words: Sequence[str]) -> dict[str, str]:
    """What was typed as `--ask NAME=VALUE`, for statements of other packages."""
    typed = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or name not in STATEMENTS or STATEMENTS[name].option is None:
            raise ArgumentError(f"expected --ask NAME=VALUE with a registered statement, got {word!r}")
        typed[name] = text
    return typed


_ASK = inspect.Parameter(
    "ask",
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    default=None,
    annotation=Annotated[
        list[str] | None, typer.Option(help="A statement from another package, NAME=VALUE; repeat for several.")
    ],
)


def _parameter(name: str, option: Any) -> inspect.Parameter:
    annotation = Annotated[str, typer.Option(help=option.help, metavar=option.metavar, show_default=False)]
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default="", annotation=annotation)
