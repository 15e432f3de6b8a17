"""Attack what a run of column tolerances claims; the run keeps its findings."""

from collections.abc import Callable
from pathlib import Path

from attribound.certificates.record import Failure
from attribound.certification.reopen import Opener
from attribound.forests.libraries import library_of
from attribound.runs.columns_proved import prove_columns
from attribound.runs.job import cells_of
from attribound.runs.store import Store
from attribound.tolerances.columns.attack import ColumnsAttack
from attribound.tolerances.columns.finding import ColumnsFinding


def audit_columns(
    path: Path,
    opener: Opener,
    *,
    count: int = 2048,
    seed: int = 0,
    items: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    say: Callable[[str], None] = lambda line: None,
) -> list[ColumnsFinding]:
    """Attack every statement of a run.

    Args:
        path: the run.
        opener: opens its forest.
        count: points for each way to move.
        seed: of the points.
        items: attack at most this many rows.
        progress: called with (rows attacked, rows in all).
        say: called with a line about what is being done.
    """
    with Store.append(path) as store:
        config = store.config
        shap, _ = opener.table(config.subject, cells_of(config))
        forest = shap.forest
        library = library_of(opener.model_file(config.subject), library=forest.library, outputs=forest.outputs)
        if library is None:
            say(f"{forest.library} is not installed: nearest changes are not explained by it")
        attack = ColumnsAttack(shap, count, seed, library)
        proved = (one for one in prove_columns(store) if not isinstance(one, Failure))
        records = [one.record for one in proved if not one.doubts][:items]
        found: list[ColumnsFinding] = []
        for number, record in enumerate(records):
            progress(number, len(records))
            findings = attack(record)
            store.add_columns_finding(record.item, findings)
            found += findings
        progress(len(records), len(records))
    return found
