"""What can be asked of each kind of run; reading needs no torch."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from attribound.errors import StoredDataError
from attribound.runs.columns_compare import compare_columns
from attribound.runs.columns_export import column_rows
from attribound.runs.columns_summary import ColumnsSummary, summarise_columns
from attribound.runs.compare import compare
from attribound.runs.compared import ComparedRuns
from attribound.runs.export import public_records, tolerance_rows
from attribound.runs.store import Store
from attribound.runs.summary import Summary, summarise
from attribound.runs.tolerance_compare import compare_tolerances
from attribound.runs.tolerance_summary import ToleranceSummary, summarise_tolerances

if TYPE_CHECKING:
    from attribound.certification.reopen import Opener
    from attribound.runs.check import RunCheck


@final
@dataclass(frozen=True)
class Kind:
    """One kind of run.

    Attributes:
        summarise: the run in numbers.
        rows: records for other people's formats; only what is proved.
        compare: two runs over the same inputs, at a cosine where that matters.
        checking: the class that derives records anew, which needs torch.
    """

    summarise: Callable[[Store], Summary | ToleranceSummary | ColumnsSummary]
    rows: Callable[[Store], Iterator[dict[str, Any]]]
    compare: Callable[[Path, Path, float], ComparedRuns[Any]]
    checking: str

    def check(self, path: Path, resample: int, opener: "Opener", progress: Callable[[int, int], None]) -> "RunCheck":
        """Derive every number anew, and make some records again."""
        from attribound.runs.check import check_run

        module, _, name = self.checking.partition(":")
        checking = getattr(import_module(f"attribound.runs.{module}"), name)
        return check_run(path, checking, resample=resample, opener=opener, progress=progress)


_KINDS = {
    "certify": Kind(summarise, public_records, compare, "check:CheckedCertificates"),
    "tolerance": Kind(
        summarise_tolerances,
        tolerance_rows,
        lambda first, second, cosine: compare_tolerances(first, second),
        "tolerance_check:CheckedTolerances",
    ),
    "columns": Kind(
        summarise_columns,
        column_rows,
        lambda first, second, cosine: compare_columns(first, second),
        "columns_check:CheckedColumns",
    ),
}


def kind_of(*paths: Path) -> Kind:
    """The kind of a run, or of several that must be of one kind."""
    kinds = {}
    for path in paths:
        with Store.read_any(path) as store:
            kinds[store.config.kind] = path
    if len(kinds) > 1:
        raise StoredDataError(f"expected runs of one kind, got {' and '.join(f'{p} ({k})' for k, p in kinds.items())}")
    return _KINDS[next(iter(kinds))]
