"""Search again: the same row on the same forest must give what a record states."""

import math
from collections.abc import Iterator

import numpy as np

from attribound.errors import AttriboundError
from attribound.forests import TreeShap
from attribound.tolerances.columns.asker import ColumnsAsker
from attribound.tolerances.columns.record import ColumnsRecord, Kept, numbers_of

_ROUNDING = 1e-9


def search_again(record: ColumnsRecord, shap: TreeShap) -> list[str]:
    """What differs from what is found anew, by more than rounding.

    Args:
        record: what was stored.
        shap: of the forest that it is about.
    """
    try:
        asker = ColumnsAsker(shap, record.asked, target=record.target, subject=record.subject)
        row = numbers_of(record.row, record.names, record.asked.words)
        again = asker.ask(row, item=record.item, label=record.label)
    except (AttriboundError, ValueError) as error:
        return [f"cannot be searched again: {error}"]
    facts = ("names", "input_sha256", "side", "decides", "target")
    found = [f"states another {name} than is found again" for name in facts if _differ(record, again, name)]
    if found or len(record.parts) != len(again.parts):
        return found or ["makes other statements than are found again"]
    for name in ("contributions", "units", "score", "tie"):
        if not _near(getattr(record, name), getattr(again, name)):
            found.append(f"states {name} that are not those of the model")
    return found + [line for pair in zip(record.parts, again.parts, strict=True) for line in _differences(*pair)]


def _differ(record: ColumnsRecord, again: ColumnsRecord, name: str) -> bool:
    return bool(getattr(record, name) != getattr(again, name))


def _near(stated: object, known: object) -> bool:
    first, second = np.asarray(stated, float), np.asarray(known, float)
    return first.shape == second.shape and bool(np.allclose(first, second, rtol=_ROUNDING, atol=_ROUNDING))


def _differences(stated: Kept, again: Kept) -> Iterator[str]:
    """Where a statement is not what is found again; a search that ended early may end elsewhere, never contradict."""
    for name in ("words", "reason", "intervals", "alternatives", "absent"):
        if getattr(stated, name) != getattr(again, name):
            yield f"states {name} that are not those found again"
    if stated.exact and again.exact:
        if not math.isclose(stated.size, again.size, rel_tol=_ROUNDING):
            yield f"states an exact reach of {stated.size:g}, found again: {again.size:g}"
    elif again.exact and stated.size > again.size * (1 + _ROUNDING):
        yield f"states a reach of at least {stated.size:g}, found again: {again.size:g}"
    elif stated.exact:
        yield from _unfinished(stated, again)
    if stated.exact and again.exact and (stated.nearest is None) != (again.nearest is None):
        yield "states a nearest change where there is none, or none where there is one"


def _unfinished(stated: Kept, again: Kept) -> Iterator[str]:
    """An exact answer is stated, and the time was up before it was found again."""
    if stated.size < again.size * (1 - _ROUNDING):
        yield f"states an exact reach of {stated.size:g}, but nothing nearer than {again.size:g} breaks it"
    else:
        yield f"states an exact reach of {stated.size:g}, found again in its time: at least {again.size:g}"
