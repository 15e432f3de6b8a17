"""The page of certificates that were made in Python, without a run."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from attribound.certificates.certificate import Certificate
from attribound.certificates.record import Record
from attribound.certificates.statements.registry import asked_again
from attribound.errors import ArgumentError
from attribound.report.page import write_report
from attribound.report.shared.wording import IN_PYTHON
from attribound.runs import RunConfig, Store
from attribound.runs.tasks import Outcome


def save_report(
    certificates: Certificate | Sequence[Certificate], out: str | Path = "report.html", inputs: Any = None
) -> Path:
    """Write one self-contained HTML page about certificates of one model.

    Args:
        certificates: one, or several of different items, as `certify_batch` makes them.
        out: the file.
        inputs: what was certified, to be shown: one input, or a batch with a leading dimension.

    Returns:
        The file.
    """
    if not isinstance(certificates, Certificate | Sequence):
        raise ArgumentError(
            f"expected `certificates` to be a certificate or a list of them, got {type(certificates).__name__} (the "
            "page about tolerances is made of a run: attribound tolerance, then attribound report)"
        )
    chosen = [certificates] if isinstance(certificates, Certificate) else list(certificates)
    if not chosen or not all(isinstance(one, Certificate) for one in chosen):
        raise ArgumentError("expected `certificates` to be a certificate, or a list with at least one")
    if len({one.item for one in chosen}) < len(chosen):
        raise ArgumentError("expected certificates of different items: certify_batch numbers them, certify takes item=")
    shown = _inputs(inputs, certificates)
    with TemporaryDirectory() as folder:
        run = Path(folder) / "certificates"
        with Store.create(run, _config([one.record for one in chosen])) as store:
            store.note("features", list(chosen[0].features))
            for number, one in enumerate(chosen):
                pictures = {} if one.map is None else {"smoothed": one.map}
                store.add(Outcome(one.item, one.record, pictures | ({"input": shown[number]} if shown else {})))
        return write_report(run, Path(out))


def _inputs(inputs: Any, certificates: Certificate | Sequence[Certificate]) -> list[np.ndarray]:
    """One array per certificate; none if there are no inputs."""
    if inputs is None:
        return []
    values = np.asarray(inputs.detach().cpu() if hasattr(inputs, "detach") else inputs, np.float64)
    if isinstance(certificates, Certificate):
        return [values]
    if len(values) != len(certificates):
        raise ArgumentError(f"expected one of `inputs` per certificate ({len(certificates)}), got {len(values)}")
    return list(values)


def _config(records: Sequence[Record]) -> RunConfig:
    """What all records have in common; an ArgumentError if they are not of one kind."""
    configs = [
        RunConfig(
            model=IN_PYTHON,
            data=IN_PYTHON,
            attribution=record.attribution,
            maps=record.maps,
            reference=record.subject.reference or None,
            output=record.output,
            precision=record.subject.precision,
            bound=record.subject.bound,
            noise=record.subject.noise,
            units=record.noise.units,
            changes=record.subject.changes or (),
            asked=asked_again(Certificate(record)),
            alpha=record.alpha,
            epsilons=tuple(map(float, record.cosine)),
            cosines=tuple(map(float, record.max_epsilon)),
            samples=max(one.budget for one in records),
            model_sha256=record.model_sha256,
        )
        for record in records
    ]
    for config in configs:
        if difference := configs[0].difference(config):
            raise ArgumentError(f"expected certificates of one model, method and noise, got {difference}")
    return configs[0]
