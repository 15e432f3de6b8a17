"""`paper`: the tables and figures of the paper this project starts from."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from attribound.cli.app import Json, answer, app
from attribound.cli.shared import Arch
from attribound.errors import ArgumentError


@app.command()
def paper(
    name: Annotated[str, typer.Argument(help="list, all, table1..table9, figure1..figure3, gridpg, montecarlo, ...")],
    out: Annotated[Path, typer.Option(help="Folder for tables, pictures, numbers and runs.")] = Path(
        "attribound-paper"
    ),
    quick: Annotated[bool, typer.Option(help="A small version that takes seconds to a minute.")] = False,
    items: Annotated[int | None, typer.Option(min=1, help="Number of images.")] = None,
    samples: Annotated[int | None, typer.Option(min=2, help="Draws per certificate.")] = None,
    model: Annotated[str | None, typer.Option(help="Use this model instead of the one of the table.")] = None,
    arch: Arch = None,
    data: Annotated[str | None, typer.Option(help="Use this data set instead of the embedded one.")] = None,
    attribution: Annotated[str | None, typer.Option(help="saliency, ig or ig-random.")] = None,
    output: Annotated[str, typer.Option(help="What surveys explain: logit, or probability as in the paper.")] = "logit",
    restarts: Annotated[int, typer.Option(min=1, help="Short attacks per image (table 8, figure 2).")] = 20,
    steps: Annotated[int, typer.Option(min=1, help="Iterations of the long attack on each image.")] = 30,
    alpha: Annotated[float, typer.Option(help="Failure probability per certificate.")] = 1e-3,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 0,
    as_json: Json = False,
) -> None:
    """Reproduce a table or figure of the paper: its numbers beside ours, by its formula and by the sound one.

    Example: attribound paper table2 --quick --out my-tables

    Writes NAME.md, NAME.tex, NAME.json (the numbers) and, for figures, NAME.png. The same command again resumes.
    docs/paper.md explains every difference and gives the full commands.
    """
    from attribound import checks as check
    from attribound.cli import console
    from attribound.fields.base import check_output
    from attribound.paper import EXPERIMENTS, Settings, conduct

    check.alpha(alpha)
    check_output(output)
    if name.lower() == "list":
        titles = {key: one.title for key, one in EXPERIMENTS.items()}
        answer(titles, as_json, lambda: print("\n".join(f"{key:16} {title}" for key, title in titles.items())))
        return
    chosen = list(EXPERIMENTS) if name == "all" else [name]
    if name not in EXPERIMENTS and name != "all":
        raise ArgumentError(f"expected list, all, {', '.join(EXPERIMENTS)}, got {name!r}")
    for number, one in enumerate((EXPERIMENTS[key] for key in chosen), start=1):
        if len(chosen) > 1:
            console.say(quiet=as_json)(f"{number} of {len(chosen)}: {one.title}")
        settings = Settings(
            out=out,
            items=items or (one.quick_items if quick else one.items),
            samples=samples or (one.quick_samples if quick else one.samples),
            quick=quick,
            data=data,
            model=model,
            arch=arch,
            attribution=attribution,
            output=output,
            restarts=2 if quick else restarts,
            steps=2 if quick else steps,
            alpha=alpha,
            seed=seed,
        )
        with console.progress(quiet=as_json) as advance:
            table = conduct(one, settings, advance)
        value = {"name": one.name, "columns": list(table.columns), "rows": table.rows, "out": str(out)}
        answer(value, as_json, partial(console.show_table, table, out / f"{one.name}.md"))
