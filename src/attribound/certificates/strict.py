"""JSON without its freedoms: no key appears twice, and every number is finite."""

import json
import math
from collections import Counter
from typing import Any


def strict_json(text: str | bytes) -> Any:
    """The value in a text; a ValueError for keys that stand twice and for infinite numbers."""
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_finite, parse_float=_finite)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise ValueError(f"the key {counts.most_common(1)[0][0]!r} appears twice")
    return found


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"the number {text} is not finite")
    return number
