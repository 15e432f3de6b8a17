"""The certificate: answers every epsilon and every cosine from one estimate, and can be stored and checked."""

import base64
import html
import json
import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from decimal import ROUND_FLOOR, Decimal
from pathlib import Path
from typing import Any, Literal, final

import numpy as np

from attribound.bounds import confidence, features
from attribound.bounds.arguments import FloatArray
from attribound.bounds.curvature import cosine_from_displacement
from attribound.bounds.paper import cosine_bound_paper, max_epsilon_paper
from attribound.bounds.rules import Evidence
from attribound.errors import ArgumentError, StoredDataError

Status = Literal["certified", "assumed", "uncertified"]

FORMAT = 1
EPSILONS = (0.1, 0.25, 0.5)
COSINES = (0.8, 0.9)
REFERENCE_COSINE = 0.8
"""`rule` names the rule that certifies the largest epsilon at this cosine."""


@final
@dataclass(frozen=True)
class Certificate:
    """What is proved about one explanation. With probability at least 1 - alpha, all of it holds at once.

    Attributes:
        evidence: the numbers that everything follows from.
        attribution: the smoothed map (mean of the draws), shape of the input.
        map_radius: the true smoothed map lies within this distance of `attribution`.
        norm: norm of `attribution`, for information.
        target: the class that is explained.
        prediction: the model's class for the unchanged input.
        method: name of the attribution method.
        output: "logit" or "probability".
        bound_kind: "unit", "clip", "proved" or "assumed".
        limit_source: in words, how the limit is known.
        samples: noise draws taken.
        draws: independent draws behind the bounds.
        alpha: probability that anything stated here is false.
        attacked_map_alpha: the part of alpha kept for a map sampled at an attacked input.
        seed: seed of the draws.
        item: number of the input.
        stopped: "budget", "proved" or "futile".
        budget: the most samples that were allowed.
        until: the question (cosine, epsilon) that could stop the sampling early, if one was asked.
        seconds: time it took.
        versions: versions of attribound and torch.
        model_sha256: hash of the model's weights ("" for a model without parameters).
        input_sha256: hash of the input.
        label: the true class, where known.
    """

    evidence: Evidence
    attribution: FloatArray
    map_radius: float
    norm: float
    target: int
    prediction: int
    method: str
    output: str
    bound_kind: str
    limit_source: str
    samples: int
    draws: int
    alpha: float
    attacked_map_alpha: float
    seed: int
    item: int = 0
    stopped: str = "budget"
    budget: int = 0
    until: tuple[float, float] | None = None
    seconds: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)
    model_sha256: str = ""
    input_sha256: str = ""
    label: int | None = None

    # --- the questions -------------------------------------------------------------------------------------

    def cosine(self, epsilon: float) -> float:
        """Certified cosine between this explanation and the one after any change of l2 size <= epsilon.

        Both are the exact smoothed maps. -1.0 if nothing can be said.
        """
        return self.evidence.best(_epsilon(epsilon))[0]

    def max_epsilon(self, cosine: float) -> float:
        """The largest change that provably keeps the cosine at or above `cosine`; 0.0 if there is none."""
        return self.evidence.max_epsilon(cosine)

    def rule_at(self, epsilon: float) -> str | None:
        """The rule that certifies `cosine(epsilon)`: "tight", "covariance", "curvature", or None."""
        return self.evidence.best(_epsilon(epsilon))[1]

    def displacement(self, epsilon: float) -> float:
        """Every attacked smoothed map lies within this distance of `attribution`, the map that was sampled."""
        return self.evidence.displacement(_epsilon(epsilon), self.norm + self.map_radius) + self.map_radius

    def top_k(self, k: int, epsilon: float) -> int:
        """How many of the k largest features of `attribution` stay among the k largest of any attacked map."""
        return features.top_k_overlap(self.attribution, k, self.displacement(epsilon))

    def signs(self, epsilon: float) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which features of `attribution` keep their sign in any attacked map."""
        return features.sign_kept(self.attribution, self.displacement(epsilon))

    def visible_cosine(self, epsilon: float, samples: int | None = None) -> float:
        """Certified cosine between the *sampled* map seen here and a map sampled at the attacked input.

        Args:
            epsilon: size of the change.
            samples: independent draws behind the other map; default: as many as here. They must be drawn after the
                attacked input is fixed and unknown to whoever fixed it: with another seed than this certificate's.
        """
        epsilon = _epsilon(epsilon)
        moved = self.evidence.displacement(epsilon, self.norm + self.map_radius)
        other = confidence.mean_radius(
            limit=self.limit,
            norm_lower=max(self.norm_lower - moved, 0.0),
            samples=samples or self.draws,
            alpha=self.attacked_map_alpha,
        )
        return float(cosine_from_displacement(self.norm, moved + self.map_radius + other))

    def cosine_paper(self, epsilon: float) -> float:
        """The paper's formula with the sampled norm. NOT a guarantee; for comparison only."""
        return float(cosine_bound_paper(min(self.norm, self.limit), self.limit, self.evidence.moved_fraction(epsilon)))

    def max_epsilon_paper(self, cosine: float) -> float:
        """The paper's largest epsilon with the sampled norm. NOT a guarantee; for comparison only."""
        scale = {"radius" if self.evidence.noise_kind == "uniform" else "sigma": self.evidence.scale}
        norm = min(self.norm, self.limit)
        return float(max_epsilon_paper(cosine, norm=norm, limit=self.limit, dim=self.dim, **scale))

    def explain(self, cosine: float, epsilon: float) -> str:
        """In a sentence or two: is `cosine` certified at `epsilon`, and if not, why and what would help."""
        reached = self.cosine(epsilon)
        if reached >= cosine:
            rule = self.rule_at(epsilon)
            return f"{self._noun} cosine >= {round_down(reached)} at epsilon {exact_text(epsilon)} by the {rule} rule"
        return _why_not(self, cosine, epsilon)

    # --- what it rests on ----------------------------------------------------------------------------------

    @property
    def status(self) -> Status:
        """One of "certified", "assumed" (the limit is a guess: not a certificate) and "uncertified"."""
        if self.max_epsilon(0.0) <= 0.0:
            return "uncertified"
        return "assumed" if self.assumed else "certified"

    @property
    def reason(self) -> str:
        """Why nothing could be certified, and what would help; empty otherwise."""
        return "" if self.status != "uncertified" else _why_not(self, REFERENCE_COSINE, 0.0)

    @property
    def rule(self) -> str | None:
        """The rule that certifies the largest epsilon at cosine 0.8 (or at 0, if 0.8 is out of reach)."""
        epsilon = self.max_epsilon(REFERENCE_COSINE) or self.max_epsilon(0.0)
        return self.rule_at(epsilon) if epsilon > 0 else None

    @property
    def assumed(self) -> bool:
        """Whether the limit is only assumed, so that this is not a certificate."""
        return self.bound_kind == "assumed"

    @property
    def dim(self) -> int:
        """Number of input features."""
        return self.evidence.dim

    @property
    def limit(self) -> float:
        """Bound on the field's norm."""
        return self.evidence.limit

    @property
    def norm_lower(self) -> float:
        """Lower confidence bound on the norm of the exact smoothed map."""
        return self.evidence.norm_lower

    @property
    def eigenvalue_upper(self) -> float:
        """Upper confidence bound on the largest eigenvalue of the attribution's covariance under the noise."""
        return self.evidence.eigenvalue

    @property
    def _noun(self) -> str:
        return "under an ASSUMED limit (not a certificate):" if self.assumed else "certified:"

    def __repr__(self) -> str:
        """A short summary with certified numbers rounded down."""
        note = ", limit ASSUMED: not a certificate" if self.assumed else ""
        return (
            f"Certificate(target={self.target}, noise={self.evidence.noise_kind}:{self.evidence.scale:g}, "
            f"max_epsilon(0.8)={round_down(self.max_epsilon(0.8))}, rule={self.rule}, samples={self.samples}, "
            f"alpha={self.alpha:g}{note})"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: a small table, certified numbers rounded down, everything escaped."""
        cells = {
            "status": self.status,
            "explained class": str(self.target),
            "noise": f"{self.evidence.noise_kind}, {self.evidence.scale:g}",
            **{f"epsilon at cosine {c:g} ({_angle(c)})": round_down(self.max_epsilon(c)) for c in COSINES},
            "rule": self.rule or "none",
            "limit": f"{self.limit:g}: {self.limit_source}",
            "samples": f"{self.samples:,}",
            "confidence": f"1 - alpha, alpha = {self.alpha:g}",
            **({"why not": self.reason} if self.reason else {}),
        }
        lines = "".join(
            f'<tr><th scope="row" style="text-align:left">{html.escape(key)}</th>'
            f'<td style="text-align:left">{html.escape(value)}</td></tr>'
            for key, value in cells.items()
        )
        note = "<p><strong>The limit is ASSUMED: this is not a certificate.</strong></p>" if self.assumed else ""
        return f"{note}<table><caption>attribound certificate</caption>{lines}</table>"

    # --- storage -------------------------------------------------------------------------------------------

    def to_record(self, epsilons: Iterable[float] = EPSILONS, cosines: Iterable[float] = COSINES) -> dict[str, Any]:
        """The record of this certificate: plain JSON values, without the map."""
        dim, scale = self.dim, self.evidence.scale
        uniform = self.evidence.noise_kind == "uniform"
        energy = math.sqrt(dim + 2)
        return {
            "item": self.item,
            "label": self.label,
            "target": self.target,
            "prediction": self.prediction,
            "dim": dim,
            "noise": {
                "kind": self.evidence.noise_kind,
                "radius": scale if uniform else scale * energy,
                "sigma": scale / energy if uniform else scale,
            },
            "attribution": self.method,
            "output": self.output,
            "bound": {"kind": self.bound_kind, "limit": self.limit, "source": self.limit_source},
            "samples": self.samples,
            "draws": self.draws,
            "alpha": self.alpha,
            "seed": self.seed,
            "norm": self.norm,
            "norm_lower": self.norm_lower,
            "eigenvalue_upper": self.eigenvalue_upper,
            "map_radius": self.map_radius,
            "status": self.status,
            "reason": self.reason,
            "rule": self.rule,
            "stopped": self.stopped,
            "budget": self.budget,
            "until": None if self.until is None else list(self.until),
            "cosine": {exact_text(e): self.cosine(e) for e in epsilons},
            "max_epsilon": {exact_text(c): self.max_epsilon(c) for c in cosines},
            "seconds": self.seconds,
            "versions": self.versions,
            "model_sha256": self.model_sha256,
            "input_sha256": self.input_sha256,
        }

    def to_stored(self, epsilons: Iterable[float] = EPSILONS, cosines: Iterable[float] = COSINES) -> dict[str, Any]:
        """The record with the evidence that its numbers follow from: enough to rebuild the certificate but its map."""
        return {
            **self.to_record(epsilons, cosines),
            "format": FORMAT,
            "evidence": asdict(self.evidence),
            "attacked_map_alpha": self.attacked_map_alpha,
        }

    def save(self, path: str | Path, epsilons: Iterable[float] = EPSILONS, cosines: Iterable[float] = COSINES) -> None:
        """Write the certificate with its map as JSON; the file appears whole or not at all."""
        record = self.to_stored(epsilons, cosines)
        record["map"] = {
            "shape": list(self.attribution.shape),
            "float64": base64.b64encode(np.ascontiguousarray(self.attribution, "<f8").tobytes()).decode(),
        }
        path = Path(path)
        partial = path.with_name(path.name + ".partial")
        partial.write_text(json.dumps(record, indent=1), encoding="utf-8")
        partial.replace(path)

    @classmethod
    def load(cls, path: str | Path) -> "Certificate":
        """Read a certificate written by `save`. Nothing in the file is executed."""
        return certificate_from(read_record(path), str(path))


_STORED: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("map_radius", "norm", "alpha", "attacked_map_alpha", "seconds"), float),
    **dict.fromkeys(("target", "prediction", "samples", "draws", "seed", "item", "budget"), int),
    **dict.fromkeys(("output", "stopped", "model_sha256", "input_sha256"), str),
}
"""Fields of a certificate that a record stores under their own name."""


def read_record(path: str | Path) -> dict[str, Any]:
    """The JSON object in a stored certificate."""
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StoredDataError(f"no such file: {path}") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise StoredDataError(f"{path} is not a certificate: {error}") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise StoredDataError(f"{path} is not a certificate: expected a JSON object with format {FORMAT}")
    return record


def is_certificate(path: Path) -> bool:
    """Whether a file looks like a stored certificate."""
    try:
        return "evidence" in read_record(path)
    except StoredDataError:
        return False


def certificate_from(record: dict[str, Any], name: str) -> Certificate:
    """Rebuild a certificate from a stored record; only what it rests on is taken, its answers are derived anew.

    A map that was not stored is NaN everywhere: every question about it is refused.
    """
    try:
        values, shape = _map_from(record)
        rest: dict[str, Any] = {key: kind(record[key]) for key, kind in _STORED.items()}
        certificate = Certificate(
            evidence=_evidence_from(record["evidence"]),
            attribution=values.reshape(shape).astype(np.float64),
            method=str(record["attribution"]),
            bound_kind=str(record["bound"]["kind"]),
            limit_source=str(record["bound"]["source"]),
            versions={str(key): str(value) for key, value in record["versions"].items()},
            label=None if record["label"] is None else int(record["label"]),
            until=None if record["until"] is None else (float(record["until"][0]), float(record["until"][1])),
            **rest,
        )
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise StoredDataError(f"{name} is not a certificate: {type(error).__name__} at {error}") from None
    if values.size != certificate.dim:
        raise StoredDataError(f"{name} holds a map of {values.size} features for {certificate.dim} inputs")
    return certificate


def _map_from(record: dict[str, Any]) -> tuple[FloatArray, list[int]]:
    if "map" not in record:
        dim = int(record["evidence"]["dim"])
        return np.full(dim, np.nan), [dim]
    shape = [int(size) for size in record["map"]["shape"]]
    return np.frombuffer(base64.b64decode(record["map"]["float64"], validate=True), "<f8"), shape


def _evidence_from(stored: dict[str, Any]) -> Evidence:
    if stored["noise_kind"] not in ("uniform", "gaussian"):
        raise ValueError(f"noise_kind {stored['noise_kind']!r}")
    return Evidence(
        dim=int(stored["dim"]),
        noise_kind=stored["noise_kind"],
        probability_gradient=bool(stored["probability_gradient"]),
        **{key: float(stored[key]) for key in ("scale", "limit", "norm_lower", "eigenvalue_upper")},
    )


def _epsilon(epsilon: float) -> float:
    if not 0 <= epsilon < math.inf:
        raise ArgumentError(f"expected `epsilon` >= 0, got {epsilon:g}")
    return float(epsilon)


def round_down(value: float, digits: int = 4) -> str:
    """Certified numbers are rounded down for display; in decimal, for a binary product may round up."""
    return f"{Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_FLOOR):f}"


def _angle(cosine: float) -> str:
    """The angle of a cosine in degrees, rounded up."""
    return f"{math.ceil(math.degrees(math.acos(cosine)) - 1e-9)} degrees"


def exact_text(value: float) -> str:
    """The shortest text that stands for this very number: a rounded key would be another claim."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def _why_not(certificate: Certificate, cosine: float, epsilon: float) -> str:
    """Why `cosine` is not certified at `epsilon`, and in numbers what would help."""
    evidence = certificate.evidence
    kappa, word = certificate.norm / evidence.limit, "radius" if evidence.noise_kind == "uniform" else "sigma"
    certified = "that follows from the ASSUMED limit (not a certificate)" if certificate.assumed else "certified"
    start = f"cosine {cosine:g} is not certified" + (f" at epsilon {epsilon:g}" if epsilon else "")
    if certificate.norm == 0:
        return f"{start}: every attribution drawn is zero; does the output that is explained depend on the input?"
    if evidence.norm_lower <= 0:
        noise = certificate.map_radius / certificate.norm
        wanted = certificate.samples * max(noise * noise, 2.0)
        return (
            f"{start}: the smoothed map's norm ({certificate.norm:.3g}) cannot be told from 0 after "
            f"{certificate.samples} samples; about {wanted:,.0f} samples may do, or a "
            f"smaller {word} or a model trained with noise (norm / limit is {kappa:.3g})"
        )
    largest = certificate.max_epsilon(cosine)
    if epsilon <= largest or largest == 0:
        return f"{start}: norm / limit is only {kappa:.3g}; a model trained with noise would raise it"
    needed, reached = evidence.scale * epsilon / largest, certificate.cosine(epsilon)
    return (
        f"{start}: the largest epsilon {certified} is {round_down(largest)}; {word} >= {needed:.3g} would do if the "
        f"norm stayed at {kappa:.3g} of its limit (attribound.min_radius measures it)"
        + (f", or accept cosine {round_down(reached)}" if reached > 0 else "")
    )
