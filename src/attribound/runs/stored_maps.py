"""The maps that a run keeps, and whether they are those that its records are about."""

import math

import msgspec
import numpy as np

from attribound.certificates.record import Record, map_hash
from attribound.checks import FloatArray
from attribound.runs.store import Store

TINY = 1e-37
"""What values too small for float32 may lose together."""


def smoothed_map(store: Store, record: Record) -> FloatArray | None:
    """The sampled map of a record, if the run kept it."""
    return store.pictures(record.item, "smoothed").get("smoothed")


def map_trouble(record: Record, sampled: FloatArray) -> str:
    """Why a stored map is not the record's: it has another length or another hash; empty if it is."""
    fits = math.isclose(float(np.linalg.norm(sampled)), record.norm, rel_tol=1e-5, abs_tol=TINY)
    if np.isfinite(sampled).all() and fits and record.map_sha256 in (msgspec.UNSET, map_hash(sampled)):
        return ""
    return "the stored map is not the one that the record is about"
