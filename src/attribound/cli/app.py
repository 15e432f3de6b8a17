"""The command line: parse, call, print."""

import atexit
import functools
import io
import json
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer

from attribound import memory
from attribound.cli.parser_errors import plain_message
from attribound.errors import AttriboundError
from attribound.sanitise import printable

app = typer.Typer(
    name="attribound",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    invoke_without_command=True,
    help="""Prove how far an explanation can be bent.

A Grad-CAM map or a list of SHAP reasons says why a model decided. A small change to the input can turn that
explanation into almost anything while the decision stays the same. attribound proves how far the explanation holds:
when a picture is turned or darkened, when numbers in a table are slightly off, or under ANY change of l2 size up to
epsilon.

\b
Start with:  attribound demo       digits, then a credit decision, with reports to open
Prove:       attribound tolerance  how far a picture may be turned or darkened, or a table's numbers be off
             attribound certify    any change up to epsilon
Look:        attribound show       summarise a run
             attribound report     one page to read and share
             attribound export     the records as csv, json, latex or parquet; a pack of evidence
             attribound copy       copy a run safely, even while it is running
Pipelines:   attribound gate       stop when too few explanations hold
             attribound compare    which explanations changed between two runs
In doubt:    attribound verify     derive every stored number again
             attribound attack     attack what was certified
             attribound replay     score a stored violation again
Your model:  attribound tune       find the noise level for certify
             attribound train      train a model whose explanations hold
             attribound data       fetch MNIST, CIFAR-10, ImageNet weights and others
Research:    attribound bound      the closed forms as a calculator
             attribound paper      the tables and figures of the paper
""",
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Run = Annotated[Path, typer.Argument(help="Folder of a run, written by certify or tolerance.", show_default=False)]
Model = Annotated[
    str,
    typer.Option(
        help="A shipped name, weights (.safetensors, .pt) with --arch, a forest (.json, .ubj, .txt), .onnx, "
        "TorchScript, or module:factory (runs your code)."
    ),
]
Data = Annotated[
    str,
    typer.Option(
        help="photo.jpg, folder:DIR[?size=N], csv:FILE, parquet:FILE, npz:FILE, mnist:DIR, cifar10:DIR, "
        "mnist-sample, photos, ..."
    ),
]
Alpha = Annotated[float, typer.Option(help="A certificate is false with at most this probability.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the draws.")]


@app.callback()
def _begin(
    context: typer.Context, shown: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    if shown:
        print(f"attribound {version('attribound')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit


def answer(value: Any, as_json: bool, show: Callable[[], None]) -> None:
    """Print a command's result: JSON for machines, or what `show` prints for people."""
    if as_json:
        print(json.dumps(value, allow_nan=False))
    else:
        show()


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Ctrl-C sets the event, so that the work in hand is finished; a second Ctrl-C is the ordinary one."""
    event = threading.Event()

    def note(number: int, frame: object) -> None:
        event.set()
        signal.signal(signal.SIGINT, before)
        print("finishing the inputs in hand; press Ctrl-C again to abandon them", file=sys.stderr, flush=True)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)


def main(arguments: list[str] | None = None) -> None:
    """Entry point: exit codes 0 done, 1 a check failed, 2 bad input (one line), 130 interrupted."""
    codes: list[int] = []
    atexit.register(_end, codes)  # registered first, so it is called last
    memory.keep_freed()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if not sys.warnoptions:  # a library's warning is not a line for the user, unless asked for with -W
        warnings.simplefilter("ignore")
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")  # a file's name may hold what no text can
    try:
        code = run(arguments)
    except KeyboardInterrupt:  # a second one, while the first was being told
        code = 130
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing is left to interrupt but Python's own clearing up
    codes.append(code)
    sys.exit(code)


def _end(codes: list[int]) -> None:
    """Force exit code 130 after an interrupt inside exec'd code (a dataclass is)."""
    if codes == [130]:
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(130)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = _spread(sys.argv[1:] if arguments is None else arguments)
    try:
        code = int(_command()(words, standalone_mode=False, prog_name="attribound") or 0)
        return _interrupted() if code == 130 else code
    except typer.Exit as done:
        return _interrupted() if done.exit_code == 130 else done.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return _interrupted()
    except AttriboundError as error:
        return _refuse(str(error))
    except OSError as error:
        return _refuse(f"{error.filename or ''}: {error.strerror or error}".lstrip(": "))
    except Exception as error:
        # The parser's own errors (unknown option, wrong type) carry a message for the user.
        message = getattr(error, "format_message", None)
        if message is None and os.environ.get("ATTRIBOUND_DEBUG"):
            raise
        if message is None:
            return _refuse(f"{type(error).__name__}: {error} (ATTRIBOUND_DEBUG=1 shows where)")
        return _refuse(plain_message(message(), words))


@functools.cache
def _command() -> Callable[..., Any]:
    """The commands with their options, made once: it takes longer than to parse a line."""
    return typer.main.get_command(app)


_LISTS = frozenset({"--epsilon", "--cosine", "--level"})


def _spread(arguments: list[str]) -> list[str]:
    """`--epsilon 0.1 0.25` as people type it becomes `--epsilon 0.1 --epsilon 0.25`."""
    spread: list[str] = []
    option, count = "", 0
    for word in arguments:
        if word.startswith("-") and not _is_number(word):
            option, count = (word if word in _LISTS else ""), 0
        elif option and _is_number(word):
            count += 1
            spread += [option] if count > 1 else []
        else:
            option = ""
        spread.append(word)
    return spread


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _interrupted() -> int:
    print("interrupted", file=sys.stderr)
    return 130


_LONGEST_MESSAGE = 2000
"""Letters of an error: a file may have a million columns, and a message that lists them."""


def _refuse(message: str) -> int:
    text = printable(message)
    print("error: " + (text if len(text) <= _LONGEST_MESSAGE else text[:_LONGEST_MESSAGE] + " ..."), file=sys.stderr)
    return 2
