"""Certified reasons: features that provably stay the largest of the map, and their order (docs/theory/reasons.md)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from attribound import checks as check
from attribound.bounds.orders import Orders
from attribound.certificates.answers import StatedReason
from attribound.certificates.statements.base import ASSUMED, Asking, Option, Statement, spare
from attribound.errors import ArgumentError, StoredDataError
from attribound.frames import to_frame
from attribound.rounding import round_down

if TYPE_CHECKING:
    from attribound.certificates.certificate import Certificate
    from attribound.sampling.statistic import Statistic


@final
@dataclass(frozen=True, repr=False)
class Reasons:
    """The pilot's k largest features, ordered by the sampled map, and what is proved about them in the exact one.

    With probability at least 1 - alpha all of it holds at once, for every change of the input up to the epsilon named,
    if the limit is not only assumed.

    Attributes:
        features: (k,) places in the map.
        names: (k,) what they are called.
        stays: (k,) each feature is among the k largest of every attacked map up to this epsilon; 0.0: unproved.
        above: (k, k) at [i, j], up to where reason i stays above reason j; 0.0: unproved.
        assumed: the limit is a guess, so nothing here is a certificate.
    """

    features: tuple[int, ...]
    names: tuple[str, ...]
    stays: tuple[float, ...]
    above: tuple[tuple[float, ...], ...]
    assumed: bool

    @property
    def leads(self) -> tuple[float, ...]:
        """(k,) up to which epsilon each reason stays above the next one; the last has none: 0.0."""
        return (*(self.above[place][place + 1] for place in range(len(self.features) - 1)), 0.0)

    @property
    def max_epsilon(self) -> float:
        """All of them stay the k largest up to this change."""
        return min(self.stays)

    @property
    def max_order_epsilon(self) -> float:
        """All of them stay the k largest, in this order, up to this change."""
        return min(self.max_epsilon, *self.leads[:-1]) if len(self.features) > 1 else self.max_epsilon

    def staying(self, epsilon: float) -> tuple[str, ...]:
        """Names of those that stay among the k largest after any change up to epsilon."""
        wanted = float(check.non_negative("epsilon", epsilon))
        return tuple(name for name, reach in zip(self.names, self.stays, strict=True) if reach > 0 and reach >= wanted)

    def to_frame(self) -> Any:
        """A `pandas.DataFrame`: each reason, up to which epsilon it stays, and stays above the next."""
        columns = zip(self.names, self.stays, self.leads, strict=True)
        return to_frame({"reason": name, "stays": stays, "above the next": lead} for name, stays, lead in columns)

    def stated(self) -> tuple[StatedReason, ...]:
        """As records keep them."""
        return tuple(map(StatedReason, self.features, self.names, self.stays, self.leads))

    def __repr__(self) -> str:
        """One line per reason, numbers rounded down; before them, whether the limit is assumed."""
        return "\n".join(self._lines())

    def _lines(self) -> list[str]:
        count, width = len(self.features), max(map(len, self.names))
        lines = [ASSUMED] if self.assumed else []
        for place, (name, reach, lead) in enumerate(zip(self.names, self.stays, self.leads, strict=True), 1):
            among = f"among the top {count} up to epsilon {round_down(reach)}" if reach > 0 else "not proved to stay"
            first = f", above the next up to {round_down(lead)}" if lead > 0 else ""
            lines.append(f"{place} {name:{width}}  {among}{first}")
        return lines


@final
@dataclass(frozen=True)
class TopReasons(Statement):
    """The largest features stay the largest, and in order.

    Attributes:
        k: how many.
    """

    k: int
    name = "reasons"
    option = Option("Certify that this many of the largest features stay the largest, and their order.", "NUMBER")
    facts = (Orders,)
    keys = ("reasons",)

    @classmethod
    def parse(cls, text: str) -> int:
        """A whole number."""
        if not (text.isascii() and text.isdecimal()):
            raise ArgumentError(f"expected --reasons to be a whole number >= 0, got {text!r}")
        return int(text)

    @classmethod
    def ask(cls, value: Any, asking: Asking) -> "TopReasons":
        """Orders mean something only where every map has a noisy input of its own."""
        number = check.whole("reasons", value)
        if asking.block > 1:
            raise ArgumentError(
                f"expected no `reasons` for {asking.method.partition('@')[0]} on a random path: "
                f"{asking.block} noisy inputs share a map"
            )
        return cls(number)

    def check_size(self, size: int) -> None:
        """There must be more cells than reasons, and not too many to compare."""
        from attribound.sampling.orders import check_cells

        check_cells(self.k, size)

    def statistics(self) -> "list[Statistic]":
        """How often the pilot's largest features exceed the others."""
        from attribound.sampling.orders import PairOrders

        return [PairOrders(k=self.k)]

    @classmethod
    def answer(cls, certificate: "Certificate", epsilons: Sequence[float], cosines: Sequence[float]) -> dict[str, Any]:
        """Every counted feature, its name, and how far it stays and leads."""
        return {"reasons": reasons(certificate).stated()}

    @classmethod
    def problems(cls, certificate: "Certificate") -> list[str]:
        """Reasons that the evidence does not give."""
        return _overstated(certificate)

    @classmethod
    def asked(cls, certificate: "Certificate") -> int:
        """As many as were counted."""
        return len(certificate.evidence.fact(Orders).places)

    @classmethod
    def words(cls, certificate: "Certificate") -> dict[str, str]:
        """Every counted feature with how far it stays."""
        return {"reasons": "; ".join(" ".join(line.split()) for line in repr(reasons(certificate)).splitlines())}


def reasons(certificate: "Certificate", k: int | None = None) -> Reasons:
    """What the certificate's orders prove about its k largest features; k: at most as many as were counted."""
    if Orders not in certificate.evidence.facts:
        raise StoredDataError("no orders were counted for this certificate: certify with reasons=4")
    orders = certificate.evidence.fact(Orders)
    counted = len(orders.places)
    number = counted if k is None else int(check.count("k", k))
    if number > counted:
        raise ArgumentError(f"expected `k` in 1..{counted}, the reasons that were counted, got {number}")
    rows = list(range(counted))
    if certificate.map is not None:  # the pilot's order is not quite that of the map that people see
        values = np.ravel(certificate.map)
        rows.sort(key=lambda row: -values[orders.places[row]])
    rows = rows[:number]
    places = tuple(orders.places[row] for row in rows)
    stays = orders.among(number)
    return Reasons(
        features=places,
        names=tuple(certificate.features[place] if certificate.features else str(place) for place in places),
        stays=tuple(float(stays[row]) for row in rows),
        above=tuple(tuple(float(orders.radius[row, place]) for place in places) for row in rows),
        assumed=certificate.assumed,
    )


def _overstated(certificate: "Certificate") -> list[str]:
    """Reasons that a record states and its evidence does not give."""
    stated = certificate.record.stated_reasons
    if not stated:
        return []
    if Orders not in certificate.evidence.facts:
        return ["states reasons, but no orders were counted"]
    orders = certificate.evidence.fact(Orders)
    if len(stated) > len(orders.places) or {one.feature for one in stated} - set(orders.places):
        return ["states reasons that were not counted"]
    stays, problems = dict(zip(orders.places, orders.among(len(stated)), strict=True)), []
    called = dict(enumerate(certificate.features))
    for one, following in zip(stated, [*stated[1:], None], strict=True):
        lead = 0.0 if following is None else orders.radius[orders.places.index(one.feature), following.feature]
        if one.name != called.get(one.feature, str(one.feature)):
            problems.append(f"calls feature {one.feature} {one.name!r}, which is not its name")
        more = spare(certificate.law)
        if not (one.stays <= stays[one.feature] + more and one.leads <= lead + more):
            problems.append(f"states more about the reason {one.name!r} than its evidence gives")
    return problems
