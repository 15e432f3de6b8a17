"""Tolerance sheets: how far an input may change before its explanation does."""

from attribound.tolerances.answer import Break, Tolerance
from attribound.tolerances.ask import tolerance
from attribound.tolerances.sheet import Sheet

__all__ = ["Break", "Sheet", "Tolerance", "tolerance"]
