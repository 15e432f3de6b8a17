"""Accuracy against certified epsilon of the CIFAR-10 models: `python scripts/measure_cifar10.py --cifar10 DIR`.

Saliency (Unit) of the predicted class, Gaussian noise of sigma 0.25, the first images of the test set, alpha 0.001.
Writes `results/cifar10.json`, model by model: run again to resume, delete a row to measure it anew.
"""

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import torch
from torch import nn

import attribound as ab
from attribound.data import Arrays, Dataset, open_data
from attribound.models import Denoised, load_denoiser, load_shipped
from attribound.training import accuracy

RESULT = Path(__file__).parent.parent / "results" / "cifar10.json"
SIGMA = 0.25
SUBJECTS = [
    ("cifar10-resnet20", None),
    ("cifar10-resnet20", "denoiser-cifar10"),
    ("cifar10-resnet20-noise", None),
]


def measure(model: nn.Module, test: Dataset, items: int, samples: int) -> dict[str, Any]:
    """Accuracy, clean and under noise, and medians over the certificates of the first images."""
    noise = ab.Gaussian(SIGMA)
    field = ab.Unit(ab.Saliency(model))
    certificates, fidelities = [], []
    for item in range(items):
        x = test.image(item)
        certificates.append(ab.certify(field, x, noise=noise, samples=samples, item=item))
        smoothed = torch.from_numpy(certificates[-1].attribution).flatten().double()
        plain = gradient(model, x, certificates[-1].target).flatten().double()
        fidelities.append(float(torch.cosine_similarity(plain, smoothed, dim=0)))
    return {
        "accuracy": accuracy(model, test),
        "accuracy_noisy": accuracy(model, test, noise=noise),
        "median_epsilon": {
            str(cosine): statistics.median(certificate.max_epsilon(cosine) for certificate in certificates)
            for cosine in (0.8, 0.9)
        },
        "median_norm": statistics.median(certificate.norm for certificate in certificates),
        "median_fidelity": statistics.median(fidelities),
    }


def gradient(model: nn.Module, x: torch.Tensor, target: int) -> torch.Tensor:
    """The plain saliency map, without noise."""
    point = x[None].requires_grad_(True)
    return torch.autograd.grad(model(point)[0, target], point)[0]


def main() -> None:
    """Go through the models that have no row yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cifar10", required=True, help="folder with CIFAR-10's batches")
    parser.add_argument("--items", type=int, default=40)
    parser.add_argument("--samples", type=int, default=2048)
    parser.add_argument("--images", type=int, default=10_000, help="test images for the accuracy")
    parser.add_argument("--only", nargs="*", help="only these models")
    chosen = parser.parse_args()
    whole = open_data(f"cifar10:{chosen.cifar10}", "test")
    test = Arrays(*whole.batch(range(chosen.images)))
    rows = json.loads(RESULT.read_text())["rows"] if RESULT.exists() else []
    for name, denoiser in SUBJECTS:
        known = any((row["model"], row["denoiser"]) == (name, denoiser) for row in rows)
        if known or (chosen.only and name not in chosen.only):
            continue
        model = load_shipped(name)
        subject = model if denoiser is None else Denoised(model, load_denoiser(denoiser), sigma=SIGMA)
        asked = {"items": chosen.items, "samples": chosen.samples, "images": chosen.images}
        rows.append(
            {"model": name, "denoiser": denoiser, **asked, **measure(subject, test, chosen.items, chosen.samples)}
        )
        command = "python scripts/measure_cifar10.py --cifar10 DIR --items N --samples N --images N"
        stored = {"command": command, "sigma": SIGMA, "alpha": 1e-3, "rows": rows}
        RESULT.write_text(json.dumps(stored, indent=1) + "\n")
        print(json.dumps(rows[-1]), flush=True)


if __name__ == "__main__":
    main()
