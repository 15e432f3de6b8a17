"""Rows as a pandas frame, for those who have pandas: the one file that imports it."""

from collections.abc import Iterable
from typing import Any

from attribound.errors import AttriboundError


def to_frame(rows: Iterable[dict[str, Any]]) -> Any:
    """A `pandas.DataFrame` of rows; raises AttriboundError if pandas is not installed."""
    try:
        import pandas
    except ImportError:
        raise AttriboundError("a data frame needs pandas: pip install pandas") from None
    return pandas.DataFrame(list(rows))
