"""The fifty cases: what was drawn, what it proved and what follows.

Rows of the logit draw in float32, as people do. Rows of the probability compute in float64 on the same float32 draws:
where a probability is nearly 1 its float32 gradient is mostly rounding, and a fixture of rounding tests nothing.
"""

import json
from pathlib import Path
from typing import Any

import captum.attr
import torch
from torch import Tensor, nn

from attribound.bounds import Closeness, Evidence, top_k_overlap
from attribound.bounds.registry import FACTS
from attribound.bounds.visible import visible_cosine
from attribound.data import mnist_sample
from attribound.fields import Assumed, Bounded, Clip, IntegratedGradients, Proved, Saliency, Unit
from attribound.fields.captum import Captum
from attribound.models import load_shipped
from attribound.noise import parse_noise
from attribound.sampling import Estimate
from tests.sampling.running import asking, basic_statistics, estimate_of

FILE = Path(__file__).parent / "certificates.json"
COSINES, EPSILONS = (0.5, 0.8, 0.9), (0.1, 0.25, 0.5)
ASKED = ("model", "field", "noise", "item", "seed", "samples", "until", "target")
Row = dict[str, Any]


class InFloat64(nn.Module):
    """A model that computes in float64 whatever it is given."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model.double()

    def forward(self, x: Tensor) -> Tensor:
        return self.model(x.double())


FIELDS = {
    "unit-saliency": lambda model: Unit(Saliency(model)),
    "clip-saliency": lambda model: Clip(Saliency(model), 1.5),
    "assumed-saliency": lambda model: Assumed(Saliency(model), 50.0),
    "unit-ig": lambda model: Unit(IntegratedGradients(model, steps=4)),
    "unit-ig-random": lambda model: Unit(IntegratedGradients(model, steps=4, path="random")),
    "unit-probability": lambda model: Unit(Saliency(InFloat64(model), output="probability")),
    "proved-curvature": lambda model: Proved(
        Saliency(InFloat64(model), output="probability", continuous=True), 5.0, reason="test"
    ),
    "captum-input-x-gradient": lambda model: Unit(Captum(captum.attr.InputXGradient(model))),
}


def read() -> list[Row]:
    return json.loads(FILE.read_text())["rows"]


def sketched() -> tuple[nn.Module, Tensor]:
    """A model of 6,000 features, more than an exact covariance is kept for."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(6000, 8), nn.Tanh(), nn.Linear(8, 3))
    generator = torch.Generator().manual_seed(5)
    for parameter in model.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator) / 40
    return model.eval().requires_grad_(False), torch.rand(6000, generator=generator)


def subject(row: Row) -> tuple[Bounded, Tensor]:
    if row["model"] == "sketched":
        model, x = sketched()
    else:
        model, x = load_shipped(row["model"]), mnist_sample()[0][row["item"]]
    return FIELDS[row["field"]](model), x


def drawn(row: Row) -> Estimate:
    """The draws of a row, made anew."""
    field, x = subject(row)
    return estimate_of(
        field,
        x,
        parse_noise(row["noise"]),
        row["samples"],
        target=row["target"],
        seed=row["seed"],
        item=row["item"],
        until=None if row["until"] is None else asking(*row["until"]),
        parts=8,
        statistics=basic_statistics(),
    )


def stored_evidence(row: Row) -> Evidence:
    """What a row's facts prove: no draw and no model."""
    law = parse_noise(row["noise"]).law(row["dim"])
    return Evidence.of(law, row["limit"], *(FACTS[name].from_json(fact) for name, fact in row["facts"].items()))


def answers(evidence: Evidence, draws: int) -> dict[str, dict[str, float]]:
    """Everything that is derived from facts, as numbers."""
    return {
        "max_epsilon": {str(cosine): float(evidence.max_epsilon(cosine)) for cosine in COSINES},
        "cosine": {str(epsilon): float(evidence.cosine(epsilon)) for epsilon in EPSILONS},
        "visible": {"0.1": float(visible_cosine(evidence, 0.1, draws))},
        "displacement": {"0.1": float(evidence.displacement(0.1))},
        "bounds": {"norm_lower": float(evidence.norm_lower), "eigenvalue_upper": float(evidence.eigenvalue)},
    }


def rule_of(evidence: Evidence) -> str | None:
    epsilon = float(evidence.max_epsilon(0.8)) or float(evidence.max_epsilon(0.0))
    return evidence.rule_at(epsilon) if epsilon > 0 else None


def top_k(result: Estimate, *, more: float = 0.0) -> int:
    """Of the 100 largest cells, how many stay among them; `more` is added to what the map may move."""
    moved = float(result.evidence.displacement(0.1)) + float(result.evidence.fact(Closeness).radius)
    return top_k_overlap(result.map.numpy(), 100, moved + more)
