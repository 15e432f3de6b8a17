"""Peers that attribound is compared with."""

from attribound.baselines.center_smoothing import CenterBound, center_smoothing

__all__ = ["CenterBound", "center_smoothing"]
