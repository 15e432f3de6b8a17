"""The main job, ready to run: ordinary runs of real images, an ordinary audit, pictures, and a credit decision."""

import json
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, final

from attribound.attacks import Direct
from attribound.bounds.laws import LAWS, Normal
from attribound.certificates.certificate import Certificate
from attribound.certificates.finding import Finding
from attribound.certificates.record import Failure, encode
from attribound.certification.reopen import Opener
from attribound.errors import AttriboundError, StoredDataError
from attribound.fields.base import RunIn
from attribound.fields.precision import advice
from attribound.files import write_whole
from attribound.progress import Stages
from attribound.report.figures import plots
from attribound.report.page import write_report
from attribound.rounding import exact_text, lower_quantile
from attribound.runs import RunConfig, Store, is_run
from attribound.runs.audit import Audit
from attribound.runs.columns_setup import prepare_columns
from attribound.runs.columns_summary import summarise_columns
from attribound.runs.engines import Local
from attribound.runs.runner import prepare, run
from attribound.runs.stored_maps import smoothed_map
from attribound.runs.summary import Summary, summarise
from attribound.runs.tolerance_setup import prepare_tolerances
from attribound.runs.tolerance_summary import summarise_tolerances
from attribound.runs.work import cores
from attribound.threads import limited
from attribound.tolerances.columns.record import PART, Asked, ColumnsRecord
from attribound.tolerances.columns.sheet import sheet_of

MODEL, SIGMA, DIM = "mnist-cnn-consistency", 0.75, 784
PHOTO_ARCH = "efficientnet-lite0"
FOREST, APPLICANTS = "credit-forest", "credit-sample"
CELLS = (0.5, 0.3)
SIZES = (0.1, 0.25, 0.5)
DIGIT_CHANGES = ("rotation:20", "brightness:64", "shift-x:2")
PHOTO_CHANGES = ("rotation:30", "brightness:64", "shift-x:12", "jpeg:10")
"""Everyday changes of one image, asked before anything is certified: seconds for a digit, a minute for a photograph."""
_SHEET, _SHEET_SAMPLES = "everyday", 1024
_PREPARE = {"certify": prepare, "tolerance": prepare_tolerances, "columns": prepare_columns}
ROWS_PER_PICTURE, ATTACKED = 4, 3
_ITEMS_PER_WORKER = 4
"""A process is started for every four images: starting it takes about as long as certifying them."""
_OURS = "demo"
"""Written into a demo's runs: the next demo replaces these and no others."""


@final
@dataclass(frozen=True)
class DemoRun:
    """A finished run: its summary and all its certificates, with the names of the classes."""

    name: str
    summary: Summary
    certificates: list[Certificate]
    classes: list[str]

    def to_json(self) -> dict[str, Any]:
        """The run as `demo --json` prints it; accuracies are those on the certified images."""
        first, found = self.certificates[0], self.summary
        joint = [one.record.joint_epsilon for one in self.certificates]
        return {
            "name": self.name,
            "noise": first.law.kind,
            "radius": first.law.radius,
            "sigma": first.law.sigma,
            "model": found.config.model,
            "items": found.total,
            "explained": [_name(one.target, self.classes) for one in self.certificates],
            "samples": first.samples,
            "alpha": first.alpha,
            "accuracy": found.accuracy,
            "accuracy_noisy": found.accuracy_noisy,
            "fidelity": found.fidelity,
            "chance": found.chance,
            "median_max_epsilon": {key: levels["0.5"] for key, levels in found.quantiles.items()},
            "median_max_visible_epsilon": found.visible,
            "median_joint_epsilon": {key: lower_quantile([one[key] for one in joint], 0.5) for key in found.visible},
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
            pictures=items,
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
        "photos": RunConfig(
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


def everyday(config: RunConfig, changes: tuple[str, ...]) -> RunConfig:
    """How far the first image of a run may change, the plain map being asked."""
    return RunConfig(
        model=config.model,
        arch=config.arch,
        data=config.data,
        attribution=config.attribution,
        maps=config.maps,
        precision=config.precision,
        changes=changes,
        noise="",
        epsilons=(),
        cosines=(0.8,),
        samples=_SHEET_SAMPLES,
        alpha=config.alpha,
        items=1,
        pictures=1,
        seed=config.seed,
    )


@limited(1)
def run_demo(
    out: Path,
    configs: Mapping[str, RunConfig],
    progress: Stages,
    *,
    attacked: str = "",
    changes: tuple[str, ...] = (),
    credit: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> tuple[list[DemoRun], dict[str, Any]]:
    """Certify what the configurations say; attack a few; write runs, certificates, pictures, reports.

    Args:
        out: folder for the results; made if missing.
        configs: the runs, by the names of their folders.
        progress: called with (what, images done, images in all).
        attacked: which of them is attacked.
        changes: everyday changes of the first image, asked first.
        credit: end with a credit decision.
        say: told, in a line, what may be done better here.

    Returns:
        The runs and the JSON summary.
    """
    started = time.perf_counter()
    sheet = _sheet(out / _SHEET, everyday(next(iter(configs.values())), changes), progress) if changes else {}
    for name, config in configs.items():
        _certify(out / name, config, progress, say)
    findings = _attack_a_few(out / attacked, progress) if attacked else []
    runs = [_read(out / name) for name in configs]
    decided = decide_credit(out / "credit", progress) if credit else None
    pages = {name: str(write_report(out / name, out / f"report-{name}.html")) for name in configs}
    if decided is not None:
        pages["credit"] = str(write_report(out / "credit", out / "report-credit.html"))
    reports = sheet.pop("reports", {}) | pages
    summary: dict[str, Any] = {
        **sheet,
        "runs": [one.to_json() for one in runs],
        "attacks": [finding.row() for finding in findings],
        "credit": decided,
        "reports": reports,
        "out": str(out),
        "seconds": time.perf_counter() - started,
    }
    write_whole(out / "summary.json", json.dumps(summary, indent=1) + "\n")
    return runs, summary


def decide_credit(folder: Path, progress: Stages) -> dict[str, Any]:
    """The embedded applicants, exactly: how far their first reasons hold, and the letter of the first refused."""
    started = time.perf_counter()
    config = RunConfig(model=FOREST, data=APPLICANTS, changes=(PART,), columns=Asked())
    _certify(folder, config, progress, lambda line: None)
    with Store.read_any(folder) as store:
        records = [record for record in store.only(ColumnsRecord) if not isinstance(record, Failure)]
        summary = summarise_columns(store)
    reaches = summary.places[0].reaches
    refused = next(record for record in records if record.prediction == 1)
    return {
        "model": FOREST,
        "data": APPLICANTS,
        "items": summary.rows,
        "exact": summary.places[0].exact,
        "held": {exact_text(size): sum(reach > size for reach in reaches) for size in SIZES},
        "median_reach": lower_quantile(reaches, 0.5),
        "item": refused.item,
        "letter": sheet_of(refused).letter(),
        "seconds": time.perf_counter() - started,
    }


def _sheet(folder: Path, config: RunConfig, progress: Stages) -> dict[str, Any]:
    """An ordinary run of tolerances, with its page; in words and numbers."""
    _certify(folder, config, progress, lambda line: None)
    with Store.read_any(folder) as store:
        found = summarise_tolerances(store)
    page = write_report(folder, folder.with_name(f"report-{folder.name}.html"))
    return {"everyday": found.to_json(), "sheet": found.table(), "reports": {folder.name: str(page)}}


def _certify(folder: Path, config: RunConfig, progress: Stages, say: Callable[[str], None]) -> None:
    """An ordinary run in place of the last demo's."""
    config, job = _PREPARE[config.kind](config, say=say)
    if config.kind == "certify" and config.arch == PHOTO_ARCH and config.precision == "float32":
        opened = job.open()
        if line := advice(opened.field, opened.data.input(0)):
            say(line)
    if is_run(folder):
        _remove_old(folder)
    with Store.create(folder, config) as store:
        store.note(_OURS, True)
    workers = max(min(cores(), (config.items or 0) // _ITEMS_PER_WORKER), 1)
    run(job, folder, Local(workers), progress=lambda state: progress(folder.name, state.done, state.total))


def _remove_old(folder: Path) -> None:
    """Make room; a run that no demo wrote is somebody's work."""
    with Store.read_any(folder) as store:
        if store.recall(_OURS) is not True:
            raise StoredDataError(f"{folder} was not written by a demo: choose another --out")
    shutil.rmtree(folder)


def _attack_a_few(folder: Path, progress: Stages) -> list[Finding]:
    """An ordinary audit of the first certificates, each at its own claim: none may fall below it."""
    attacks = [Direct(steps=30, samples=96, rescore_samples=4096)]
    return Audit(attacks, Opener()).of_run(folder, items=ATTACKED, progress=partial(progress, "attack"))


def _read(folder: Path) -> DemoRun:
    """What a run found; its certificates are also written as files, and the first few drawn."""
    with Store.read(folder) as store:
        certificates = list[Certificate]()
        for record in store.records():
            if isinstance(record, Failure):
                raise AttriboundError(f"item {record.item} of {folder}: {record.message}")
            Certificate(record).save(folder / f"{record.item:03d}.json")
            certificates.append(Certificate(record, smoothed_map(store, record.item)))
        _draw(folder.with_name(f"{folder.name}.png"), certificates[:ROWS_PER_PICTURE], store)
        return DemoRun(folder.name, summarise(store), certificates, store.names("classes"))


def _draw(path: Path, shown: list[Certificate], store: Store) -> None:
    """A picture of the first few."""
    pictures = [store.pictures(one.item, "input", "plain") for one in shown]
    figure = plots.plot_rows(
        shown,
        [one["input"] for one in pictures],
        [one["plain"] for one in pictures],
        title=f"{shown[0].law.words}: no change of size epsilon can bend the map further",
    )
    plots.save(figure, path)


def _name(target: int, classes: list[str]) -> str:
    """A class by its name, or its number if it has none."""
    return classes[target] if target < len(classes) else str(target)
