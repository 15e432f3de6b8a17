"""The scan: a proof over a range of a one-parameter change. Numpy in float64; proof: docs/theory/scan.md."""

from attribound.bounds.scan.grid import Grid, plan_grid
from attribound.bounds.scan.pilot import Design, Pilot
from attribound.bounds.scan.reach import Curve, angle_curve, map_reach, share_reach
from attribound.bounds.scan.tally import Tally

__all__ = ["Curve", "Design", "Grid", "Pilot", "Tally", "angle_curve", "map_reach", "plan_grid", "share_reach"]
