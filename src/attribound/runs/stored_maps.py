"""The maps that a run keeps, and whether they are those that its records are about."""

import math

import msgspec
import numpy as np

from attribound.certificates.record import map_hash
from attribound.checks import FloatArray
from attribound.runs.store import Store

TINY = 1e-37
"""What values too small for float32 may lose together."""


def smoothed_map(store: Store, item: int) -> FloatArray | None:
    """The sampled map of an input, if the run kept it."""
    return store.pictures(item, "smoothed").get("smoothed")


def kept_maps(store: Store) -> frozenset[int]:
    """The inputs whose sampled map the run kept: a question to the file less for each of the others."""
    return frozenset(store.pictured("smoothed"))


def map_trouble(sampled: FloatArray, norm: float, sha256: str | msgspec.UnsetType) -> str:
    """Why a stored map is not its record's: it has another length or another hash; empty if it is."""
    fits = math.isclose(float(np.linalg.norm(sampled)), norm, rel_tol=1e-5, abs_tol=TINY)
    if np.isfinite(sampled).all() and fits and sha256 in (msgspec.UNSET, map_hash(sampled)):
        return ""
    return "the stored map is not the one that the record is about"
