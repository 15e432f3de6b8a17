"""Surveys: certificates of many images at one radius, made by runs; most tables are functions of them."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, final

import numpy as np

from attribound.bounds import Ball, Evidence, Law, Length, Spread, parse_law, shift_size
from attribound.bounds.paper import cosine_bound_paper, largest_moved_fraction_paper
from attribound.certificates.record import Failure, Record
from attribound.certification.reopen import Opener
from attribound.checks import FloatArray
from attribound.errors import AttriboundError
from attribound.paper.experiment import Experiment, Numbers, Piece
from attribound.paper.raw import READINGS, measures_raw, ratios, raw_lengths
from attribound.paper.settings import ADDED, CERTIFIED, RADII, Settings
from attribound.paper.table import Table, kept
from attribound.rounding import round_down, round_up
from attribound.runs.config import RunConfig
from attribound.runs.engines import Local
from attribound.runs.runner import prepare, run
from attribound.runs.store import Store

COSINES = (0.8, 0.9)
EPSILONS = (0.5, 1.0)
LIMIT = 1.0
"""Every survey is of unit maps."""
UNIT = "ours"


@final
@dataclass(frozen=True)
class Survey:
    """What the certificates of many images rest on; every answer is derived from it anew.

    Attributes:
        law: the noise.
        norm: (N,) norms of the sampled maps; estimates.
        norm_lower: (N,) lower bounds on the norms of the exact maps.
        eigenvalue_upper: (N,) upper bounds on the largest eigenvalue of the covariance.
        measured: (N,) what else a table measured on each image, by name.
    """

    law: Law
    norm: FloatArray
    norm_lower: FloatArray
    eigenvalue_upper: FloatArray
    measured: Mapping[str, FloatArray] = field(default_factory=dict)

    @cached_property
    def evidence(self) -> Evidence:
        """Of all images at once."""
        length = Length(lower=self.norm_lower[:, None], sampled=self.norm[:, None])
        return Evidence.of(self.law, LIMIT, length, Spread(self.eigenvalue_upper[:, None]))

    def cosine(self, epsilon: float | FloatArray) -> FloatArray:
        """(N,) certified cosines, at one epsilon or at one for each image."""
        return self.evidence.cosine(np.broadcast_to(epsilon, self.norm.shape)[:, None])[:, 0]

    def max_epsilon(self, cosine: float) -> FloatArray:
        """(N,) the largest certified epsilons."""
        return self.evidence.max_epsilon(cosine)[:, 0]

    def ratio(self, reading: str = UNIT) -> FloatArray:
        """(N,) c / M as sampled: of unit maps, or of raw ones with a reading of M. An estimate."""
        return np.minimum(self.norm, LIMIT) if reading == UNIT else ratios(self.measured)[reading]

    def cosine_paper(self, epsilon: float | FloatArray, reading: str = UNIT) -> FloatArray:
        """(N,) the paper's T with the sampled norms. NOT a guarantee."""
        return np.asarray(cosine_bound_paper(self.ratio(reading), LIMIT, self.evidence.moved_fraction(epsilon)))

    def max_epsilon_paper(self, cosine: float, reading: str = UNIT) -> FloatArray:
        """(N,) the paper's largest epsilons with the sampled norms. NOT a guarantee."""
        return self.law.epsilon_at(largest_moved_fraction_paper(self.ratio(reading), LIMIT, cosine))


class SurveyTable(Experiment):
    """A table made of one survey per model and radius.

    Attributes:
        networks: its models by the names in the table.
        radii: its radii.
        sharing: whether they share one alpha, because the best of them is sought.
        most: images that are shown; the survey may have more.
    """

    networks: ClassVar[Mapping[str, str]] = CERTIFIED
    radii: ClassVar[tuple[float, ...]] = RADII
    sharing: ClassVar[bool] = False
    most: ClassVar[int | None] = None

    def models(self, settings: Settings) -> Mapping[str, str]:
        """Its models, in the paper's own setting only the paper's; or the one that was asked for."""
        added = ADDED if measures_raw(settings) else ()
        return settings.chosen({name: model for name, model in self.networks.items() if name not in added})

    def constants(self, settings: Settings) -> dict[str, Any]:
        """What else its numbers follow from."""
        return {}

    def measure(self, settings: Settings, records: Sequence[Record]) -> list[dict[str, float]]:
        """What it measures on each image beside its certificate, by name: raw maps, where the paper has them."""
        if not measures_raw(settings):
            return [{} for _ in records]
        opener = Opener(model=settings.model, arch=settings.arch)
        return [
            raw_lengths(opener(record.subject), record.target, seed=settings.seed, item=record.item)
            for record in records
        ]

    @abstractmethod
    def shown(self, settings: Settings, surveys: Mapping[tuple[str, float], Survey]) -> Table:
        """The table, a function of its surveys by model and radius."""

    @final
    def pieces(self, settings: Settings) -> dict[tuple[str, float], Piece]:
        """One survey per model and radius."""
        models, radii = self.models(settings).items(), settings.some(self.radii)
        shared = replace(settings, alpha=settings.alpha / (len(radii) if self.sharing else 1))
        return {(name, radius): self._piece(shared, model, radius) for name, model in models for radius in radii}

    @final
    def table(self, settings: Settings, numbers: Numbers) -> Table:
        """The table of the surveys."""
        return self.shown(settings, {key: read_survey(stored) for key, stored in numbers.items()})

    def _piece(self, settings: Settings, model: str, radius: float) -> Piece:
        survey = Piece(
            "-".join([Path(model).stem, *settings.explains.values(), f"r{radius:g}"]),
            settings.about(model, **settings.explains, radius=radius),
            lambda: self._survey(settings, certified_records(settings, survey)[: self.most]),
        )
        return replace(survey, about={**survey.about, **self.constants(settings)})

    def _survey(self, settings: Settings, records: list[Record]) -> dict[str, Any]:
        """What a file of numbers keeps of records; bounds are rounded so that they stay bounds."""
        rows, law = self.measure(settings, records), records[0].evidence().law
        return {
            "noise": law.spec,
            "dim": law.dim,
            "norm": kept(record.norm for record in records),
            "norm_lower": kept((record.norm_lower for record in records), round_down),
            "eigenvalue_upper": kept((record.eigenvalue_upper for record in records), round_up),
            "measured": {name: kept(row[name] for row in rows) for name in rows[0]},
        }


def read_survey(stored: Mapping[str, Any]) -> Survey:
    """The survey in a file of numbers."""
    columns = {name: np.array(stored[name]) for name in ("norm", "norm_lower", "eigenvalue_upper")}
    measured = {name: np.array(values) for name, values in stored["measured"].items()}
    return Survey(law=parse_law(stored["noise"], stored["dim"]), measured=measured, **columns)


def certified_records(settings: Settings, survey: Piece) -> list[Record]:
    """The records of a survey's run in OUT/runs, which is made or continued: as `attribound certify` does it."""
    names = ("model", "data", "attribution", "samples", "alpha", "items", "seed")
    given = {name: survey.about[name] for name in names}
    arch, noise = settings.arch_of(given["model"]), f"{Ball.kind}:{float(survey.about['radius'])!r}"
    asked: dict[str, Any] = {"epsilons": EPSILONS, "cosines": COSINES, "pictures": 0}
    config = RunConfig(**given, arch=arch, output=settings.output, noise=noise, **asked)
    # A run may grow, so its name does not say how many images it has.
    folder = settings.out / "runs" / replace(survey, about={**survey.about, "items": None}).key
    run(prepare(config)[1], folder, Local())
    with Store.read(folder) as store:
        return [_sound(record) for record in store.records() if record.item < settings.items]


def _sound(record: Record | Failure) -> Record:
    if isinstance(record, Failure):
        raise AttriboundError(f"item {record.item} could not be certified: {record.message}")
    return record


def readings(settings: Settings) -> list[str]:
    """How the paper's formula is read: unit maps, and raw ones where they were measured."""
    return [UNIT, *READINGS] if measures_raw(settings) else [UNIT]


def formula_columns(settings: Settings) -> list[str]:
    """The columns of the paper's formula."""
    return [f"its formula, {reading}" for reading in readings(settings)]


def explained(settings: Settings) -> str:
    """What is smoothed here, and in the paper."""
    if not measures_raw(settings):
        return f"unit {settings.method} of the {settings.output} (the paper: integrated gradients of the softmax)"
    path = ", one random point of the path per draw" if settings.method == "ig-random" else ""
    return f"unit integrated gradients of the softmax{path} (the paper: not scaled to unit length)"


def read_otherwise(settings: Settings) -> list[str]:
    """What the columns of raw maps are."""
    if not measures_raw(settings):
        return []
    return [
        "Raw: maps that are not scaled to length 1, as in the paper, so that c is the norm of their mean (estimated). "
        "M = 1: the paper's reading, that completeness bounds the map by the model's output. M seen: the longest of "
        "eight single maps. Neither M is a limit, so neither column is a guarantee."
    ]


def useful_radius(epsilon: float, dim: int) -> float:
    """The radius from which on the tight bound can say anything: 2 p < 1."""
    return float(epsilon / shift_size(0.5, radius=1.0, dim=dim))
