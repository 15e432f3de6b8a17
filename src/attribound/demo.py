"""The main job, ready to run: certify real images with the shipped model and both noises, with pictures."""

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from attribound.attacks import Direct
from attribound.attacks.audit import Finding, audit
from attribound.certificate import COSINES, Certificate
from attribound.certification import certify, input_hash
from attribound.data import Arrays, mnist_sample
from attribound.errors import ArgumentError
from attribound.fields import Bounded, Saliency, Unit
from attribound.fields.base import Output
from attribound.models import load_shipped
from attribound.noise import Gaussian, Noise, UniformBall, make_noise
from attribound.report import plots
from attribound.training import accuracy

MODEL = "mnist-cnn-noise"
SIGMA = 0.5
ROWS_PER_PICTURE = 4
ATTACKED = 3


@dataclass(frozen=True)
class DemoRun:
    """All certificates of one noise law, with the model's accuracy on the whole sample."""

    noise: Noise
    certificates: list[Certificate]
    accuracy: float
    accuracy_noisy: float

    def summary(self) -> dict[str, Any]:
        """The run as `demo --json` prints it."""
        first = self.certificates[0]
        return {
            "noise": self.noise.kind,
            "radius": self.noise.radius_of(first.dim),
            "sigma": self.noise.sigma_per_feature(first.dim),
            "model": MODEL,
            "items": len(self.certificates),
            "samples": first.samples,
            "alpha": first.alpha,
            "accuracy": self.accuracy,
            "accuracy_noisy": self.accuracy_noisy,
            "median_max_epsilon": {
                f"{cosine:g}": statistics.median(one.max_epsilon(cosine) for one in self.certificates)
                for cosine in COSINES
            },
        }


def run_demo(
    out: Path, *, items: int, samples: int, alpha: float, seed: int, progress: Callable[[str, int, int], None]
) -> tuple[list[DemoRun], dict[str, Any]]:
    """Certify the first `items` images of the embedded sample and write certificates and pictures to `out`.

    Args:
        out: folder for the results; made if missing.
        items: number of images.
        samples: noise draws per image and noise law.
        alpha: failure probability per certificate.
        seed: seed of the draws.
        progress: called with (noise kind, images done, images in all).

    Returns:
        The runs and the JSON summary.
    """
    started = time.perf_counter()
    images, labels = mnist_sample()
    data = Arrays(images, labels)
    model = load_shipped(MODEL)
    out.mkdir(parents=True, exist_ok=True)
    runs: list[DemoRun] = []
    for noise in (UniformBall.from_sigma(SIGMA, images[0].numel()), Gaussian(SIGMA)):
        certificates: list[Certificate] = []
        for item in range(items):
            progress(noise.kind, item, items)
            field = Unit(Saliency(model))
            certificates.append(
                certify(field, images[item], noise=noise, samples=samples, alpha=alpha, seed=seed, item=item)
            )
        progress(noise.kind, items, items)
        run = DemoRun(noise, certificates, accuracy(model, data), accuracy(model, data, noise))
        _write(out, run, model, images)
        runs.append(run)
    findings = _attack_a_few(runs[-1].certificates, model, images, progress)
    summary: dict[str, Any] = {
        "runs": [run.summary() for run in runs],
        "attacks": [finding.row() for finding in findings],
        "out": str(out),
        "seconds": time.perf_counter() - started,
    }
    (out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    return runs, summary


def _attack_a_few(
    certificates: list[Certificate], model: nn.Module, images: Tensor, progress: Callable[[str, int, int], None]
) -> list[Finding]:
    """Attack the first certificates at their own claim: none may fall below it."""
    attacked, findings = certificates[:ATTACKED], list[Finding]()
    for number, one in enumerate(attacked):
        progress("attack", number, len(attacked))
        attack = Direct(steps=30, samples=96, rescore_samples=4096)
        findings.append(audit(one, Unit(Saliency(model)), images[one.item], [attack], measure_tightness=False))
    progress("attack", len(attacked), len(attacked))
    return findings


def _write(out: Path, run: DemoRun, model: nn.Module, images: Tensor) -> None:
    """Store every certificate, and pictures of the first few."""
    folder = out / run.noise.kind
    folder.mkdir(exist_ok=True)
    for certificate in run.certificates:
        certificate.save(folder / f"{certificate.item:03d}.json")
    shown = run.certificates[:ROWS_PER_PICTURE]
    figure = plots.plot_rows(
        shown,
        [images[one.item].numpy() for one in shown],
        [plain_map(model, images[one.item], one.target) for one in shown],
        title=f"{run.noise.kind} noise, sigma {SIGMA:g} per pixel: no change of size epsilon can bend the map further",
    )
    plots.save(figure, out / f"{run.noise.kind}.png")


def plain_map(model: nn.Module, image: Tensor, target: int) -> Any:
    """The ordinary saliency map, without noise."""
    return Saliency(model).attribute(image[None], target)[0].detach().to(torch.float64).numpy()


def find_subject(stored: Certificate, model: str) -> tuple[Bounded, Tensor]:
    """The field and the embedded image that a stored certificate is about, with a shipped model."""
    if stored.method != "saliency" or stored.bound_kind != "unit":
        raise ArgumentError(f"expected a certificate of Unit(Saliency), got {stored.bound_kind} {stored.method}")
    by_hash = {input_hash(image): image for image in mnist_sample()[0]}
    if stored.input_sha256 not in by_hash:
        raise ArgumentError("the certificate's input is not in the embedded sample")
    output: Output = "probability" if stored.output == "probability" else "logit"
    return Unit(Saliency(load_shipped(model), output=output)), by_hash[stored.input_sha256]


def certify_again(stored: Certificate, model: str) -> Certificate:
    """Sample a stored certificate of the embedded sample again with a shipped model."""
    field, image = find_subject(stored, model)
    again: Certificate = certify(
        field,
        image,
        stored.target,
        noise=make_noise(stored.evidence.noise_kind, stored.evidence.scale),
        samples=stored.budget,
        until=stored.until,
        alpha=stored.alpha,
        seed=stored.seed,
        item=stored.item,
    )
    return again
