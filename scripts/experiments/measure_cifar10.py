"""Accuracy against certified epsilon of the CIFAR-10 models.

`python scripts/experiments/measure_cifar10.py --cifar10 DIR`. Saliency or Grad-CAM (Unit) of the predicted class,
Gaussian noise of sigma 0.25, the first images of the test set, alpha 0.001; chance is the 90 % quantile of the cosines
between smoothed maps of different images. Writes `results/cifar10.json`, model by model: run again to resume, delete a
row to measure it anew.
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

RESULT = Path(__file__).parents[2] / "results" / "cifar10.json"
SIGMA = 0.25
SUBJECTS = [
    ("cifar10-resnet20", None, "saliency"),
    ("cifar10-resnet20", "denoiser-cifar10", "saliency"),
    ("cifar10-resnet20", "denoiser-cifar10-resnet20", "saliency"),
    ("cifar10-resnet20-noise", None, "saliency"),
    ("cifar10-resnet20-noise", None, "gradcam"),
    ("cifar10-resnet20-consistency", None, "saliency"),
    ("cifar10-resnet20-consistency", None, "gradcam"),
]
FIELDS = {"saliency": ab.Saliency, "gradcam": ab.GradCAM}


def measure(model: nn.Module, method: str, test: Dataset, items: int, samples: int) -> dict[str, Any]:
    """Accuracy, clean and under noise, and medians over the certificates of the first images."""
    noise = ab.Gaussian(SIGMA)
    certifier = ab.Certifier(ab.Unit(FIELDS[method](model)), noise=noise, samples=samples)
    found = [certifier(test.input(item), seed=0, item=item) for item in range(items)]
    flat = torch.stack([torch.as_tensor(one.map).flatten().double() for one in found])
    flat = flat / flat.norm(dim=1, keepdim=True)
    rows, columns = torch.triu_indices(items, items, 1)
    return {
        "accuracy": accuracy(model, test),
        "accuracy_noisy": accuracy(model, test, noise=noise),
        "median_epsilon": {str(c): statistics.median(one.max_epsilon(c) for one in found) for c in (0.8, 0.9)},
        "median_joint_epsilon": statistics.median(one.joint_epsilon(0.8) for one in found),
        "median_norm": statistics.median(one.norm for one in found),
        "median_fidelity": statistics.median(one.fidelity for one in found),
        "chance": float(torch.quantile((flat @ flat.T)[rows, columns], 0.9)),
    }


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
    for name, denoiser, method in SUBJECTS:
        known = any((row["model"], row["denoiser"], row["method"]) == (name, denoiser, method) for row in rows)
        if known or (chosen.only and name not in chosen.only):
            continue
        model = load_shipped(name)
        subject = model if denoiser is None else Denoised(model, load_denoiser(denoiser), sigma=SIGMA)
        asked = {"items": chosen.items, "samples": chosen.samples, "images": chosen.images}
        figures = measure(subject, method, test, chosen.items, chosen.samples)
        rows.append({"model": name, "denoiser": denoiser, "method": method, **asked, **figures})
        command = "python scripts/experiments/measure_cifar10.py --cifar10 DIR --items N --samples N --images N"
        stored = {"command": command, "sigma": SIGMA, "alpha": 1e-3, "rows": rows}
        RESULT.write_text(json.dumps(stored, indent=1) + "\n")
        print(json.dumps(rows[-1]), flush=True)


if __name__ == "__main__":
    main()
