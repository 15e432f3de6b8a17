"""Where the paper's formula is false: attributions whose true cosine is known."""

import math
from typing import Any, final

import torch
from torch import Tensor, nn

from attribound.bounds import cosine_bound, cosine_bound_paper, moved_fraction
from attribound.fields import IntegratedGradients, Saliency
from attribound.fields.base import Field
from attribound.metrics import cosine_similarity
from attribound.noise import UniformBall
from attribound.paper.experiment import Experiment, Found
from attribound.paper.settings import Cell, Settings
from attribound.paper.table import Table, number

DIM, RADIUS = 784, 1.0


class AbsFirst(nn.Module):
    """Logits (|y_1|, 0)."""

    def forward(self, y: Tensor) -> Tensor:
        """(B, d) to (B, 2)."""
        score = y[:, 0].abs()
        return torch.stack([score, torch.zeros_like(score)], dim=1)


class AbsDifference(nn.Module):
    """Logits (|y_1 - y_2|, 0)."""

    def forward(self, y: Tensor) -> Tensor:
        """(B, d) to (B, 2)."""
        score = (y[:, 0] - y[:, 1]).abs()
        return torch.stack([score, torch.zeros_like(score)], dim=1)


@final
class Counterexamples(Experiment):
    """Each is sampled on both sides of the change, and compared with both formulas."""

    name, title = "counterexamples", "Counterexamples to the paper's theorem"
    items, samples, quick_items, quick_samples = 9, 4000, 3, 1000

    def cells(self, settings: Settings) -> list[Cell]:
        """Three fields; the sampled ones at several epsilons."""
        sampled = [
            Cell(f"counter-{kind}-{e:g}", _about(settings, e), lambda k=kind, e=e: _measure(settings, k, e))  # type: ignore[misc]
            for kind in ("saliency of |y1|", "IG of |y1 - y2|")
            for e in (0.02, 0.05, 0.1, 0.2)[: max(settings.items // 2, 1)]
        ]
        return [*sampled, Cell("counter-regions", {}, _regions)]

    def table(self, settings: Settings, found: Found) -> Table:
        """True cosine beside both bounds, and the verdict."""
        rows, false, held = [], 0, 0
        for cell in found.values():
            sound = cell["cosine"] >= cell["tight"] - 0.02
            held += sound
            broken = cell["cosine"] < cell["paper"] - 0.02
            false += broken
            verdict = "violated" if broken else "holds"
            cells = [cell["field"], f"{cell['epsilon']:g}", number(cell["kappa"]), number(cell["cosine"])]
            rows.append(
                [*cells, number(cell["paper"]), verdict, number(cell["tight"]), "holds" if sound else "VIOLATED"]
            )
        columns = ["field", "epsilon", "c / M", "true cosine", "paper's T", "paper's", "tight bound", "tight"]
        notes = [
            f"The paper's formula is violated in {false} of {len(rows)} cases; the tight bound holds in {held}."
            f" d = {DIM}, r = 1.",
            "Sampled with antithetic draws (2 % allowed for chance); the last field is computed in closed form.",
        ]
        return Table(self.title, columns, rows, notes)


def _about(settings: Settings, epsilon: float) -> dict[str, Any]:
    return {"samples": settings.samples, "seed": settings.seed, "epsilon": epsilon, "radius": RADIUS, "dim": DIM}


def _measure(settings: Settings, kind: str, epsilon: float) -> dict[str, Any]:
    """The change goes straight through the fold of the absolute value."""
    x, delta = torch.zeros(DIM, dtype=torch.float64), torch.zeros(DIM, dtype=torch.float64)
    field: Field
    if kind.startswith("saliency"):
        field, limit = Saliency(AbsFirst()), 1.0
        x[0], delta[0] = -epsilon / 2, epsilon
    else:
        field, step = IntegratedGradients(AbsDifference(), steps=16), epsilon / math.sqrt(2)
        x += 0.5
        delta[0], delta[1] = step, -step
        x[0], x[1] = 0.5 - step / 2, 0.5 + step / 2
        # Two entries z_i * (+-1) with |z_i| <= max |x_i| + r + epsilon on both balls.
        limit = math.sqrt(2) * float(x.abs().max() + RADIUS + epsilon)
    before, after = _maps(field, x, delta, settings)
    kappa = min(float(before.norm()) / limit, 1.0)
    moved = moved_fraction(epsilon, radius=RADIUS, dim=DIM)
    return {
        "field": kind,
        "epsilon": epsilon,
        "kappa": kappa,
        "cosine": float(cosine_similarity(before[None], after[None])),
        "paper": cosine_bound_paper(kappa, 1.0, moved),
        "tight": cosine_bound(kappa, 1.0, moved),
    }


def _maps(field: Field, x: Tensor, delta: Tensor, settings: Settings) -> tuple[Tensor, Tensor]:
    """Smoothed maps at both ends, from the same draws with both signs."""
    generator = torch.Generator().manual_seed(settings.seed)
    sums, rounds = [torch.zeros_like(x), torch.zeros_like(x)], max(settings.samples // 500, 1)
    for _ in range(rounds):
        shift = UniformBall(RADIUS).draw(500, x, generator)
        for end, point in enumerate((x, x + delta)):
            for signed in (shift, -shift):
                sums[end] += field.attribute(point + signed, 0).detach().mean(dim=0)
    return sums[0] / (2 * rounds), sums[1] / (2 * rounds)


def _regions() -> dict[str, Any]:
    """Constant on what leaves, what stays and what arrives; the norms are at most 1."""
    epsilon = 0.021812
    moved = moved_fraction(epsilon, radius=RADIUS, dim=DIM)
    leaving, staying = torch.tensor([0.96, -0.28]), torch.tensor([0.3547, 0.0884])
    before = moved * leaving + (1 - moved) * staying
    after = -moved * leaving + (1 - moved) * staying
    kappa = float(before.norm())
    return {
        "field": "three regions",
        "epsilon": epsilon,
        "kappa": kappa,
        "cosine": float(cosine_similarity(before[None], after[None])),
        "paper": cosine_bound_paper(kappa, 1.0, moved),
        "tight": cosine_bound(kappa, 1.0, moved),
    }
