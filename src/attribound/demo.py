"""The main job, ready to run: certify real images with the shipped model and both noises, with pictures."""

import json
import shutil
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
from attribound.data import mnist_sample
from attribound.errors import ArgumentError
from attribound.fields import Bounded, Saliency, Unit
from attribound.fields.base import Output
from attribound.models import load_shipped
from attribound.noise import Gaussian, Noise, UniformBall, make_noise
from attribound.report import plots
from attribound.report.page import write_report
from attribound.runs import RunConfig, Store, is_run
from attribound.runs.audit import row_of
from attribound.runs.runner import prepare
from attribound.runs.tasks import Task
from attribound.runs.work import Worker
from attribound.training import accuracy

MODEL = "mnist-cnn-consistency"
SIGMA = 0.75
DIM = 784
ROWS_PER_PICTURE = 4
ATTACKED = 3


Progress = Callable[[str, int, int], None]


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
    out: Path, *, items: int, samples: int, alpha: float, seed: int, progress: Progress
) -> tuple[list[DemoRun], dict[str, Any]]:
    """Certify the first `items` images of the embedded sample with both noises; write runs, certificates, pictures.

    Args:
        out: folder for the results; made if missing.
        items: number of images.
        samples: noise draws per image and noise law.
        alpha: failure probability per certificate.
        seed: seed of the draws.
        progress: called with (what, images done, images in all).

    Returns:
        The runs and the JSON summary.
    """
    started = time.perf_counter()
    runs: list[DemoRun] = []
    findings: list[Finding] = []
    for noise in (UniformBall.from_sigma(SIGMA, DIM), Gaussian(SIGMA)):
        config = RunConfig(
            model=MODEL,
            data="mnist-sample",
            noise=f"{noise.kind}:{noise.scale!r}",
            samples=samples,
            alpha=alpha,
            items=items,
            seed=seed,
        )
        worker, folder = Worker(prepare(config)[1]), out / noise.kind
        if is_run(folder):
            shutil.rmtree(folder)
        with Store.create(folder, worker.config) as store:
            store.note("classes", list(worker.data.classes))
            run = _certify(store, worker, items, progress)
            if noise.kind == "gaussian":
                findings = _attack_a_few(store, run.certificates, worker, progress)
        _draw(out, run, worker)
        runs.append(run)
    reports = {
        run.noise.kind: str(write_report(out / run.noise.kind, out / f"report-{run.noise.kind}.html")) for run in runs
    }
    summary: dict[str, Any] = {
        "runs": [run.summary() for run in runs],
        "attacks": [finding.row() for finding in findings],
        "reports": reports,
        "out": str(out),
        "seconds": time.perf_counter() - started,
    }
    (out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    return runs, summary


def _certify(store: Store, worker: Worker, items: int, progress: Progress) -> DemoRun:
    certificates: list[Certificate] = []
    for item in range(items):
        progress(worker.noise.kind, item, items)
        certificate, outcome = worker.certify(Task(item, picture=True))
        store.add(outcome)
        certificate.save(store.path / f"{item:03d}.json")
        certificates.append(certificate)
    progress(worker.noise.kind, items, items)
    clean, noisy = (accuracy(worker.model, worker.data, law) for law in (None, worker.noise))
    return DemoRun(worker.noise, certificates, clean, noisy)


def _attack_a_few(store: Store, certificates: list[Certificate], worker: Worker, progress: Progress) -> list[Finding]:
    """Attack the first certificates at their own claim: none may fall below it."""
    attacked, findings = certificates[:ATTACKED], list[Finding]()
    for number, one in enumerate(attacked):
        progress("attack", number, len(attacked))
        attack, image = Direct(steps=30, samples=96, rescore_samples=4096), worker.data.image(one.item)
        found = audit(one, worker.bounded, image, [attack], measure_tightness=False)
        store.add_finding(
            one.item,
            row_of(found, {"attacks": [repr(attack)], "cosine": 0.8, "seed": 0, "tightness": False}),
            found.worst.score.after.numpy().reshape(image.shape),
        )
        findings.append(found)
    progress("attack", len(attacked), len(attacked))
    return findings


def _draw(out: Path, run: DemoRun, worker: Worker) -> None:
    """A picture of the first few."""
    shown = run.certificates[:ROWS_PER_PICTURE]
    images = [worker.data.image(one.item) for one in shown]
    figure = plots.plot_rows(
        shown,
        [image.numpy() for image in images],
        [plain_map(worker.model, image, one.target) for image, one in zip(images, shown, strict=True)],
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
