"""What an attack on a tolerance found. No torch."""

from typing import Any, Literal

from msgspec import Struct

from attribound.tolerances.evidence import MARGIN
from attribound.tolerances.record import Proof

BEYOND = 4.0
"""A window's mean contradicts a proof only if it is more than this many standard errors on the wrong side.

One claim is tested once, with draws that nothing was chosen by, on the mean of bounded numbers. Where the claim is just
true, this happens with probability 3e-5; proved reaches stop short of where that is so.
"""


class ToleranceFinding(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="tolerance"
):
    """One claim about one change of one input and what became of it.

    Attributes:
        item: number of the input.
        change: the change's name.
        about: "cosine": of maps with that of the unchanged input; "class": the class stays.
        claimed: the cosine; of the class its share, everywhere 1 where all was tried, else the half in every window.
        reach: the proved interval, in the change's unit.
        unit: the change's unit.
        proof: how the claim was proved, as the record says.
        tried: maps that were computed inside the reach.
        worst: the lowest cosine, or share of the class, that was found; None if the reach has nothing to try.
        at: where, in the change's unit.
        words: where, in words.
        errors: of a scan, by how many standard errors the claim holds there; negative: by how many it fails.
        seed: of the attack.
        settings: how hard it was tried.
    """

    item: int
    change: str
    about: Literal["cosine", "class"]
    claimed: float
    reach: tuple[float, float]
    unit: str
    proof: Proof
    tried: int
    worst: float | None = None
    at: float | None = None
    words: str = ""
    errors: float | None = None
    seed: int = 0
    settings: dict[str, Any] = {}

    @property
    def violated(self) -> bool:
        """Whether the claim is false: at an alternative, by more than a tie; of a scan, beyond chance."""
        if self.worst is None:
            return False
        return self.worst < self.claimed - MARGIN if self.errors is None else self.errors < -BEYOND

    def row(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {name: getattr(self, name) for name in self.__struct_fields__} | {"violated": self.violated}
