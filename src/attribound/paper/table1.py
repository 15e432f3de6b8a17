"""Table 1: plain and smoothed maps under the l2 attack, on models of four kinds."""

import statistics
from typing import Any, final

import torch

from attribound.attacks import attack
from attribound.attacks.score import Score, rescore
from attribound.fields import IntegratedGradients, Saliency
from attribound.fields.base import Field
from attribound.noise import UniformBall
from attribound.paper.experiment import Experiment, Found
from attribound.paper.published import TABLE1
from attribound.paper.settings import CIFAR_MODELS, MNIST_MODELS, Cell, Settings, first_images, predicted
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
                rows.append([method, metric, *cells, _note(settings, found, method, metric, ours)])
        return Table(
            self.title, ["map", "metric", *(f"{name}: ours (paper)" for name in models), "note"], rows, _notes(settings)
        )


def _note(settings: Settings, found: Found, method: str, metric: str, ours: dict[str, float]) -> str:
    """Which model is best, and what two estimates of one smoothed map give without any attack."""
    highest = f"highest: {max(ours, key=lambda name: ours[name])}"
    if not method.startswith("Smooth"):
        return highest
    cells = [found[_cell(settings, name, model, method).key] for name, model in _models(settings).items()]
    unharmed = [statistics.mean(cell["unharmed"][metric]) for cell in cells]
    return f"{highest}; without attack {min(unharmed):.2f} to {max(unharmed):.2f}"


def _notes(settings: Settings) -> list[str]:
    return [
        f"The paper: CIFAR-10, ResNet-18, 200 iterations, 300 draws. Here: {settings.data or 'mnist-sample'}, "
        f"{settings.items} images, {_steps(settings)} iterations, {DRAWS} draws, {PATH_STEPS} points on IG's path.",
        f"Smoothing: uniform in the ball of radius {RADIUS:g}; k = 100 (MNIST) or 1,000 (CIFAR-10); tau-b instead of "
        f"the printed formula, which is not Kendall's tau. The paper does not say its epsilon. Smoothed maps are "
        f"scored from {_scored(settings)} fresh draws on either side, so chance lowers them even without an attack.",
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
        "scored": _scored(settings),
    }
    about = settings.about(model, steps=_steps(settings), **constants)
    return Cell(f"table1-{name}-{method}", about, lambda: _measure(settings, model, method))


def _scored(settings: Settings) -> int:
    return 16 if settings.quick else 256


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
            rescore_samples=_scored(settings),
            seed=settings.seed,
        )
        for image in images
    ]
    unharmed = [
        rescore(
            field, image, torch.zeros_like(image), predicted(network, image), noise, _scored(settings), settings.seed
        )
        for image in images
    ]
    return {**_scores([one.score for one in found], k), "unharmed": _scores(unharmed, k)}


def _scores(scores: list[Score], k: int) -> dict[str, Any]:
    return {
        "top-k": [one.top_k(k) for one in scores],
        "Kendall": [one.kendall for one in scores],
        "cosine": [one.cosine for one in scores],
    }
