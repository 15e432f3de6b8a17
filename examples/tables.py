"""Which measurements are the reasons, and are they still if the measurements are slightly off?

A small network learns to tell benign from malignant tumours (scikit-learn's breast_cancer: 569 patients, 30
measurements). For patients it has not seen, the four measurements that speak most for its decision are certified: up to
which error, in standard deviations over all measurements together, each provably stays one of the four, and stays above
the next.

    python examples/tables.py                                   # two patients, a few seconds
    python examples/tables.py --patients 100 --samples 8192     # what results/tables.md holds
"""

import argparse
from collections.abc import Iterable

import torch
from sklearn.datasets import load_breast_cancer
from torch import Tensor, nn

import attribound as ab
from attribound.rounding import lower_quantile, round_down

SIGMA = 0.5
"""Noise, in standard deviations of each measurement."""


class Net(nn.Module):
    """A network with one hidden layer; it takes measurements in their own units and standardises them itself."""

    classes = ("malignant", "benign")

    def __init__(self, mean: Tensor, scale: Tensor) -> None:
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("scale", scale)
        self.layers = nn.Sequential(nn.Linear(len(mean), 32), nn.Softplus(), nn.Linear(32, 2))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers((x - self.mean) / self.scale)


def train(x: Tensor, y: Tensor) -> Net:
    """Noise as strong as the certificate's is part of the training: a network that bears it has more to certify."""
    torch.manual_seed(0)
    model = Net(x.mean(dim=0), x.std(dim=0))
    optimizer = torch.optim.Adam(model.parameters(), 5e-3, weight_decay=1e-4)
    for _ in range(120):
        for chosen in torch.randperm(len(x)).split(64):
            noisy = x[chosen] + SIGMA * model.scale * torch.randn(len(chosen), x.shape[1])
            loss = nn.functional.cross_entropy(model(noisy), y[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model.eval().requires_grad_(False)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--patients", type=int, default=2)
    parser.add_argument("--samples", type=int, default=2048)
    asked = parser.parse_args()
    table = load_breast_cancer()
    x, y = torch.tensor(table.data, dtype=torch.float32), torch.tensor(table.target)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    learnt, test = order[:400], order[400:]
    model = train(x[learnt], y[learnt])
    right = (model(x[test]).argmax(dim=1) == y[test]).double().mean()
    print(f"{len(test)} patients that were not learnt from: {float(right):.1%} classified as diagnosed")

    # How much each measurement speaks for the class, against an average patient.
    contributions = ab.IntegratedGradients(model, baseline=model.mean, steps=4)
    # How much one standard deviation of each measurement would change the class's score.
    sensitivity = ab.Absolute(ab.Scaled(ab.Saliency(model), model.scale))
    noise = ab.Gaussian(sigma=SIGMA, scale=model.scale)
    names = [str(name) for name in table.feature_names]
    for title, method in (("contributions", contributions), ("sensitivity", sensitivity)):
        certificates = ab.certify_batch(
            ab.Unit(method),
            x[test[: asked.patients]],
            noise=noise,
            samples=asked.samples,
            reasons=4,
            features=names,
            seed=0,
        )
        first = certificates[0]
        print(f"\n{title}: patient {int(test[0])}, why {model.classes[first.target]}:\n{first.reasons()}")
        print(summary(certificates))


def summary(certificates: list[ab.Certificate]) -> str:
    """Medians over patients; epsilon counts standard deviations."""
    reasons = [one.reasons() for one in certificates]

    def median(values: Iterable[float]) -> str:
        return round_down(lower_quantile(list(values), 0.5), 3)

    stay = [f"{n} of 4 up to {median(sorted(one.stays)[4 - n] for one in reasons)}" for n in (4, 3, 2, 1)]
    return (
        f"median over {len(reasons)} patients, in standard deviations: {', '.join(stay)}; the first stays first up to "
        f"{median(one.leads[0] for one in reasons)}; all four in order up to "
        f"{median(one.max_order_epsilon for one in reasons)}; the class up to "
        f"{median(one.prediction_radius for one in certificates)}"
    )


if __name__ == "__main__":
    main()
