"""`gate` and `compare`: runs inside a pipeline."""

from pathlib import Path
from typing import Annotated, Any

import typer

from attribound.cli.app import Json, Run, answer, app
from attribound.cli.choices import Form
from attribound.errors import ArgumentError
from attribound.sanitise import printable

_FILE = "for pipelines; written whether the gate passes or not."


@app.command()
def gate(
    run: Run,
    share: Annotated[float, typer.Option(help="Share of all inputs that must hold.", show_default=False)],
    cosine: Annotated[float | None, typer.Option(help="The cosine that explanations must keep.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Certificates: under every change up to this size.")] = None,
    change: Annotated[str | None, typer.Option(help="Tolerances: the change, rotation, brightness, ...")] = None,
    reach: Annotated[
        float | None, typer.Option(help="Tolerances and forests: how far it must be proved, in the unit of the change.")
    ] = None,
    keep: Annotated[
        str | None, typer.Option(help="Forests: what must hold up to the reach, first, stays:4, ...")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Confidence of what is said about the share.")] = 0.95,
    population: Annotated[
        bool,
        typer.Option(
            "--population",
            help="Require that the share proved for the population of the inputs reaches --share.",
        ),
    ] = False,
    fidelity: Annotated[
        float,
        typer.Option(
            help="Lowest cosine of smoothed and plain map: inputs below it count as not certified; 0: all count."
        ),
    ] = 0.5,
    junit: Annotated[Path | None, typer.Option(help=f"JUnit XML file {_FILE}")] = None,
    markdown: Annotated[Path | None, typer.Option(help=f"Markdown file {_FILE}")] = None,
    sarif: Annotated[Path | None, typer.Option(help=f"SARIF file {_FILE}")] = None,
    as_json: Json = False,
) -> None:
    """Stop a pipeline when too few explanations hold: exit code 1 if fewer than --share of the inputs do.

    Certificates: attribound gate my-run --cosine 0.8 --epsilon 0.25 --share 0.9 --junit gate.xml

    Tolerances: attribound gate my-run --change rotation --reach 10 --cosine 0.8 --share 0.9

    Forests: attribound gate my-run --keep first --reach 0.25 --share 0.95

    Failed, missing and doubtful inputs count as not certified. So do inputs whose smoothed map does not resemble the
    plain one (--fidelity), because noise that blinds the model makes every explanation robust. The gate also says, with
    the confidence asked for, how many of these inputs, and what share of the population they were drawn from, are truly
    robust.
    """
    from attribound.files import write_whole
    from attribound.runs import gate_files
    from attribound.runs.columns_gate import AskedKept
    from attribound.runs.gate import Asked, Demand, judge
    from attribound.runs.tolerance_gate import AskedReach

    asked: Demand[Any]
    rest: dict[str, Any] = {"share": share, "confidence": confidence, "population": population}
    match (cosine, epsilon, change, reach, keep):
        case (None, None, None, float(), str()):
            asked = AskedKept(keep=keep, reach=reach, **rest)
        case (float(), None, str(), float(), None):
            asked = AskedReach(change=change, reach=reach, cosine=cosine, fidelity=fidelity, **rest)
        case (float(), float(), None, None, None):
            asked = Asked(cosine=cosine, epsilon=epsilon, fidelity=fidelity, **rest)
        case _:
            raise ArgumentError(
                "expected --cosine and --epsilon for certificates, --cosine, --change and --reach for tolerances, or "
                "--keep and --reach for columns of a forest"
            )
    found = judge(run, asked)
    for path, text in (
        (junit, gate_files.junit(found)),
        (markdown, gate_files.markdown(found)),
        (sarif, gate_files.sarif(found, run)),
    ):
        if path is not None:
            write_whole(path, text)
    answer(found.to_json(), as_json, lambda: print("\n".join(map(printable, found.lines))))
    if not found.passed:
        raise typer.Exit(1)


@app.command()
def compare(
    run_a: Annotated[Path, typer.Argument(help="The run before.", show_default=False)],
    run_b: Annotated[Path, typer.Argument(help="The run after, over the same inputs.", show_default=False)],
    cosine: Annotated[
        float,
        typer.Option(
            help="An explanation is unchanged if its cosine is provably at least this, changed if provably below."
        ),
    ] = 0.9,
    out: Annotated[Path | None, typer.Option(help="Also write a page, one HTML file.")] = None,
    kind: Annotated[Form, typer.Option("--format", help="Format of what is printed.")] = "text",
    as_json: Json = False,
) -> None:
    """Say which explanations changed between two runs over the same inputs: two models, two versions, two noises.

    Example: attribound compare run-of-may run-of-june --out drift.html

    Inputs are matched by their hashes. The cosine of the two exact smoothed maps is bounded from both sides, by what
    each run has proved about its own. For tolerances it says which proved ranges shrank, for forests which first
    reasons changed and which tolerances shrank.
    """
    from attribound.cli import console
    from attribound.report.drift import markdown, write_page
    from attribound.runs.kinds import kind_of

    found = kind_of(run_a, run_b).compare(run_a, run_b, cosine)
    if out is not None:
        write_page(found, (run_a, run_b), out)
    if kind == "md" and not as_json:
        print(markdown(found), end="")
        return
    answer(found.to_json(), as_json or kind == "json", lambda: console.show_comparison(found, out))
