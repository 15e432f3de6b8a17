"""Options for statements: every registered statement that can be asked for is an option of `certify`."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from attribound.certificates.statements.registry import STATEMENTS
from attribound.cli.shared import Command, instead, option
from attribound.errors import ArgumentError

_Others = Annotated[
    list[str] | None, typer.Option(help="A statement from another package, NAME=VALUE; repeat for several.")
]


def asking(command: Command) -> Command:
    """The command with an option for every statement, in place of its argument `asked`."""
    known = {name: one.option for name, one in STATEMENTS.items() if one.option is not None and not one.option.hidden}
    options = [
        option(name, Annotated[str, typer.Option(help=one.help, metavar=one.metavar, show_default=False)], "")
        for name, one in known.items()
    ]

    def asked(ask: Sequence[str] | None, **typed: str) -> dict[str, Any]:
        return {name: STATEMENTS[name].parse(text) for name, text in (typed | _others(ask or ())).items() if text}

    return instead(command, "asked", [*options, option("ask", _Others, None)], asked)


def _others(words: Sequence[str]) -> dict[str, str]:
    """What was typed as `--ask NAME=VALUE`, for statements of other packages."""
    typed = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or name not in STATEMENTS or STATEMENTS[name].option is None:
            raise ArgumentError(f"expected --ask NAME=VALUE with a registered statement, got {word!r}")
        typed[name] = text
    return typed
