"""Make the embedded sample and the two shipped MNIST models: `python scripts/make_embedded.py --mnist DIR`.

DIR holds MNIST's four IDX files. Takes about two minutes on two cores; prints the accuracies that the model cards
quote.
"""

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

from attribound.data import read_mnist
from attribound.models import SmallCNN
from attribound.noise import Gaussian
from attribound.training import Schedule, Standard, WithNoise, accuracy, fit

PACKAGE = Path(__file__).parent.parent / "src" / "attribound"
PER_DIGIT = 30
SIGMA = 0.5
RECIPES = {
    "mnist-cnn": (Standard(), Schedule(epochs=3)),
    "mnist-cnn-noise": (WithNoise(Standard(), Gaussian(SIGMA)), Schedule(epochs=3, rate=1.2e-3, decay=5e-4)),
}


def make_sample(images: torch.Tensor, labels: torch.Tensor) -> None:
    """Store the first images of each digit of the test set, in the test set's order."""
    chosen = torch.cat([(labels == digit).nonzero()[:PER_DIGIT, 0] for digit in range(10)]).sort().values
    pixels = (images[chosen, 0] * 255).round().to(torch.uint8).numpy()
    np.savez_compressed(
        PACKAGE / "data" / "mnist-sample.npz", images=pixels, labels=labels[chosen].numpy().astype(np.uint8)
    )


def make_model(name: str, train: tuple[torch.Tensor, ...], test: tuple[torch.Tensor, ...]) -> None:
    """Train one model and store its weights and card."""
    objective, schedule = RECIPES[name]
    torch.manual_seed(schedule.seed)
    model = SmallCNN()
    fit(
        model,
        *train,
        objective,
        schedule,
        report=lambda epoch, loss: print(f"{name} epoch {epoch}: {loss:.4f}"),
    )
    card = {
        "name": name,
        "architecture": "SmallCNN",
        "data": "MNIST, 60,000 training images, pixels in [0, 1]",
        "objective": repr(objective),
        "schedule": repr(schedule),
        "command": "python scripts/make_embedded.py --mnist DIR",
        "test_accuracy": accuracy(model, *test),
        f"test_accuracy_gaussian_{SIGMA}": accuracy(model, *test, noise=Gaussian(SIGMA)),
        "date": datetime.now(UTC).date().isoformat(),
    }
    folder = PACKAGE / "models" / "weights"
    save_file(model.state_dict(), folder / f"{name}.safetensors")
    (folder / f"{name}.json").write_text(json.dumps(card, indent=1) + "\n")
    print(json.dumps(card))


def main() -> None:
    """Parse the arguments and make what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mnist", required=True, help="folder with MNIST's IDX files")
    parser.add_argument("--only", choices=["sample", *RECIPES], help="make only this part")
    chosen = parser.parse_args()
    train, test = read_mnist(chosen.mnist, "train"), read_mnist(chosen.mnist, "test")
    if chosen.only in (None, "sample"):
        make_sample(*test)
    for name in RECIPES:
        if chosen.only in (None, name):
            make_model(name, train, test)


if __name__ == "__main__":
    main()
