"""The main job, ready to run: certify real images with a model, pixels and patches, with pictures."""

import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from attribound.attacks import Direct
from attribound.attacks.challenge import challenge
from attribound.bounds.laws import LAWS, Normal
from attribound.certificates.certificate import Certificate
from attribound.certificates.finding import Finding
from attribound.certificates.record import encode
from attribound.certificates.statements.base import COSINES
from attribound.errors import StoredDataError
from attribound.fields.base import RunIn
from attribound.fields.precision import advice
from attribound.files import write_whole
from attribound.progress import Stages
from attribound.report.figures import plots
from attribound.report.page import write_report
from attribound.rounding import exact_text, lower_quantile
from attribound.runs import RunConfig, Store, is_run
from attribound.runs.runner import prepare
from attribound.runs.summary import chance_level
from attribound.runs.tasks import Task
from attribound.runs.work import Worker
from attribound.threads import limited
from attribound.training import accuracy

MODEL, SIGMA, DIM = "mnist-cnn-consistency", 0.75, 784
PHOTO_ARCH, PHOTOS = "efficientnet-lite0", "photos"
CELLS = (0.5, 0.3)
ROWS_PER_PICTURE, ATTACKED = 4, 3
_OURS = "demo"
"""Written into a demo's runs: the next demo replaces these and no others."""


@final
@dataclass(frozen=True)
class DemoRun:
    """All certificates of one run, with the model's accuracy on the whole sample (None without labels)."""

    name: str
    certificates: list[Certificate]
    classes: Sequence[str]
    accuracy: float | None
    accuracy_noisy: float | None
    chance: float | None
    findings: list[Finding]

    def summary(self) -> dict[str, Any]:
        """The run as `demo --json` prints it."""
        first = self.certificates[0]
        return {
            "name": self.name,
            "noise": first.law.kind,
            "radius": first.law.radius,
            "sigma": first.law.sigma,
            "model": self.certificates[0].record.subject.model,
            "items": len(self.certificates),
            "explained": [_name(one.target, self.classes) for one in self.certificates],
            "samples": first.samples,
            "alpha": first.alpha,
            "accuracy": self.accuracy,
            "accuracy_noisy": self.accuracy_noisy,
            "fidelity": lower_quantile([one.fidelity or 0.0 for one in self.certificates], 0.5),
            "chance": self.chance,
            "median_max_epsilon": _medians([one.record.max_epsilon for one in self.certificates]),
            "median_max_visible_epsilon": _medians([one.record.max_visible_epsilon for one in self.certificates]),
            "median_joint_epsilon": _medians([one.record.joint_epsilon for one in self.certificates]),
            "cells": [json.loads(encode(one.record))["cells"] for one in self.certificates],
        }


def digits(*, items: int, samples: int, alpha: float, seed: int) -> dict[str, RunConfig]:
    """The first images of the embedded sample with the shipped model: pixels under every law of noise, then patches."""

    def config(kind: str, maps: tuple[str, ...] = (), cells: tuple[float, ...] = ()) -> RunConfig:
        return RunConfig(
            model=MODEL,
            data="mnist-sample",
            maps=maps,
            noise=f"{kind}:{LAWS[kind].value_of(SIGMA, DIM)!r}",
            samples=samples,
            asked={"cells": list(cells)} if cells else {},
            alpha=alpha,
            items=items,
            seed=seed,
        )

    patches = config(Normal.kind, ("pooled:7", "centred"), CELLS)
    return {**{kind: config(kind) for kind in LAWS}, "patches": patches}


def photos(
    weights: Path,
    *,
    items: int | None = None,
    samples: int,
    alpha: float,
    seed: int,
    precision: RunIn = "float32",
) -> dict[str, RunConfig]:
    """The first of the shipped photographs, or all: centred Grad-CAM of an unmodified ImageNet network, with cells."""
    return {
        PHOTOS: RunConfig(
            model=str(weights),
            arch=PHOTO_ARCH,
            data="photos",
            attribution="gradcam",
            maps=("centred",),
            precision=precision,
            noise="gaussian:0.1",
            samples=samples,
            asked={"cells": list(CELLS)},
            alpha=alpha,
            items=items,
            seed=seed,
        )
    }


@limited(1)
def run_demo(
    out: Path,
    configs: Mapping[str, RunConfig],
    progress: Stages,
    attacked: str = "",
    say: Callable[[str], None] = lambda line: None,
) -> tuple[list[DemoRun], dict[str, Any]]:
    """Certify what the configurations say; attack a few; write runs, certificates, pictures, reports.

    With one thread, as in every worker of a run.

    Args:
        out: folder for the results; made if missing.
        configs: the runs, by the names of their folders.
        progress: called with (what, images done, images in all).
        attacked: which of them is attacked.
        say: told, in a line, what may be done better here.

    Returns:
        The runs and the JSON summary.
    """
    started = time.perf_counter()
    counts = {name: ATTACKED if name == attacked else 0 for name in configs}
    runs = [_run(out, name, configs[name], progress, attacked=counts[name], say=say) for name in configs]
    reports = {run.name: str(write_report(out / run.name, out / f"report-{run.name}.html")) for run in runs}
    summary: dict[str, Any] = {
        "runs": [run.summary() for run in runs],
        "attacks": [finding.row() for run in runs for finding in run.findings],
        "reports": reports,
        "out": str(out),
        "seconds": time.perf_counter() - started,
    }
    write_whole(out / "summary.json", json.dumps(summary, indent=1) + "\n")
    return runs, summary


def _advise(worker: Worker, say: Callable[[str], None]) -> None:
    """Say whether bfloat16 would pay, if it was not asked for."""
    if worker.config.precision == "float32" and (line := advice(worker.bounded, worker.data.input(0))):
        say(line)


def _run(
    out: Path, name: str, config: RunConfig, progress: Stages, *, attacked: int, say: Callable[[str], None]
) -> DemoRun:
    """One run: certify, attack a few, draw."""
    worker = Worker(prepare(config, say=say)[1])
    if name == PHOTOS:
        _advise(worker, say)
    folder = out / name
    if is_run(folder):
        _remove_old(folder)
    with Store.create(folder, worker.config) as store:
        store.note(_OURS, True)
        store.note("classes", list(worker.data.classes))
        certificates = _certify(store, worker, worker.data.order(count=worker.config.items), name, progress)
        findings = _attack_a_few(store, certificates[:attacked], worker, progress)
        chance = chance_level(store)
    _draw(out / f"{name}.png", certificates[:ROWS_PER_PICTURE], worker)
    labelled = all(worker.data.label(item) is not None for item in range(len(worker.data)))
    clean, noisy = (accuracy(worker.model, worker.data, noise) if labelled else None for noise in (None, worker.noise))
    return DemoRun(name, certificates, worker.data.classes, clean, noisy, chance, findings)


def _name(target: int, classes: Sequence[str]) -> str:
    """A class by its name, or its number if it has none."""
    return classes[target] if target < len(classes) else str(target)


def _remove_old(folder: Path) -> None:
    """Make room; a run that no demo wrote is somebody's work."""
    with Store.read(folder) as store:
        if store.recall(_OURS) is not True:
            raise StoredDataError(f"{folder} is a run that no demo wrote: choose another --out")
    shutil.rmtree(folder)


def _certify(store: Store, worker: Worker, items: list[int], name: str, progress: Stages) -> list[Certificate]:
    certificates: list[Certificate] = []
    for item in items:
        progress(name, item, len(items))
        certificate, outcome = worker.certify(Task(item, picture=True))
        store.add(outcome)
        certificate.save(store.path / f"{item:03d}.json")
        certificates.append(certificate)
    progress(name, len(items), len(items))
    return certificates


def _attack_a_few(store: Store, claims: list[Certificate], worker: Worker, progress: Stages) -> list[Finding]:
    """Attack certificates at their own claim: none may fall below it."""
    findings: list[Finding] = []
    for number, claim in enumerate(claims):
        progress("attack", number, len(claims))
        attack = Direct(steps=30, samples=96, rescore_samples=4096)
        found = challenge(claim, worker.bounded, worker.data.input(claim.item), [attack], measure_tightness=False)
        pictures = {"attacked": found.worst.map.numpy(), "change": found.worst.delta.double().numpy()}
        store.add_finding(found.finding, pictures)
        findings.append(found.finding)
        progress("attack", number + 1, len(claims))
    return findings


def _draw(path: Path, shown: list[Certificate], worker: Worker) -> None:
    """A picture of the first few."""
    images = [worker.data.input(one.item) for one in shown]
    figure = plots.plot_rows(
        shown,
        [image.numpy() for image in images],
        [_plain(worker, image, one.target) for image, one in zip(images, shown, strict=True)],
        title=f"{shown[0].law.words}: no change of size epsilon can bend the map further",
    )
    plots.save(figure, path)


def _plain(worker: Worker, image: Any, target: int) -> Any:
    """The ordinary map, without noise."""
    return worker.bounded.base.attribute(image[None], target)[0].detach().double().numpy()


def _medians(tables: list[dict[str, float]]) -> dict[str, float]:
    return {exact_text(cosine): lower_quantile([one[exact_text(cosine)] for one in tables], 0.5) for cosine in COSINES}
