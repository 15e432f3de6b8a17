"""The cosine: how far the map turns. Every certificate makes this statement; the others stand beside it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from attribound.bounds.facts import Closeness, Length, Spread
from attribound.bounds.visible import max_visible_epsilons
from attribound.certificates.statements.base import COSINES, ROUNDING, Asking, Statement, spare
from attribound.rounding import degrees, exact_text, round_down

if TYPE_CHECKING:
    from attribound.certificates.certificate import Certificate
    from attribound.sampling.statistic import Statistic

Answer = Callable[[float], float]


@final
@dataclass(frozen=True)
class Cosine(Statement):
    """The certified cosine at every epsilon, and the largest epsilon at every cosine.

    Attributes:
        cosines: asked before the draws, for the moment rule.
    """

    cosines: tuple[float, ...]
    name = "cosine"
    facts = (Length, Spread, Closeness)
    bulk = True
    keys = ("cosine", "visible_cosine", "max_epsilon", "max_visible_epsilon")

    @classmethod
    def ask(cls, value: Any, asking: Asking) -> "Cosine":
        """For any field."""
        return cls(asking.cosines)

    def statistics(self) -> "list[Statistic]":
        """Length, spread, closeness of the sampled map, and moments."""
        from attribound.sampling.moments import FourthMoments
        from attribound.sampling.norm import Norm
        from attribound.sampling.radius import MapRadius
        from attribound.sampling.spread import SecondMoments

        return [Norm(), SecondMoments(), MapRadius(), FourthMoments(cosines=self.cosines)]

    @classmethod
    def answer(cls, certificate: "Certificate", epsilons: Sequence[float], cosines: Sequence[float]) -> dict[str, Any]:
        """Tables over epsilons and cosines, for the exact maps and for those as sampled."""
        visible = max_visible_epsilons(certificate.evidence, cosines, certificate.draws)
        return {
            "cosine": _table(epsilons, map(certificate.cosine, epsilons)),
            "visible_cosine": _table(epsilons, map(certificate.visible_cosine, epsilons)),
            "max_epsilon": _table(cosines, map(certificate.max_epsilon, cosines)),
            "max_visible_epsilon": _table(cosines, visible),
        }

    @classmethod
    def problems(cls, certificate: "Certificate") -> list[str]:
        """Stated answers that are larger than what the evidence gives."""
        problems = []
        for name, cosine, largest in (
            ("cosine", certificate.cosine, certificate.max_epsilon),
            ("visible_cosine", certificate.visible_cosine, certificate.max_visible_epsilon),
        ):
            for key, stated in getattr(certificate.record, name).items():
                if not stated <= (derived := cosine(float(key))) + ROUNDING:
                    problems.append(f"states {name}({key}) = {stated:.9g}, but its evidence gives only {derived:.9g}")
            name = f"max_{name.replace('cosine', 'epsilon')}"
            for key, stated in getattr(certificate.record, name).items():
                # Whether the cosine holds at the stated epsilon is much quicker to see than the largest one is to find.
                if stated <= 0 or cosine(stated) >= float(key):
                    continue
                if not stated <= (derived := largest(float(key))) + spare(certificate.law):
                    problems.append(f"states {name}({key}) = {stated:.9g}, but its evidence gives only {derived:.9g}")
        return problems

    @classmethod
    def words(cls, certificate: "Certificate") -> dict[str, str]:
        """The largest epsilon at the cosines that the record states: as stated if that is proved, or else derived."""
        record, lines = certificate.record, {}
        for cosine in map(float, record.max_epsilon or COSINES):
            exact, sampled = (
                _proved(cosine, table, holds=holds, largest=largest)
                for table, holds, largest in (
                    (record.max_epsilon, certificate.cosine, certificate.max_epsilon),
                    (record.max_visible_epsilon, certificate.visible_cosine, certificate.max_visible_epsilon),
                )
            )
            about = f"epsilon at cosine {exact_text(cosine)} ({degrees(cosine)} degrees)"
            lines[about] = f"{round_down(exact)} (as sampled: {round_down(sampled)})"
        return lines


def _proved(cosine: float, stated: Mapping[str, float], *, holds: Answer, largest: Answer) -> float:
    """What is stated, if the cosine holds there, which is much quicker to see than the largest epsilon is to find."""
    known = stated.get(exact_text(cosine), 0.0)
    return known if known > 0 and holds(known) >= cosine else largest(cosine)


def _table(asked: Sequence[float], answers: Iterable[float]) -> dict[str, float]:
    return {exact_text(float(one)): answer for one, answer in zip(asked, answers, strict=True)}
