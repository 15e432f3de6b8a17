"""A data set's worth of certificates: configuration, store, work, engines.

Reading a run needs no torch: `prepare` and `run` are in `attribound.runs.runner`.
"""

from attribound.runs.config import RunConfig
from attribound.runs.store import Store, is_run
from attribound.runs.summary import Summary, summarise

__all__ = ["RunConfig", "Store", "Summary", "is_run", "summarise"]
