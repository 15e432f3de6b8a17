"""A run as a data frame."""

from pathlib import Path
from typing import Any

from attribound.frames import to_frame
from attribound.runs.export import flat, slim
from attribound.runs.kinds import kind_of
from attribound.runs.store import Store


def read_run(run: str | Path, *, everything: bool = False) -> Any:
    """The records of a run as a `pandas.DataFrame`, one row each; only numbers that are proved.

    Args:
        run: folder of the run.
        everything: all that records hold, as `export --all`; else what people look at.
    """
    path = Path(run)
    with Store.read_any(path) as store:
        return to_frame(flat(row if everything else slim(row)) for row in kind_of(path).rows(store))
