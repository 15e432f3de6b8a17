"""Peers that attribound is compared with."""

from attribound.baselines.center_smoothing import CenterBound, center_smoothing
from attribound.baselines.pixel_votes import PixelMarks, certify_pixels, pixel_votes

__all__ = ["CenterBound", "PixelMarks", "center_smoothing", "certify_pixels", "pixel_votes"]
