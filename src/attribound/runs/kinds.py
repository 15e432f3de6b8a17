"""What can be asked of each kind of run. Reading needs no torch; what does is imported when it is asked for."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import msgspec

from attribound.certificates.record import Failure
from attribound.errors import StoredDataError
from attribound.runs.columns_compare import ColumnsComparison, compare_columns
from attribound.runs.columns_export import column_rows
from attribound.runs.columns_proved import prove_columns
from attribound.runs.columns_summary import ColumnsSummary, summarise_columns
from attribound.runs.compare import Comparison, compare
from attribound.runs.export import public_records
from attribound.runs.store import Store
from attribound.runs.summary import Summary, summarise
from attribound.runs.tolerance_compare import ReachComparison, compare_tolerances
from attribound.runs.tolerance_proved import prove_tolerances
from attribound.runs.tolerance_summary import ToleranceSummary, summarise_tolerances

if TYPE_CHECKING:
    from attribound.certification.reopen import Opener
    from attribound.runs.check import RunCheck

Progress = Callable[[int, int], None]


class Kind(ABC):
    """One kind of run."""

    @abstractmethod
    def summarise(self, store: Store) -> Summary | ToleranceSummary | ColumnsSummary:
        """The run in numbers."""

    @abstractmethod
    def rows(self, store: Store) -> Iterator[dict[str, Any]]:
        """Records for other people's formats; only what is proved."""

    @abstractmethod
    def check(self, path: Path, resample: int, opener: "Opener", progress: Progress) -> "RunCheck":
        """Derive every number anew, and make some records again."""

    @abstractmethod
    def compare(self, first: Path, second: Path, cosine: float) -> Comparison | ReachComparison | ColumnsComparison:
        """Two runs over the same inputs."""


@final
class _Certificates(Kind):
    def summarise(self, store: Store) -> Summary:
        return summarise(store)

    def rows(self, store: Store) -> Iterator[dict[str, Any]]:
        return public_records(store)

    def check(self, path: Path, resample: int, opener: "Opener", progress: Progress) -> "RunCheck":
        from attribound.runs.check import check_run

        return check_run(path, resample=resample, opener=opener, progress=progress)

    def compare(self, first: Path, second: Path, cosine: float) -> Comparison:
        return compare(first, second, cosine)


@final
class _Tolerances(Kind):
    def summarise(self, store: Store) -> ToleranceSummary:
        return summarise_tolerances(store)

    def rows(self, store: Store) -> Iterator[dict[str, Any]]:
        for one in prove_tolerances(store.tolerances(), store.config):
            record, doubts = (one, ()) if isinstance(one, Failure) else (one.record, one.doubts)
            shown = {k: v for k, v in msgspec.to_builtins(record).items() if k not in ("facts", "format", "seal")}
            yield shown | {"doubts": "; ".join(doubts) or None}

    def check(self, path: Path, resample: int, opener: "Opener", progress: Progress) -> "RunCheck":
        from attribound.runs.check import check_run
        from attribound.runs.tolerance_check import CheckedTolerances

        return check_run(path, CheckedTolerances, resample=resample, opener=opener, progress=progress)

    def compare(self, first: Path, second: Path, cosine: float) -> ReachComparison:
        return compare_tolerances(first, second)


@final
class _Columns(Kind):
    def summarise(self, store: Store) -> ColumnsSummary:
        return summarise_columns(store)

    def rows(self, store: Store) -> Iterator[dict[str, Any]]:
        for one in prove_columns(store.columns(), store.config):
            yield column_rows(one)

    def check(self, path: Path, resample: int, opener: "Opener", progress: Progress) -> "RunCheck":
        from attribound.runs.check import check_run
        from attribound.runs.columns_check import CheckedColumns

        return check_run(path, CheckedColumns, resample=resample, opener=opener, progress=progress)

    def compare(self, first: Path, second: Path, cosine: float) -> ColumnsComparison:
        return compare_columns(first, second)


_KINDS: dict[str, Kind] = {"certify": _Certificates(), "tolerance": _Tolerances(), "columns": _Columns()}


def kind_of(*paths: Path) -> Kind:
    """The kind of a run, or of several that must be of one kind."""
    kinds = {}
    for path in paths:
        with Store.read_any(path) as store:
            kinds[store.config.kind] = path
    if len(kinds) > 1:
        raise StoredDataError(f"expected runs of one kind, got {' and '.join(f'{p} ({k})' for k, p in kinds.items())}")
    return _KINDS[next(iter(kinds))]
