"""Table 1: plain and smoothed maps under the l2 attack, on models of four kinds."""

import statistics
from typing import Any, final

from attribound.attacks import attack
from attribound.attacks.score import Score, rescore
from attribound.fields import IntegratedGradients, Saliency
from attribound.fields.base import Field
from attribound.noise import UniformBall
from attribound.paper.experiment import Experiment, Numbers, Piece
from attribound.paper.published import TABLE1
from attribound.paper.settings import CIFAR_MODELS, MNIST_MODELS, Settings, predicted
from attribound.paper.table import Table, kept, number
from attribound.sampling import Around

METHODS = ("SM", "SmoothSM", "IG", "SmoothIG")
METRICS = ("top-k", "Kendall")
RADIUS, PATH_STEPS, EPSILON, DRAWS = 0.5, 8, 1.0, 8


@final
class Table1(Experiment):
    """Top-k intersection and Kendall's tau after the attack."""

    name, title = "table1", "Table 1: attributions after the l2 attack (IFIA, top-k loss), epsilon 1.0"
    items, quick_items = 50, 1

    def pieces(self, settings: Settings) -> dict[tuple[str, str], Piece]:
        """One per model and method."""
        models = settings.chosen(CIFAR_MODELS if settings.source.startswith("cifar10") else MNIST_MODELS)
        return {
            (name, method): _piece(settings, name, model, method)
            for name, model in models.items()
            for method in METHODS
        }

    def table(self, settings: Settings, numbers: Numbers) -> Table:
        """Ours and the paper's, model by model."""
        models = list(dict.fromkeys(name for name, _ in numbers))
        rows = [
            _row(method, metric, {name: numbers[name, method] for name in models})
            for method in METHODS
            for metric in METRICS
        ]
        columns = ["map", "metric", *(f"{name}: ours (paper)" for name in models), "note"]
        return Table(self.title, columns, rows, _notes(settings))


def _row(method: str, metric: str, measured: dict[str, Any]) -> list[str]:
    """Ours and the paper's, which model is best, and what two estimates of one map give without any attack."""
    ours = {name: statistics.mean(values[metric]) for name, values in measured.items()}
    cells = [f"{number(value)} ({number(TABLE1[method, metric].get(name))})" for name, value in ours.items()]
    note = f"highest: {max(ours, key=lambda name: ours[name])}"
    unharmed = [statistics.mean(values["unharmed"][metric]) for values in measured.values() if "unharmed" in values]
    if unharmed:
        note += f"; without attack {min(unharmed):.2f} to {max(unharmed):.2f}"
    return [method, metric, *cells, note]


def _notes(settings: Settings) -> list[str]:
    return [
        f"The paper: CIFAR-10, ResNet-18, 200 iterations, 300 draws. Here: {settings.source}, "
        f"{settings.items} images, {_steps(settings)} iterations, {DRAWS} draws, {PATH_STEPS} points on IG's path.",
        f"Smoothing: uniform in the ball of radius {RADIUS:g}; k = 100 (MNIST) or 1,000 (CIFAR-10); tau-b instead of "
        f"the printed formula, which is not Kendall's tau. The paper does not say its epsilon. Smoothed maps are "
        f"scored from {_scored(settings)} fresh draws on either side, so chance lowers them even without an attack.",
    ]


def _piece(settings: Settings, name: str, model: str, method: str) -> Piece:
    constants = {"radius": RADIUS, "path": PATH_STEPS, "epsilon": EPSILON, "draws": DRAWS, "scored": _scored(settings)}
    about = settings.about(model, steps=_steps(settings), method=method, **constants)
    return Piece(f"{name}-{method}", about, lambda: _measure(settings, model, method))


def _scored(settings: Settings) -> int:
    return 16 if settings.quick else 256


def _steps(settings: Settings) -> int:
    return 2 if settings.quick else 40


def _measure(settings: Settings, model: str, method: str) -> dict[str, Any]:
    network, images, scored = settings.network(model), settings.images(), _scored(settings)
    field: Field = IntegratedGradients(network, steps=PATH_STEPS) if method.endswith("IG") else Saliency(network)
    noise = UniformBall(RADIUS) if method.startswith("Smooth") else None
    k = 100 if images[0].numel() < 1000 else 1000
    options: dict[str, Any] = {"k": k, "steps": _steps(settings), "samples": DRAWS, "rescore_samples": scored}
    attacked = [attack(field, x, epsilon=EPSILON, noise=noise, seed=settings.seed, **options) for x in images]
    scores = _scores([result.score for result in attacked], k)
    if noise is None:
        return scores
    families = [Around(field, predicted(network, x), x) for x in images]
    unharmed = [rescore(one, one, noise, scored, settings.seed) for one in families]
    return {**scores, "unharmed": _scores(unharmed, k)}


def _scores(scores: list[Score], k: int) -> dict[str, Any]:
    return {"top-k": kept(score.top_k(k) for score in scores), "Kendall": kept(score.kendall for score in scores)}
