"""Table 1: plain and smoothed maps under the l2 attack, on models of four kinds."""

import statistics
from typing import Any, final

from attribound.attacks import attack
from attribound.fields import IntegratedGradients, Saliency
from attribound.fields.base import Field
from attribound.noise import UniformBall
from attribound.paper.experiment import Experiment, Found
from attribound.paper.published import TABLE1
from attribound.paper.settings import CIFAR_MODELS, MNIST_MODELS, Cell, Settings, first_images
from attribound.paper.table import Table, number

METHODS = ("SM", "SmoothSM", "IG", "SmoothIG")
RADIUS, PATH_STEPS, EPSILON, DRAWS = 0.5, 8, 1.0, 8


@final
class Table1(Experiment):
    """Top-k intersection and Kendall's tau after the attack."""

    name, title = "table1", "Table 1: attributions after the l2 attack (IFIA, top-k loss), epsilon 1.0"
    items, quick_items = 50, 1

    def cells(self, settings: Settings) -> list[Cell]:
        """One per model and method."""
        return [_cell(settings, name, model, method) for name, model in _models(settings).items() for method in METHODS]

    def table(self, settings: Settings, found: Found) -> Table:
        """Ours and the paper's, model by model."""
        models = _models(settings)
        rows = []
        for method in METHODS:
            for metric in ("top-k", "Kendall"):
                ours = {
                    name: statistics.mean(found[_cell(settings, name, model, method).key][metric])
                    for name, model in models.items()
                }
                printed = TABLE1[method, metric]
                cells = [f"{number(ours[name])} ({number(printed.get(name))})" for name in models]
                highest = max(ours, key=lambda name: ours[name])
                rows.append([method, metric, *cells, f"highest: {highest}"])
        return Table(
            self.title, ["map", "metric", *(f"{name}: ours (paper)" for name in models), "note"], rows, _notes(settings)
        )


def _notes(settings: Settings) -> list[str]:
    return [
        f"The paper: CIFAR-10, ResNet-18, 200 iterations, 300 draws. Here: {settings.data or 'mnist-sample'}, "
        f"{settings.items} images, {_steps(settings)} iterations, {DRAWS} draws, {PATH_STEPS} points on IG's path.",
        f"Smoothing: uniform in the ball of radius {RADIUS:g}; k = 100 (MNIST) or 1,000 (CIFAR-10); tau-b instead of "
        "the printed formula, which is not Kendall's tau.",
    ]


def _models(settings: Settings) -> dict[str, str]:
    return settings.chosen(CIFAR_MODELS if (settings.data or "").startswith("cifar10") else MNIST_MODELS)


def _cell(settings: Settings, name: str, model: str, method: str) -> Cell:
    constants: dict[str, Any] = {
        "method": method,
        "radius": RADIUS,
        "path": PATH_STEPS,
        "epsilon": EPSILON,
        "draws": DRAWS,
    }
    about = settings.about(model, steps=_steps(settings), **constants)
    return Cell(f"table1-{name}-{method}", about, lambda: _measure(settings, model, method))


def _steps(settings: Settings) -> int:
    return 2 if settings.quick else 40


def _measure(settings: Settings, model: str, method: str) -> dict[str, Any]:
    network = settings.network(model)
    field: Field = IntegratedGradients(network, steps=PATH_STEPS) if method.endswith("IG") else Saliency(network)
    noise = UniformBall(RADIUS) if method.startswith("Smooth") else None
    images = first_images(settings.dataset(), settings.items)
    k = 100 if images[0].numel() < 1000 else 1000
    found = [
        attack(
            field,
            image,
            epsilon=EPSILON,
            noise=noise,
            method="ifia",
            k=k,
            steps=_steps(settings),
            samples=DRAWS,
            rescore_samples=64,
            seed=settings.seed,
        )
        for image in images
    ]
    return {
        "top-k": [one.score.top_k(k) for one in found],
        "Kendall": [one.score.kendall for one in found],
        "cosine": [one.cosine for one in found],
    }
