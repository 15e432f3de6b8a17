"""Table 8 and figure 2: what attacks find at the certified epsilon of either formula, and the gap to every bound."""

from collections.abc import Mapping
from typing import final

import numpy as np

from attribound.attacks.score import rescore
from attribound.certificates.certificate import Certificate
from attribound.certification.reopen import Opened
from attribound.paper.attacking import SCORED, AttackTable, worst_attack
from attribound.paper.experiment import Numbers
from attribound.paper.published import TABLE8
from attribound.paper.settings import CERTIFIED, Settings
from attribound.paper.survey import Survey, explained, read_survey
from attribound.paper.table import Table, certified, median, number
from attribound.report.figures import plots

TIGHTEST = 200
COSINE = 0.8
MEASURED = ("found", "found_sound")


class _AtCertified(AttackTable):
    """Attacks at the epsilon that the paper's formula allows for T = 0.8, and at the sound one."""

    file = "table8"

    @final
    def attack(self, settings: Settings, subject: Opened, claim: Certificate) -> dict[str, float]:
        """The lowest cosine found at the paper's epsilon, and the same change scaled to the sound one."""
        epsilon = claim.max_epsilon_paper(COSINE)
        worst = worst_attack(settings, subject, claim, epsilon)
        scaled, seed = worst.delta * (claim.max_epsilon(COSINE) / epsilon), settings.seed + claim.item
        family = subject.family(claim.target)
        sound = rescore(family, family.at(scaled), subject.noise, SCORED, seed)
        return dict(zip(MEASURED, (worst.cosine, sound.cosine), strict=True))


@final
class Table8(_AtCertified):
    """Empirical cosine at the certified epsilon for T = 0.8, by the paper's formula and by the sound one."""

    name, title = "table8", "Table 8: cosine found by attacks at the epsilon allowed for T = 0.8, by either formula"

    def shown(self, settings: Settings, surveys: Mapping[tuple[str, float], Survey]) -> Table:
        """One row per model and radius, and the violations."""
        rows = [
            [name, f"{radius:g}", number(value), *_columns(surveys[name, radius])]
            for name in self.models(settings)
            for radius, value in settings.beside(TABLE8.get(name))
        ]
        columns = ["model", "r", "paper's cosine"]
        columns += ["epsilon, its formula", "median found", "lowest", "certified there"]
        columns += ["epsilon, sound", "median found", "lowest"]
        attacks = (settings.restarts + 1) * sum(len(survey.norm) for survey in surveys.values())
        sound, paper = (sum(gap < 0 for survey in surveys.values() for gap in _gaps(survey)[kind]) for kind in (0, 1))
        sound += sum(int(sum(survey.measured["found_sound"] < COSINE)) for survey in surveys.values())
        notes = [
            f"{settings.items} images; {explained(settings)}. {self.effort(settings)} {attacks:,} attacks in all; the "
            "worst change, scaled, is tried at the sound epsilon too.",
            f"The cosine found (estimated from {SCORED} fresh draws) lay below the sound bound {sound} times, and "
            f"below the paper's {paper} times. `attribound paper attacks` and `counterexamples` show where its formula "
            "fails.",
            "A sound epsilon of 0 means that nothing is certified at this cosine.",
        ]
        return Table(self.title, columns, rows, notes)


def _columns(survey: Survey) -> list[str]:
    epsilon, (cosines, sound) = survey.max_epsilon_paper(COSINE), (survey.measured[key] for key in MEASURED)
    columns = [number(median(epsilon)), number(median(cosines)), number(min(cosines))]
    columns += [certified(median(survey.cosine(epsilon))), certified(median(survey.max_epsilon(COSINE)))]
    return [*columns, number(median(sound)), number(min(sound))]


def _gaps(survey: Survey) -> tuple[list[float], list[float]]:
    """Between what was found and the certified cosine, and the paper's T; sorted."""
    epsilon, cosines = survey.max_epsilon_paper(COSINE), survey.measured["found"]
    sound, paper = (np.sort(cosines - bound(epsilon)).tolist() for bound in (survey.cosine, survey.cosine_paper))
    return sound, paper


@final
class Figure2(_AtCertified):
    """The gap between bound and attack, sorted, for the images where it is smallest."""

    name, title = "figure2", "Figure 2: gap between the cosine found by attacks and the bounds (IGR)"
    networks = {"IGR": CERTIFIED["IGR"]}  # noqa: RUF012
    radii = (1.5, 2.0, 2.5)

    def shown(self, settings: Settings, surveys: Mapping[tuple[str, float], Survey]) -> Table:
        """Smallest and median gap by radius."""
        rows = [
            [f"{radius:g}", *(number(gap) for gaps in _gaps(survey) for gap in (gaps[0], median(gaps[:TIGHTEST])))]
            for (_, radius), survey in surveys.items()
        ]
        columns = ["r", "smallest gap, sound", "median gap, sound", "smallest gap, paper's", "median gap, paper's"]
        notes = [
            f"At the epsilon that the paper's formula allows for T = {COSINE}; {explained(settings)}; of "
            f"{settings.items} images the {min(TIGHTEST, settings.items)} with the smallest gaps of each kind. "
            "The paper: the 200 smallest of 10,000 images of CIFAR-10.",
            self.effort(settings),
        ]
        return Table(self.title, columns, rows, notes)

    def figure(self, settings: Settings, numbers: Numbers) -> plots.Picture:
        """Sorted gaps, one panel per radius."""
        gaps = {radius: _gaps(read_survey(stored)) for (_, radius), stored in numbers.items()}
        return plots.plot_gaps({f"r = {r:g}": (s[:TIGHTEST], p[:TIGHTEST]) for r, (s, p) in gaps.items()})
