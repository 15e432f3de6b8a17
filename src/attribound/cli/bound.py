"""`bound`: the closed forms as a calculator."""

import math
from typing import Annotated, Any

import typer

from attribound.cli.app import Json, answer, app
from attribound.errors import ArgumentError
from attribound.rounding import round_down, round_up


@app.command()
def bound(
    norm: Annotated[float, typer.Option(help="Norm of the smoothed attribution (or a lower bound on it).")],
    limit: Annotated[float, typer.Option(help="The attribution's norm never exceeds this.")] = 1.0,
    dim: Annotated[int | None, typer.Option(help="Number of input features; needed for the ball.")] = None,
    radius: Annotated[float | None, typer.Option(help="Radius of the uniform ball.")] = None,
    sigma: Annotated[
        float | None, typer.Option(help="Standard deviation of Gaussian noise, in place of --radius.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="l2 size of the change: asks for the cosine.")] = None,
    cosine: Annotated[float | None, typer.Option(help="Wanted cosine: asks for the largest epsilon.")] = None,
    as_json: Json = False,
) -> None:
    """The closed forms as a calculator: what norm, limit and noise prove about the cosine.

    Example: attribound bound --dim 784 --radius 1 --norm 0.5 --epsilon 0.01 --cosine 0.9

    --epsilon asks for the certified cosine (-1 if nothing can be said), --cosine for the largest epsilon. Both together
    also ask for the smallest radius that would be enough if the norm did not change with the radius.
    """
    answers = _closed_forms(norm, limit, dim, radius, sigma, epsilon, cosine)
    finite = {key: value if math.isfinite(value) else None for key, value in answers.items()}

    def lines() -> None:
        for key, value in answers.items():
            note = "   (the paper; NOT a guarantee)" if key == "cosine_paper" else ""
            print(f"{key:16} {_shown(key, value)}{note}")

    answer(finite, as_json, lines)


def _shown(key: str, value: float) -> str:
    """Certified numbers are rounded down, needed ones up; the others as they are."""
    if not math.isfinite(value):
        return "none is large enough"
    if key in ("cosine", "max_epsilon"):
        return round_down(value, 10)
    if key in ("min_radius", "min_sigma"):
        return round_up(value, 10)
    return f"{value:.10g}"


def _closed_forms(
    norm: float,
    limit: float,
    dim: int | None,
    radius: float | None,
    sigma: float | None,
    epsilon: float | None,
    cosine: float | None,
) -> dict[str, float]:
    from attribound import bounds

    if epsilon is None and cosine is None:
        raise ArgumentError("expected --epsilon, --cosine or both: what should be computed?")
    if radius is not None and sigma is not None:
        raise ArgumentError("expected --radius (uniform ball) or --sigma (Gaussian), got both")
    law: dict[str, Any] = {"sigma": sigma} if sigma is not None else {"radius": radius, "dim": dim}
    known = radius is not None or sigma is not None
    if not known and (epsilon is None or cosine is None):
        raise ArgumentError("expected --radius (uniform ball) or --sigma (Gaussian)")
    if sigma is None and dim is None:
        raise ArgumentError("expected --dim, the number of input features, for the uniform ball")
    answers: dict[str, float] = {}
    if epsilon is not None and known:
        moved = bounds.moved_fraction(epsilon, **law)
        answers["moved_fraction"] = moved
        answers["cosine"] = bounds.cosine_bound(norm, limit, moved)
        answers["cosine_paper"] = bounds.cosine_bound_paper(norm, limit, moved)
    if cosine is not None and known:
        answers["max_epsilon"] = bounds.max_epsilon(cosine, norm=norm, limit=limit, **law)
    if epsilon is not None and cosine is not None:
        if sigma is None:
            assert dim is not None
            answers["min_radius"] = bounds.min_radius(cosine, epsilon, norm=norm, limit=limit, dim=dim)
        else:
            answers["min_sigma"] = bounds.min_sigma(cosine, epsilon, norm=norm, limit=limit)
    return answers
