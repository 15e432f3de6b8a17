"""The laws of noise, one file each."""

from attribound.bounds.laws.ball import Ball
from attribound.bounds.laws.base import Law
from attribound.bounds.laws.closed_forms import law_given, moved_fraction, shift_size
from attribound.bounds.laws.normal import Normal
from attribound.bounds.laws.registry import LAWS, parse_law, register_law, split_spec
from attribound.bounds.truncation import Truncation, truncate_normal

__all__ = [
    "LAWS",
    "Ball",
    "Law",
    "Normal",
    "Truncation",
    "law_given",
    "moved_fraction",
    "parse_law",
    "register_law",
    "shift_size",
    "split_spec",
    "truncate_normal",
]
