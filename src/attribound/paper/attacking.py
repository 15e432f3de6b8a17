"""How a table's images are attacked."""

from typing import Any

from torch import Tensor

from attribound.attacks import Attack, AttackResult, Direct
from attribound.attacks.base import make_problem
from attribound.fields.base import Field
from attribound.noise import UniformBall
from attribound.paper.settings import Settings

SCORED = 256
"""Fresh draws behind each of the two maps that give the cosine found."""
CLIMB: dict[str, Any] = {"samples": 8}
SHORT: dict[str, Any] = {"samples": 4, "steps": 1}


def effort(settings: Settings) -> dict[str, Any]:
    """How hard images are attacked: part of what a cell follows from."""
    return {
        "restarts": settings.restarts,
        "steps": settings.steps,
        "climb": CLIMB,
        "short": SHORT,
        "scored": SCORED,
    }


def worst_attack(
    settings: Settings, field: Field, image: Tensor, target: int, radius: float, epsilon: float, item: int
) -> AttackResult:
    """The strongest of one long climb and several short ones."""
    problem = make_problem(field, image, target, UniformBall(radius), epsilon, samples=SCORED, seed=settings.seed)
    attacks: list[Attack] = [
        Direct(steps=settings.steps, rescore_samples=SCORED, **CLIMB),
        Direct(restarts=settings.restarts, rescore_samples=SCORED, **SHORT),
    ]
    return min((one.run(problem, settings.seed + item) for one in attacks), key=lambda result: result.cosine)


def effort_note(settings: Settings) -> str:
    """The effort in words, beside the paper's."""
    return (
        f"Each image and row: one attack of {settings.steps} steps along the gradient and {settings.restarts} short "
        "ones from other starts, the prediction kept (the paper: 20 attacks on the top-k of 200 steps and 300 draws)."
    )
