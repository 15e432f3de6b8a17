"""Error bars: the least and the most that each cell of the exact smoothed map can be."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from attribound.bounds.cells import ErrorBars
from attribound.bounds.features import error_bars
from attribound.certificates.statements.base import Asking, Option, Statement
from attribound.checks import FloatArray

if TYPE_CHECKING:
    from attribound.certificates.certificate import Certificate
    from attribound.sampling.statistic import Statistic


@final
@dataclass(frozen=True)
class Intervals(Statement):
    """Error bars of their own for every cell, which a record then keeps (4 bytes each)."""

    name = "intervals"
    option = Option("Keep error bars for every cell of the map.", hidden=True)
    facts = (ErrorBars,)

    @classmethod
    def ask(cls, value: Any, asking: Asking) -> "Intervals":
        """For any field."""
        return cls()

    def statistics(self) -> "list[Statistic]":
        """A confidence sequence for every cell."""
        from attribound.sampling.error_bars import CellErrors

        return [CellErrors()]

    @classmethod
    def answer(cls, certificate: "Certificate", epsilons: Sequence[float], cosines: Sequence[float]) -> dict[str, Any]:
        """Nothing beyond the fact itself."""
        return {}

    @classmethod
    def problems(cls, certificate: "Certificate") -> list[str]:
        """Nothing beyond the fact's own."""
        return []

    @classmethod
    def asked(cls, certificate: "Certificate") -> bool:
        """They were."""
        return True


def interval(certificate: "Certificate") -> tuple[FloatArray, FloatArray]:
    """The sampled map less and plus its error bars, within the limit."""
    half = np.broadcast_to(np.ravel(error_bars(certificate.evidence)), certificate.attribution.size)
    error, limit = half.reshape(certificate.attribution.shape), certificate.limit
    return np.clip(certificate.attribution - error, -limit, limit), np.clip(
        certificate.attribution + error, -limit, limit
    )
