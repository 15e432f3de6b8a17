"""Tables 5 and 6: the largest epsilon on MNIST and CIFAR-10."""

from collections.abc import Mapping
from typing import Any, ClassVar, final

from attribound.bounds.paper import max_epsilon_paper
from attribound.paper.experiment import Experiment, Found
from attribound.paper.published import TABLE5, TABLE6
from attribound.paper.settings import CERTIFIED, CIFAR_MODELS, MNIST_MODELS, Cell, Settings
from attribound.paper.survey import COSINES, explained, median, survey
from attribound.paper.table import Table, certified, number


class _Largest(Experiment):
    """The largest epsilon for T = 0.8 and 0.9 by model and radius."""

    models: ClassVar[Mapping[str, str]]
    published: ClassVar[Mapping[Any, tuple[float, ...]]]
    data: ClassVar[str] = "mnist-sample"
    remark: ClassVar[str] = ""

    def _chosen(self, settings: Settings) -> dict[str, str]:
        return settings.chosen(dict(self.models))

    def _survey(self, settings: Settings, model: str, radius: float) -> Cell:
        return survey(settings, model, settings.method, radius, self.data)

    @final
    def cells(self, settings: Settings) -> list[Cell]:
        """One survey per model and radius."""
        return [self._survey(settings, model, r) for model in self._chosen(settings).values() for r in settings.radii]

    @final
    def table(self, settings: Settings, found: Found) -> Table:
        """One row per T, model and radius."""
        rows = []
        for cosine in reversed(COSINES):
            for name, model in self._chosen(settings).items():
                for radius, value in settings.beside(self.published.get((name, cosine))):
                    cell = found[self._survey(settings, model, radius).key]
                    at = f"{cosine:g}"
                    formula, sound = (median(cell[kind][at]) for kind in ("max_epsilon_paper", "max_epsilon"))
                    most = max_epsilon_paper(cosine, norm=1.0, limit=1.0, radius=radius, dim=cell["dim"])
                    note = "more than c <= M allows" if value is not None and value > most + 5e-5 else ""
                    start = [at, name, f"{radius:g}", number(value), number(most), number(formula)]
                    rows.append([*start, certified(sound), f"{median(cell['norm']):.3f}", note])
        columns = ["T", "model", "r", "paper's epsilon", "its formula at c = M", "its formula, ours", "certified"]
        notes = [
            f"Medians over {len(cell['norm'])} images of {settings.data or self.data}; {explained(settings)}; "
            f"{settings.samples} draws, alpha {settings.alpha:g} per image. The paper's formula is not a guarantee; "
            "where the map hardly turns (c near M) the sound bound can exceed it.",
            "c / M: the sampled norm, an estimate. " + self.remark,
        ]
        return Table(self.title, [*columns, "c / M", "note"], rows, notes)


@final
class Table5(_Largest):
    """MNIST."""

    name, title = "table5", "Table 5: the largest epsilon on MNIST"
    models = {name: MNIST_MODELS[name] for name in CERTIFIED}  # noqa: RUF012
    published = TABLE5


@final
class Table6(_Largest):
    """CIFAR-10."""

    name, title = "table6", "Table 6: the largest epsilon on CIFAR-10"
    items, samples = 20, 512
    models, published = CIFAR_MODELS, TABLE6
    data = "photos?size=32"
    quick_items, quick_samples = 1, 16
    remark = "The paper's networks are ResNet-18, standard, IG-NORM and IGR; ours ResNet-20, standard and with noise."
