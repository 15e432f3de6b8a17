"""Tables 5 and 6: the largest epsilon on MNIST and CIFAR-10."""

from collections.abc import Mapping
from typing import ClassVar, final

from attribound.bounds.paper import max_epsilon_paper
from attribound.paper.published import TABLE5, TABLE6, TABLE9_CIFAR10
from attribound.paper.settings import CIFAR_MODELS, RADII, Settings
from attribound.paper.survey import (
    COSINES,
    LIMIT,
    Survey,
    SurveyTable,
    explained,
    formula_columns,
    read_otherwise,
    readings,
)
from attribound.paper.table import Table, certified, median, number
from attribound.paper.table9 import smallest_radii


class _Largest(SurveyTable):
    """The largest epsilon for T = 0.8 and 0.9 by model and radius."""

    published: ClassVar[Mapping[tuple[str, float], tuple[float, ...]]]
    remark: ClassVar[str] = ""

    @final
    def shown(self, settings: Settings, surveys: Mapping[tuple[str, float], Survey]) -> Table:
        """One row per T, model and radius."""
        rows = [
            _row(settings, cosine, name, radius, value, surveys[name, radius])
            for cosine in reversed(COSINES)
            for name in self.models(settings)
            for radius, value in settings.beside(self.published.get((name, cosine)))
        ]
        columns = [
            "T",
            "model",
            "r",
            "paper's epsilon",
            "its formula at c = M",
            *formula_columns(settings),
            "certified",
        ]
        count = len(next(iter(surveys.values())).norm)
        notes = [
            f"Medians over {count} images of {settings.source}; {explained(settings)}; "
            f"{settings.samples} draws, alpha {settings.alpha:g} per image. The paper's formula is not a guarantee; "
            "where the map hardly turns (c near M) the sound bound can exceed it.",
            "c / M: the sampled norm, an estimate. " + self.remark,
            *read_otherwise(settings),
            *self.remarks({name: survey for (name, radius), survey in surveys.items() if radius == RADII[-1]}),
        ]
        return Table(self.title, [*columns, "c / M", "note"], rows, notes)

    def remarks(self, surveys: Mapping[str, Survey]) -> list[str]:
        """What else follows from the surveys at the largest radius, by model."""
        return []


def _row(
    settings: Settings, cosine: float, name: str, radius: float, printed: float | None, survey: Survey
) -> list[str]:
    most = max_epsilon_paper(cosine, norm=LIMIT, limit=LIMIT, radius=radius, dim=survey.law.dim)
    formula = [number(median(survey.max_epsilon_paper(cosine, reading))) for reading in readings(settings)]
    note = "more than c <= M allows" if printed is not None and printed > most + 5e-5 else ""
    start = [f"{cosine:g}", name, f"{radius:g}", number(printed), number(most), *formula]
    return [*start, certified(median(survey.max_epsilon(cosine))), f"{median(survey.norm):.3f}", note]


@final
class Table5(_Largest):
    """MNIST."""

    name, title, file = "table5", "Table 5: the largest epsilon on MNIST", "table2"
    published = TABLE5


@final
class Table6(_Largest):
    """CIFAR-10."""

    name, title = "table6", "Table 6: the largest epsilon on CIFAR-10"
    data, items, samples, quick_items, quick_samples = "photos?size=32", 20, 512, 1, 16
    networks = {name: CIFAR_MODELS[name] for name in ("Standard", "IG-NORM", "IGR", "Noise")}  # noqa: RUF012
    published = TABLE6
    remark = "The paper's networks are ResNet-18, ours ResNet-20; Noise (trained with it) is ours."

    def remarks(self, surveys: Mapping[str, Survey]) -> list[str]:
        """Table 9 on CIFAR-10."""
        return smallest_radii(f"CIFAR-10 from r = {RADII[-1]:g}", surveys, TABLE9_CIFAR10)
