"""Options that every command that makes a run has."""

from pathlib import Path
from typing import Annotated

import typer

from attribound.cli.choices import EngineName, OutputName, PrecisionName

Out = Annotated[Path, typer.Option(help="Folder of the run. The same command again resumes it.")]
Explained = Annotated[OutputName, typer.Option(help="What is explained.")]
Precision = Annotated[
    PrecisionName, typer.Option(help="Run the model in this precision. The map in that precision is what is certified.")
]
Target = Annotated[
    str | None, typer.Option(help="Class to explain, by number or name; default: each input's predicted class.")
]
Items = Annotated[int | None, typer.Option(min=1, help="Number of inputs. Default: all.")]
Shuffle = Annotated[bool, typer.Option(help="Take the inputs in random order, fixed by the seed.")]
Workers = Annotated[int | None, typer.Option(min=1, max=1024, help="Processes, one thread each; default: all cores.")]
Where = Annotated[EngineName, typer.Option(help="local, or ray (needs attribound[ray]).")]
Address = Annotated[str | None, typer.Option(help="Address of an existing Ray cluster.")]
Device = Annotated[str, typer.Option(help="cpu, or cuda.")]
Pictures = Annotated[int, typer.Option(min=0, help="Keep pictures of this number of inputs, for reports.")]
Strict = Annotated[bool, typer.Option(help="Stop at the first record that fails.")]
Retry = Annotated[bool, typer.Option(help="Try failed inputs again.")]
