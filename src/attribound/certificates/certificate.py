"""The certificate: a record with its map, that answers every epsilon and every cosine."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, final

import msgspec
import numpy as np
import numpy.typing as npt

from attribound import checks as check
from attribound.bounds import features
from attribound.bounds.evidence import Evidence
from attribound.bounds.facts import Closeness
from attribound.bounds.laws import Law
from attribound.bounds.paper import cosine_bound_paper, largest_moved_fraction_paper
from attribound.bounds.visible import max_visible_epsilons, visible_cosine
from attribound.certificates import explain as words
from attribound.certificates.record import Failure, MapRecord, Record, Status, decode, encode
from attribound.certificates.statements.base import COSINES, EPSILONS, REFERENCE_COSINE
from attribound.certificates.statements.cells import Marks, marks, radii
from attribound.certificates.statements.error_bars import interval
from attribound.certificates.statements.prediction import voted_class
from attribound.certificates.statements.reasons import Reasons, reasons
from attribound.certificates.statements.registry import STATEMENTS
from attribound.checks import FloatArray, Number
from attribound.errors import StoredDataError
from attribound.files import read_text, write_whole


@final
@dataclass(frozen=True)
class Certificate:
    """What is proved about one explanation. With probability at least 1 - alpha, all of it holds at once.

    Attributes:
        record: everything that is stored; see `attribound.certificates.record`.
        map: the smoothed map (mean of the draws) in the field's shape; None if it was not stored.
    """

    record: Record
    map: FloatArray | None = None

    # --- the questions -------------------------------------------------------------------------------------

    def cosine(self, epsilon: float) -> float:
        """Certified cosine between this explanation and the one after any change of l2 size <= epsilon.

        Both are the exact smoothed maps. -1.0 if nothing can be said.
        """
        return float(self.evidence.cosine(_epsilon(epsilon)))

    def max_epsilon(self, cosine: float) -> float:
        """The largest change that provably keeps the cosine at or above `cosine`; 0.0 if there is none."""
        wanted = _number("cosine", cosine)
        if wanted not in self._largest:
            self._largest[wanted] = float(self.evidence.max_epsilon(wanted))
        return self._largest[wanted]

    def rule_at(self, epsilon: float) -> str | None:
        """The rule that certifies `cosine(epsilon)`, e.g. "tight" or "covariance"; None if none does."""
        return self.evidence.rule_at(_epsilon(epsilon))

    def displacement(self, epsilon: float) -> float:
        """Every attacked smoothed map lies within this distance of `attribution`, the map that was sampled."""
        return float(self.evidence.displacement(_epsilon(epsilon))) + self.map_radius

    def top_k(self, k: int, epsilon: float) -> int:
        """How many of the k largest features of `attribution` stay among the k largest of any attacked map.

        With epsilon 0, how many are among the k largest of the exact map: whether enough draws were taken.
        """
        return features.top_k_kept(self.evidence, self.attribution, k, _epsilon(epsilon))

    def signs(self, epsilon: float) -> npt.NDArray[np.bool_]:
        """Which features of `attribution` keep their sign in any attacked map."""
        moved = float(self.evidence.displacement(_epsilon(epsilon)))
        error = np.broadcast_to(np.ravel(features.error_bars(self.evidence)), self.attribution.size)
        return features.sign_kept(self.attribution, moved + error.reshape(self.attribution.shape))

    def cells(self, fraction: float, epsilon: float, samples: int | None = None) -> Marks:
        """Which cells provably stay among the largest, or not, in the *vote map*: +1 hot, -1 cold, 0 unproved.

        A cell of the vote map is hot if it is among that fraction's largest in more than half of all noisy maps. No
        change up to epsilon moves any marked cell to the other side, all marked cells of all fractions at once.

        Args:
            fraction: which part of the map is called hot: one of the `cells` that `certify` was given.
            epsilon: size of the change.
            samples: None: the exact vote map at the attacked input. A number: also the one sampled there with so many
                draws, after that input was fixed, shows the mark.
        """
        return marks(self, fraction, _epsilon(epsilon), samples)

    def cell_radius(self, fraction: float, samples: int | None = None) -> FloatArray:
        """How far each cell's mark is proved, in the map's shape; 0.0 where nothing is. See `cells`."""
        return radii(self, fraction, samples)

    def reasons(self, k: int | None = None) -> Reasons:
        """The pilot's k largest features, ordered by this map; how far each provably stays one of them, and in order.

        It needs `certify(..., reasons=4)`; k is at most as many as that, and by default as many.
        """
        return reasons(self, k)

    def interval(self) -> tuple[FloatArray, FloatArray]:
        """Error bars: the least and the most that each cell of the exact smoothed map can be, all cells at once."""
        return interval(self)

    @cached_property
    def prediction_radius(self) -> float:
        """No change up to this alters the *smoothed* classifier's class (not the plain model's); 0.0: it abstains."""
        return voted_class(self)[1]

    @property
    def smoothed_prediction(self) -> int | None:
        """The class that more than half of all noisy inputs provably get; None: none is proved, it abstains."""
        return voted_class(self)[0]

    def joint_epsilon(self, cosine: float) -> float:
        """No change up to this alters the smoothed class *or* turns the map beyond `cosine`; 0.0 if it abstains."""
        return min(self.prediction_radius, self.max_epsilon(cosine))

    def visible_cosine(self, epsilon: float, samples: int | None = None) -> float:
        """Certified cosine between the *sampled* map seen here and a map sampled at the attacked input.

        Args:
            epsilon: size of the change.
            samples: independent draws behind the other map; default: as many as here. They must be drawn after the
                attacked input is fixed and unknown to the one who fixed it: with another seed than this certificate's.
        """
        count = self.draws if samples is None else int(check.count("samples", samples))
        return float(visible_cosine(self.evidence, _epsilon(epsilon), count))

    def max_visible_epsilon(self, cosine: float) -> float:
        """The largest change that keeps `visible_cosine` at or above `cosine`; 0.0 if there is none."""
        return max_visible_epsilons(self.evidence, [_number("cosine", cosine)], self.draws)[0]

    def cosine_paper(self, epsilon: float) -> float:
        """The paper's formula with the sampled norm. NOT a guarantee; for comparison only."""
        moved = self.evidence.moved_fraction(_epsilon(epsilon))
        return float(cosine_bound_paper(min(self.norm, self.limit), self.limit, moved))

    def max_epsilon_paper(self, cosine: float) -> float:
        """The paper's largest epsilon with the sampled norm. NOT a guarantee; for comparison only."""
        moved = largest_moved_fraction_paper(min(self.norm, self.limit), self.limit, cosine)
        return float(self.law.epsilon_at(moved))

    def explain(self, cosine: float, epsilon: float) -> str:
        """In a sentence or two: is `cosine` certified at `epsilon`, and if not, why and what would help."""
        return words.explain(self, _number("cosine", cosine), _epsilon(epsilon))

    # --- what it rests on ----------------------------------------------------------------------------------

    @cached_property
    def evidence(self) -> Evidence:
        """Law, limit and facts: what every answer follows from."""
        return self.record.evidence()

    @property
    def attribution(self) -> FloatArray:
        """The smoothed map; questions about a map that was not stored are refused."""
        if self.map is None:
            raise StoredDataError("this certificate was stored without its map, so nothing can be said about features")
        return self.map

    @cached_property
    def status(self) -> Status:
        """One of "certified", "assumed" (the limit is a guess: not a certificate) and "uncertified"."""
        if self.rule is None:
            return "uncertified"
        return "assumed" if self.assumed else "certified"

    @property
    def reason(self) -> str:
        """Why nothing could be certified, and what would help; empty otherwise."""
        return "" if self.status != "uncertified" else words.why_not(self, REFERENCE_COSINE, 0.0)

    @cached_property
    def rule(self) -> str | None:
        """The rule that certifies the largest epsilon at cosine 0.8 (or at 0, if 0.8 is out of reach)."""
        epsilon = self.max_epsilon(REFERENCE_COSINE) or self.max_epsilon(0.0)
        return self.rule_at(epsilon) if epsilon > 0 else None

    @cached_property
    def _largest(self) -> dict[float, float]:
        """Largest epsilons that were asked for, by cosine."""
        return {}

    @property
    def assumed(self) -> bool:
        """Whether the limit is only assumed, so that this is not a certificate."""
        return self.record.bound.kind == "assumed"

    @property
    def law(self) -> Law:
        """The law of the noise."""
        return self.evidence.law

    @property
    def noise(self) -> str:
        """The noise as people type it, e.g. "gaussian:0.5"."""
        return self.law.spec

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the map's cells; empty if they have none."""
        return () if self.record.features is msgspec.UNSET else self.record.features

    @property
    def dim(self) -> int:
        """Number of input features; of changes, where noise is on their amounts."""
        return self.record.dim

    @property
    def target(self) -> int:
        """The class that is explained."""
        return self.record.target

    @property
    def prediction(self) -> int:
        """The model's class for the unchanged input."""
        return self.record.prediction

    @property
    def limit(self) -> float:
        """Bound on the field's norm."""
        return self.record.bound.limit

    @property
    def limit_source(self) -> str:
        """In words, how the limit is known."""
        return self.record.bound.source

    @property
    def norm(self) -> float:
        """Norm of the sampled map; biased upwards, for information."""
        return self.record.norm

    @property
    def norm_lower(self) -> float:
        """Lower confidence bound on the norm of the exact smoothed map."""
        return float(self.evidence.norm_lower)

    @property
    def eigenvalue_upper(self) -> float:
        """Upper confidence bound on the largest eigenvalue of the attribution's covariance under the noise."""
        return float(self.evidence.eigenvalue)

    @property
    def map_radius(self) -> float:
        """The exact smoothed map lies within this distance of the sampled one."""
        return float(self.evidence.fact(Closeness).radius)

    @property
    def fidelity(self) -> float | None:
        """Cosine of the smoothed and the plain map: whether what is certified resembles what people know."""
        return self.record.fidelity

    @property
    def samples(self) -> int:
        """Noise draws taken."""
        return self.record.samples

    @property
    def draws(self) -> int:
        """Independent draws behind the bounds."""
        return self.record.draws

    @property
    def alpha(self) -> float:
        """Probability that anything stated here is false."""
        return self.record.alpha

    @property
    def seed(self) -> int:
        """Seed of the draws."""
        return self.record.seed

    @property
    def item(self) -> int:
        """Number of the input."""
        return self.record.item

    def __repr__(self) -> str:
        """A short summary with certified numbers rounded down."""
        return words.summary(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return words.html_table(self)

    # --- storage -------------------------------------------------------------------------------------------

    def stating(self, epsilons: Iterable[float] = EPSILONS, cosines: Iterable[float] = COSINES) -> "Certificate":
        """The same certificate, its record stating what every statement proves at these epsilons and cosines."""
        epsilons, cosines = tuple(epsilons), tuple(cosines)
        flat: dict[str, Any] = {"status": self.status, "reason": self.reason, "rule": self.rule}
        answers: dict[str, Any] = {}
        for statement in STATEMENTS.values():
            if statement.made(self.evidence):
                answer = statement.answer(self, epsilons, cosines)
                flat |= answer if statement.keys else {}
                answers |= {statement.name: answer} if answer and not statement.keys else {}
        record = msgspec.structs.replace(self.record, **flat, answers=answers or msgspec.UNSET)
        return Certificate(record.knowing(self.evidence), self.map)

    def save(self, path: str | Path, epsilons: Iterable[float] = EPSILONS, cosines: Iterable[float] = COSINES) -> None:
        """Write the certificate with its map as JSON; the file appears whole or not at all."""
        packed = None if self.map is None else MapRecord.of(self.map)
        stated = msgspec.structs.replace(self.stating(epsilons, cosines).record, map=packed)
        write_whole(path, msgspec.json.format(encode(stated), indent=1))

    @classmethod
    def load(cls, path: str | Path) -> "Certificate":
        """Read a certificate written by `save`. Nothing in the file is executed."""
        record = decode(read_text(path), str(path))
        if isinstance(record, Failure):
            raise StoredDataError(f"{path} is the record of a failure, not a certificate: {record.message}")
        return certificate_of(record, str(path))


def certificate_of(record: Record, name: str) -> Certificate:
    """The certificate of a stored record, with its map if the record holds one."""
    if record.map is None:
        return Certificate(record)
    try:
        return Certificate(record, record.map.values())
    except ValueError as error:
        raise StoredDataError(f"{name} is not a certificate: it holds {error}") from None


def _epsilon(epsilon: Number) -> float:
    return float(check.non_negative("epsilon", epsilon))


def _number(name: str, value: Number) -> float:
    return float(check.fraction(name, value))
