"""The class beside its explanation: how far the smoothed classifier keeps it. Every certificate makes it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from attribound.bounds.cells import Majority
from attribound.certificates.statements.base import Asking, Statement, spare
from attribound.rounding import exact_text, round_down

if TYPE_CHECKING:
    from attribound.certificates.certificate import Certificate
    from attribound.sampling.statistic import Statistic


@final
@dataclass(frozen=True)
class Prediction(Statement):
    """The class that most noisy inputs get, and the epsilon up to which it stays."""

    name = "prediction"
    facts = (Majority,)
    bulk = True
    keys = ("prediction_radius", "joint_epsilon")

    @classmethod
    def ask(cls, value: Any, asking: Asking) -> "Prediction":
        """For any field."""
        return cls()

    def statistics(self) -> "list[Statistic]":
        """A count of the pilot's most frequent class."""
        from attribound.sampling.prediction import ClassCount

        return [ClassCount()]

    @classmethod
    def answer(cls, certificate: "Certificate", epsilons: Sequence[float], cosines: Sequence[float]) -> dict[str, Any]:
        """The class's radius, and the epsilon that keeps class and map."""
        joint = {exact_text(float(cosine)): certificate.joint_epsilon(cosine) for cosine in cosines}
        return {"prediction_radius": certificate.prediction_radius, "joint_epsilon": joint}

    @classmethod
    def problems(cls, certificate: "Certificate") -> list[str]:
        """A stated radius that the counts do not give."""
        record, problems = certificate.record, []
        stated, given = record.prediction_radius, certificate.prediction_radius
        if stated is not None and not stated <= given + spare(certificate.law):
            problems.append(f"states prediction_radius {stated:.9g}, but its evidence gives only {given:.9g}")
        for key, stated in record.joint_epsilon.items():
            if not stated <= (derived := certificate.joint_epsilon(float(key))) + spare(certificate.law):
                problems.append(
                    f"states joint_epsilon({key}) = {stated:.9g}, but its evidence gives only {derived:.9g}"
                )
        return problems

    @classmethod
    def words(cls, certificate: "Certificate") -> dict[str, str]:
        """Abstention and disagreement are said."""
        return {"class under noise": class_under_noise(certificate)}


def voted_class(certificate: "Certificate") -> tuple[int | None, float]:
    """The smoothed classifier's class and how far it is proved; (None, 0.0) where it abstains."""
    if Majority not in certificate.evidence.facts:
        return None, 0.0
    majority = certificate.evidence.fact(Majority)
    radius = float(majority.radius(certificate.law))
    return (int(majority.winner), radius) if radius > 0 else (None, 0.0)


def class_under_noise(certificate: "Certificate") -> str:
    """What is proved about the smoothed classifier's class."""
    if certificate.record.prediction_radius is None:
        return "not measured"
    voted = certificate.smoothed_prediction
    if voted is None:
        return "abstains: no class is proved to be given to more than half of the noisy inputs"
    held = f"{voted}, kept up to epsilon {round_down(certificate.prediction_radius)}"
    if voted != certificate.prediction:
        held += f" (without noise the model says {certificate.prediction})"
    return held if voted == certificate.target else f"{held}; the map explains class {certificate.target}"
