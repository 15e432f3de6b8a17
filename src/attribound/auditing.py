"""Audit stored certificates of the embedded sample: read, attack, write findings and cases."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from attribound.attacks import METHODS, Attack
from attribound.attacks.audit import Finding, audit, replay, save_case
from attribound.certificate import Certificate, is_certificate
from attribound.certification import input_hash, model_hash
from attribound.data import mnist_sample
from attribound.demo import find_subject
from attribound.errors import ArgumentError, StoredDataError
from attribound.fields import Saliency, Unit
from attribound.models import load_shipped

Advance = Callable[[str, int, int], None]


def audit_stored(
    path: Path,
    model: str,
    methods: Sequence[str] | None,
    options: dict[str, Any],
    *,
    cosine: float,
    seed: int,
    tightness: bool,
    out: Path,
    progress: Advance,
) -> list[Finding]:
    """Attack every stored certificate at `path`; findings are written as they come, and a violation ends the audit."""
    attacks = make_attacks(methods, options)
    out.mkdir(parents=True, exist_ok=True)
    files, findings = _files(path), list[Finding]()
    for number, file in enumerate(files):
        certificate = Certificate.load(file)
        field, image = find_subject(certificate, model)
        if model_hash(field.model) != certificate.model_sha256:
            raise ArgumentError(f"{file} certifies another model than {model}")
        finding = audit(
            certificate,
            field,
            image,
            attacks,
            cosine=cosine,
            seed=seed,
            measure_tightness=tightness,
            progress=lambda _message, done=number: progress("audit", done, len(files)),  # type: ignore[misc]
        )
        findings.append(finding)
        progress("audit", number + 1, len(files))
        (out / "findings.json").write_text(json.dumps([one.row() for one in findings], indent=1) + "\n")
        if finding.violated:
            save_case(out / f"violation-{file.stem}.json", finding, certificate)
            break
    return findings


def replay_case(path: Path, model: str) -> dict[str, Any]:
    """Score a stored violation again with fresh noise."""
    try:
        wanted = json.loads(path.read_text(encoding="utf-8"))["input_sha256"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoredDataError(f"{path} is not a stored case: {error}") from None
    images = {input_hash(image): image for image in mnist_sample()[0]}
    if wanted not in images:
        raise StoredDataError(f"{path} is about an input that is not in the embedded sample")
    certified, cosine, most = replay(path, Unit(Saliency(load_shipped(model))), images[wanted])
    return {"certified": certified, "cosine": cosine, "cosine_most": most, "violated": most < certified}


def make_attacks(methods: Sequence[str] | None, options: dict[str, Any]) -> list[Attack]:
    """The named attacks with these options; all of them if none is named."""
    return [_make(name, options) for name in methods or METHODS]


def _make(name: str, options: dict[str, Any]) -> Attack:
    if name not in METHODS:
        raise ArgumentError(f"expected a method ({', '.join(METHODS)}), got {name!r}")
    return METHODS[name](**options)


def _files(path: Path) -> list[Path]:
    files = [file for file in sorted(path.rglob("*.json")) if is_certificate(file)] if path.is_dir() else [path]
    if not files:
        raise StoredDataError(f"no certificates (*.json) in {path}")
    return files
