"""Table 1: plain and smoothed maps under the l2 attack, on models of four kinds."""

import statistics
from dataclasses import dataclass, replace
from typing import Any, final

from attribound.attacks import attack
from attribound.attacks.score import Score, rescore
from attribound.fields import IntegratedGradients, Saliency
from attribound.fields.base import Field
from attribound.noise import UniformBall
from attribound.paper.experiment import Experiment, Numbers, Piece
from attribound.paper.published import TABLE1
from attribound.paper.settings import MNIST_MODELS, OF_LOGITS, Settings, predicted
from attribound.paper.table import Table, kept, mean_interval, number
from attribound.sampling import Around

METHODS = ("SM", "SmoothSM", "IG", "SmoothIG")
METRICS = ("top-k", "Kendall")
RADIUS, PATH_STEPS = 0.5, 8


@final
@dataclass(frozen=True)
class _Effort:
    """How hard maps are attacked on one data set.

    Attributes:
        epsilons: sizes of the change.
        steps: iterations.
        draws: draws of a smoothed map in each.
        scored: fresh draws behind a smoothed map before and after.
        once: methods that are tried at the first epsilon only.
    """

    epsilons: tuple[float, ...]
    steps: int
    draws: int
    scored: int
    once: tuple[str, ...] = ()

    @property
    def cases(self) -> list[tuple[float, str]]:
        """Epsilons and methods."""
        first = self.epsilons[0]
        return [(one, method) for one in self.epsilons for method in METHODS if one == first or method not in self.once]


MNIST = _Effort(epsilons=(1.0,), steps=40, draws=8, scored=256)
CIFAR10 = _Effort(
    epsilons=(0.25, 0.5, 1.0),
    steps=20,
    draws=4,
    scored=64,
    once=("SmoothIG",),
)
"""A step on a ResNet-20 costs 30 to 100 times one on the digits' network; smoothed IG 10 times plain saliency."""


@final
class Table1(Experiment):
    """Top-k intersection and Kendall's tau after the attack."""

    name, title = "table1", "Table 1: attributions after the l2 attack (IFIA, top-k loss)"
    items, quick_items = 50, 1

    def pieces(self, settings: Settings) -> dict[tuple[float, str, str], Piece]:
        """One per epsilon, model and method."""
        return {
            (epsilon, name, method): _piece(settings, epsilon, name, model, method)
            for epsilon, method in _effort(settings).cases
            for name, model in settings.chosen(MNIST_MODELS).items()
        }

    def table(self, settings: Settings, numbers: Numbers) -> Table:
        """Ours and the paper's, model by model."""
        models = list(settings.chosen(MNIST_MODELS))
        rows = [
            [f"{epsilon:g}", *_row(method, metric, {name: numbers[epsilon, name, method] for name in models})]
            for epsilon, method in _effort(settings).cases
            for metric in METRICS
        ]
        columns = ["epsilon", "map", "metric", "images", *(f"{name}: ours (paper)" for name in models), "note"]
        return Table(self.title, columns, rows, [*_notes(settings), *_gains(settings, numbers), OF_LOGITS])


def _row(method: str, metric: str, measured: dict[str, Any]) -> list[str]:
    """Ours and the paper's, which model is best, and what two estimates of one map give without any attack."""
    ours = {name: mean_interval(values[metric]) for name, values in measured.items()}
    cells = [f"{mean} ({number(TABLE1[method, metric].get(name))})" for name, mean in ours.items()]
    means = {name: statistics.mean(values[metric]) for name, values in measured.items()}
    note = f"highest: {max(means, key=lambda name: means[name])}"
    unharmed = [statistics.mean(values["unharmed"][metric]) for values in measured.values() if "unharmed" in values]
    if unharmed:
        note += f"; without attack {min(unharmed):.2f} to {max(unharmed):.2f}"
    return [method, metric, str(len(next(iter(measured.values()))[metric])), *cells, note]


def _notes(settings: Settings) -> list[str]:
    effort = _effort(settings)
    return [
        f"The paper: CIFAR-10, ResNet-18, 200 iterations, 300 draws. Here: {settings.source}, "
        f"{effort.steps} iterations, {effort.draws} draws, {PATH_STEPS} points on IG's path. +-: half of the 95 % "
        "interval of the mean over images (Student's t).",
        f"Smoothing: uniform in the ball of radius {RADIUS:g}; k = 100 (MNIST) or 1,000 (CIFAR-10); tau-b instead of "
        f"the printed formula, which is not Kendall's tau. The paper does not say its epsilon. Smoothed maps are "
        f"scored from {effort.scored} fresh draws on either side, so chance lowers them even without an attack.",
    ]


def _gains(settings: Settings, numbers: Numbers) -> list[str]:
    """What smoothing changes, image by image."""
    return [
        f"{method} - {plain} in top-k at epsilon {epsilon:g}, on the same images: "
        + ", ".join(
            f"{name} {mean_interval(_beyond(numbers[epsilon, name, method], numbers[epsilon, name, plain]))}"
            for name in settings.chosen(MNIST_MODELS)
        )
        + "."
        for epsilon, method in _effort(settings).cases
        if (plain := method.removeprefix("Smooth")) != method
    ]


def _beyond(smoothed: dict[str, Any], plain: dict[str, Any]) -> list[float]:
    return [one - other for one, other in zip(smoothed["top-k"], plain["top-k"], strict=True)]


def _piece(settings: Settings, epsilon: float, name: str, model: str, method: str) -> Piece:
    effort = _effort(settings)
    constants = {"radius": RADIUS, "path": PATH_STEPS, "epsilon": epsilon, "draws": effort.draws}
    about = settings.about(model, steps=effort.steps, method=method, **constants, scored=effort.scored)
    return Piece(f"{name}-{method}", about, lambda: _measure(settings, model, method, epsilon))


def _effort(settings: Settings) -> _Effort:
    effort = CIFAR10 if settings.on_cifar10 else MNIST
    return replace(effort, steps=2, scored=16) if settings.quick else effort


def _measure(settings: Settings, model: str, method: str, epsilon: float) -> dict[str, Any]:
    network, images, effort = settings.network(model), settings.images(), _effort(settings)
    field: Field = IntegratedGradients(network, steps=PATH_STEPS) if method.endswith("IG") else Saliency(network)
    noise = UniformBall(RADIUS) if method.startswith("Smooth") else None
    k = 100 if images[0].numel() < 1000 else 1000
    options: dict[str, Any] = {"k": k, "steps": effort.steps, "samples": effort.draws, "rescore_samples": effort.scored}
    attacked = [attack(field, x, epsilon=epsilon, noise=noise, seed=settings.seed, **options) for x in images]
    scores = _scores([result.score for result in attacked], k)
    if noise is None:
        return scores
    families = [Around(field, predicted(network, x), x) for x in images]
    unharmed = [rescore(one, one, noise, effort.scored, settings.seed) for one in families]
    return {**scores, "unharmed": _scores(unharmed, k)}


def _scores(scores: list[Score], k: int) -> dict[str, Any]:
    return {"top-k": kept(score.top_k(k) for score in scores), "Kendall": kept(score.kendall for score in scores)}
