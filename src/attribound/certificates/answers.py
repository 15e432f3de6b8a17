"""Parts of stored answers: what records state, as plain values."""

from msgspec import Struct


class CellTally(Struct, frozen=True, forbid_unknown_fields=True):
    """How many cells are proved hot, proved cold, and neither."""

    hot: int
    cold: int
    unproved: int


class StatedReason(Struct, frozen=True, forbid_unknown_fields=True):
    """A reason as records state it: feature, its name, up to which epsilon it stays, and stays above the next one."""

    feature: int
    name: str
    stays: float
    leads: float
