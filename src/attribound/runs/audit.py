"""Attack what a run certified, input by input; findings go into the run."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from attribound.attacks import Attack
from attribound.attacks.audit import Finding, audit, save_case
from attribound.certificate import certificate_from
from attribound.certification import model_hash
from attribound.data import open_data
from attribound.errors import ArgumentError
from attribound.models import SHIPPED, code_hash, load_model
from attribound.runs.config import RunConfig
from attribound.runs.store import Store
from attribound.runs.work import field_of, input_of


def audit_run(
    path: Path,
    attacks: Sequence[Attack],
    *,
    model: str | None = None,
    arch: str | None = None,
    trust: bool = False,
    cosine: float = 0.8,
    seed: int = 0,
    tightness: bool = False,
    items: int | None = None,
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[dict[str, Any]]:
    """Attack every certified record not yet attacked in this way; stops at the first violation and saves its case.

    Args:
        path: the run.
        attacks: methods and their options.
        model: the certified model, if the run's own description would execute code.
        arch: architecture of a file of weights.
        trust: load exported programs too.
        cosine: the largest epsilon certified for this cosine is attacked.
        seed: seed of the attacks.
        tightness: also search the smallest epsilon that breaks the cosine.
        items: attack at most this many inputs.
        stop: once it returns True, the input in hand is finished and the audit ends.
        progress: called with (inputs attacked, inputs in all).

    Returns:
        All findings of the run, as rows.
    """
    with Store.append(path) as store:
        config = _described(store.config, model, arch)
        field = field_of(config, load_model(config.model, config.arch, trust=trust))
        if (model_hash(field.model), code_hash(config.model)) != (config.model_sha256, config.code_sha256):
            raise ArgumentError(f"{path} certifies another model than {config.model}")
        data = open_data(config.data)
        done, settings = store.findings(), _settings(attacks, cosine, seed, tightness)
        certified = [one["item"] for one in store.records() if one["status"] in ("certified", "assumed")][:items]
        for number, item in enumerate(certified):
            progress(number, len(certified))
            before = done.get(item)
            if stop() or (before and (before["violated"] or before.get("settings") == settings)):
                continue
            record = store.record(item) or {}
            claim = certificate_from(record, f"item {item} of {path}")
            x = input_of(data, item, claim.input_sha256)
            found = audit(claim, field, x, attacks, cosine=cosine, seed=seed, measure_tightness=tightness)
            store.add_finding(item, row_of(found, settings), found.worst.score.after.numpy().reshape(x.shape))
            if found.violated:
                save_case(path / f"violation-{item}.json", found, claim)
                break
        progress(len(certified), len(certified))
        return list(store.findings().values())


def row_of(finding: Finding, settings: dict[str, Any]) -> dict[str, Any]:
    """A finding as stored: what the audit says, where the cosine was seen broken, and how hard it was tried."""
    rest = {"broken_at": finding.broken_at, "label_kept": finding.worst.label_kept, "settings": settings}
    return {**finding.row(), **rest}


def _settings(attacks: Sequence[Attack], cosine: float, seed: int, tightness: bool) -> dict[str, Any]:
    return {"attacks": [repr(one) for one in attacks], "cosine": cosine, "seed": seed, "tightness": tightness}


def _described(config: RunConfig, model: str | None, arch: str | None) -> RunConfig:
    """The run's model, unless naming it would run code that only the user may choose."""
    if model is not None:
        return replace(config, model=model, arch=arch)
    if config.model in SHIPPED or Path(config.model).suffix == ".safetensors":
        return config
    raise ArgumentError(f"the run names {config.model!r}, which may run code: repeat it as --model if you trust it")
