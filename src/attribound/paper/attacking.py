"""How a survey's images are attacked."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, final

from attribound.attacks import Attack, AttackResult, Direct
from attribound.attacks.base import make_problem
from attribound.certificates.certificate import Certificate
from attribound.certificates.record import Record
from attribound.certification.reopen import Opened, Opener
from attribound.paper.settings import Settings
from attribound.paper.survey import SurveyTable

SCORED = 256
"""Fresh draws behind each of the two maps that give the cosine found."""
CLIMB: dict[str, Any] = {"samples": 8}
SHORT: dict[str, Any] = {"samples": 4, "steps": 1}


class AttackTable(SurveyTable):
    """A table of surveys whose images are attacked."""

    def constants(self, settings: Settings) -> dict[str, Any]:
        """How hard images are attacked."""
        effort = {"restarts": settings.restarts, "steps": settings.steps}
        return {**effort, "climb": CLIMB, "short": SHORT, "scored": SCORED}

    @abstractmethod
    def attack(self, settings: Settings, subject: Opened, claim: Certificate) -> dict[str, float]:
        """What attacks find on one image."""

    @final
    def measure(self, settings: Settings, records: Sequence[Record]) -> list[dict[str, float]]:
        """What they find on all."""
        opener = Opener(model=settings.model, arch=settings.arch)
        return [self.attack(settings, opener(record.subject), Certificate(record)) for record in records]

    @final
    def effort(self, settings: Settings) -> str:
        """How hard, in words, beside the paper's."""
        return (
            f"Each image and row: one attack of {settings.steps} steps along the gradient and {settings.restarts} "
            "short ones from other starts, the prediction kept (the paper: 20 attacks on the top-k of 200 steps and "
            "300 draws)."
        )


def worst_attack(settings: Settings, subject: Opened, claim: Certificate, epsilon: float) -> AttackResult:
    """The strongest of one long climb and several short ones."""
    family = subject.family(claim.target)
    problem = make_problem(family, subject.noise, epsilon, samples=SCORED, seed=settings.seed)
    attacks: list[Attack] = [
        Direct(steps=settings.steps, rescore_samples=SCORED, **CLIMB),
        Direct(restarts=settings.restarts, rescore_samples=SCORED, **SHORT),
    ]
    results = [attack.run(problem, settings.seed + claim.item) for attack in attacks]
    return min(results, key=lambda result: result.cosine)
