"""What a model file says about itself beside its trees."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from attribound.errors import StoredDataError
from attribound.forests.ensemble import FloatArray, Missing

Splits = tuple[list[int], list[int], list[int]]


@dataclass(frozen=True)
class Described:
    """A file's own words.

    Attributes:
        library: `xgboost` or `lightgbm`.
        names: of the columns.
        missing: what each column does with missing cells.
        categorical: which columns the file declares to hold categories.
        decides: as in `Ensemble`.
        ends: the number of trees after each boosting round.
        best_rounds: what early stopping would keep, if the file says so.
        words: by column, its categories in the order of their numbers, where the file names them.
        splits: by tree of LightGBM, each split's left child, right child and bits of decision.
        base: the base score of each output, or one for all, where treelite computes it otherwise than the library.
    """

    library: str
    names: tuple[str, ...]
    missing: tuple[Missing, ...]
    categorical: tuple[bool, ...]
    decides: str
    ends: tuple[int, ...]
    best_rounds: int | None
    splits: tuple[Splits, ...] = ()
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    base: FloatArray | None = None


def named(names: tuple[str, ...], columns: int) -> tuple[str, ...]:
    """The names, or numbers; one for every column."""
    if not names:
        return tuple(f"column {number}" for number in range(columns))
    if len(names) != columns or len(set(names)) != columns:
        raise StoredDataError(f"expected {columns} different column names, got {len(set(names))}")
    return names


def decides(objective: str) -> str:
    """What the scores of an objective mean."""
    if objective.startswith("multi"):
        return "classes"
    return "sides" if objective.startswith("binary") else "values"
