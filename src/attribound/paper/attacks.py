"""The paper's T at table 2's own radii and epsilons, attacked on trained networks."""

from collections.abc import Mapping
from typing import Any, final

from attribound.attacks.score import SCORE_ALPHA, rescore
from attribound.bounds.paper import cosine_bound_paper
from attribound.certificates.certificate import Certificate
from attribound.certification.reopen import Opened
from attribound.paper.attacking import SCORED, AttackTable, worst_attack
from attribound.paper.published import TABLE2
from attribound.paper.settings import RADII, Settings
from attribound.paper.survey import EPSILONS, Survey, explained
from attribound.paper.table import Table, certified, median, number

CERTAIN = 16384
"""Draws, none of them seen before, that make sure of a cosine below the paper's T."""


@final
class Attacks(AttackTable):
    """The paper's T against attacks on trained networks."""

    name, title = "attacks", "Attacks at the radii and epsilons of table 2: the paper's T on trained networks"
    radii, most = (1.0, 2.0, 3.5), 50

    def constants(self, settings: Settings) -> dict[str, Any]:
        """The effort, and what is asked."""
        return {**super().constants(settings), "epsilons": EPSILONS, "attacked": self.most, "certain": CERTAIN}

    def shown(self, settings: Settings, surveys: Mapping[tuple[str, float], Survey]) -> Table:
        """One row per epsilon, model and radius."""
        rows = [_row(epsilon, *place, survey) for epsilon in EPSILONS for place, survey in surveys.items()]
        below, confirmed = (sum(int(row[column]) for row in rows) for column in (7, 8))
        columns = ["epsilon", "model", "r", "paper's T", "its formula, ours", "median found", "lowest found"]
        count = len(next(iter(surveys.values())).norm)
        notes = [
            f"The first {count} images; {explained(settings)}. {self.effort(settings)}",
            f"Below T: {below} cases by the estimate ({SCORED} draws); {confirmed} of them confirmed ({CERTAIN:,} "
            f"draws: the exact cosine's upper limit at confidence 1 - {SCORE_ALPHA:g} is below T at the norm's lower "
            f"limit at confidence 1 - {settings.alpha:g}, each case by itself).",
        ]
        return Table(self.title, [*columns, "below T", "confirmed", "certified"], rows, notes)

    def attack(self, settings: Settings, subject: Opened, claim: Certificate) -> dict[str, float]:
        """Per epsilon the lowest cosine found, and whether it is below the paper's T beyond all chance."""
        measured: dict[str, float] = {}
        for epsilon in EPSILONS:
            worst, seed = worst_attack(settings, subject, claim, epsilon), settings.seed + settings.items + claim.item
            least = cosine_bound_paper(claim.norm_lower, claim.limit, claim.evidence.moved_fraction(epsilon))
            measured |= {f"found {epsilon:g}": worst.cosine, f"confirmed {epsilon:g}": 0}
            if worst.cosine < claim.cosine_paper(epsilon):
                family = subject.family(claim.target)
                again = rescore(family, family.at(worst.delta), subject.noise, CERTAIN, seed)
                measured[f"confirmed {epsilon:g}"] = again.cosine_most < least
        return measured


def _row(epsilon: float, name: str, radius: float, survey: Survey) -> list[str]:
    cosines, confirmed = (survey.measured[f"{what} {epsilon:g}"] for what in ("found", "confirmed"))
    printed = dict(zip(RADII, TABLE2.get((name, epsilon), (None,) * len(RADII)), strict=True))[radius]
    paper = survey.cosine_paper(epsilon)
    start = [f"{epsilon:g}", name, f"{radius:g}", number(printed), number(median(paper))]
    counts = [f"{int(sum(cosines < paper))}", f"{int(sum(confirmed))}"]
    return [*start, number(median(cosines)), number(min(cosines)), *counts, certified(median(survey.cosine(epsilon)))]
