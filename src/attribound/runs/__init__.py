"""A data set's worth of certificates: configuration, store, work, engines."""

from attribound.runs.config import RunConfig
from attribound.runs.runner import Progress, prepare, run
from attribound.runs.store import Store, is_run
from attribound.runs.summary import Summary, summarise

__all__ = ["Progress", "RunConfig", "Store", "Summary", "is_run", "prepare", "run", "summarise"]
