"""The command line: parse, call, print."""

import sys
from typing import Annotated

import typer

from attribound.errors import AttriboundError

app = typer.Typer(
    name="attribound",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="""Prove how far an explanation can be bent.

A saliency map says why a classifier decided, but invisible changes of the input can turn it into almost anything.
attribound averages the map over noise and proves a lower bound on its cosine similarity after ANY change of l2 size
up to epsilon.

\b
Start with:  attribound demo      certify real images, see tables and pictures
Then:        attribound bound     the closed forms as a calculator
             attribound attack    attack what was certified
             attribound verify    check a stored certificate
Your model:  attribound tune      find the noise level
             attribound train     train a model whose explanations hold
             attribound data      get MNIST, CIFAR-10, ResNet-50
""",
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Model = Annotated[
    str,
    typer.Option(
        help="A shipped name, a .safetensors or .pt file with --arch, TorchScript, or module:factory (runs your code)."
    ),
]


def main(arguments: list[str] | None = None) -> None:
    """Entry point: exit codes 0 done, 1 a check failed, 2 bad input (one line), 130 interrupted."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        code = int(app(arguments, standalone_mode=False, prog_name="attribound") or 0)
        return _interrupted() if code == 130 else code
    except typer.Exit as done:
        return _interrupted() if done.exit_code == 130 else done.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return _interrupted()
    except AttriboundError as error:
        return _complain(str(error))
    except OSError as error:
        return _complain(f"{error.filename or ''}: {error.strerror or error}".lstrip(": "))
    except Exception as error:
        # The parser's own errors (unknown option, wrong type) carry a message for the user.
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        return _complain(message())


def _interrupted() -> int:
    print("interrupted", file=sys.stderr)
    return 130


def _complain(message: str) -> int:
    print("error: " + " ".join(message.split()), file=sys.stderr)
    return 2
