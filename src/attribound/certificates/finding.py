"""What an attack on a certificate found: one typed value from the audit to the page."""

from typing import Any

from msgspec import Struct

LARGEST_FACTOR = 8.0
"""Attacks try changes up to this multiple of the certified epsilon."""


class Finding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One certified claim and what became of it.

    Attributes:
        item: number of the input.
        epsilon: the certified budget.
        certified: the certified cosine at that budget.
        worst: the lowest cosine that an attack found.
        worst_most: the exact cosine after that attack is at most this, beyond all chance.
        length: size of that change as applied.
        method: the attack that found it.
        broken_at: smallest epsilon at which an attack was seen to reach the certified cosine; None if none did.
        label_kept: whether the prediction stayed.
        assumed: the limit is only assumed, so what is called certified here is not a certificate.
        seed: seed of the attacks.
        skipped: attacks that do not fit the model, and why.
        settings: how hard it was tried.
    """

    item: int
    epsilon: float
    certified: float
    worst: float
    worst_most: float
    length: float
    method: str
    broken_at: float | None = None
    label_kept: bool = True
    assumed: bool = False
    seed: int = 0
    skipped: dict[str, str] = {}
    settings: dict[str, Any] = {}

    @property
    def gap(self) -> float:
        """Worst cosine found minus certified cosine: what lies between proved and broken."""
        return self.worst - self.certified

    @property
    def tightness(self) -> float | None:
        """Certified epsilon / smallest epsilon at which an attack reaches that cosine; 1 would be perfect."""
        return None if self.broken_at is None else self.epsilon / self.broken_at

    @property
    def tried(self) -> float:
        """Attacks were made up to this epsilon; nothing is known about larger changes."""
        return self.epsilon * (LARGEST_FACTOR if self.settings.get("tightness") else 1.0)

    @property
    def violated(self) -> bool:
        """Whether a change within the budget brings the exact cosine below the certified one, beyond all chance."""
        return self.worst_most < self.certified and self.length <= self.epsilon

    def row(self) -> dict[str, Any]:
        """Plain JSON values, with what follows from them."""
        derived = {"gap": self.gap, "tightness": self.tightness, "violated": self.violated}
        return {name: getattr(self, name) for name in self.__struct_fields__} | derived
