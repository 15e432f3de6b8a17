"""Rows are watched while they are sampled: calls are kept, and made again later beside other rows.

This sees what no probe before the sampling can: batches of the real size, and a model that changes on the way.
"""

from typing import final

import torch

from attribound.fields.exchange import Call, refuse
from attribound.fields.families import SIDES, Side
from attribound.randomness import Purpose, stream

_SHARE = 0.01
"""The part of all calls that is made again, beside one at the end."""


@final
class Witness:
    """Holds one call of the sampling at a time, from the first on.

    At random calls, and at the end, the one it holds is made again with half of its rows exchanged; the other half must
    not change. Then it holds the current one. So every call lies between a call that is held and its repetition, and a
    model that changes for good does so before the eyes of one of them.
    """

    def __init__(self, seed: int, item: int = 0) -> None:
        """Watch a sampling; the calls and rows are chosen by a stream of their own."""
        self._held: Call | None = None
        self._generator = stream(Purpose.WITNESS, seed, item)

    def see(self, call: Call) -> None:
        """Take note of a call of the sampling."""
        if self._held is not None:
            if float(torch.rand((), generator=self._generator)) >= _SHARE:
                return
            self.check(SIDES[int(torch.randint(len(SIDES), (), generator=self._generator))])
        # A copy: the batch is a part of a chunk, which need not stay in memory.
        self._held = Call(call.family, call.shifts.clone(), call.state, call.answer)

    def check(self, side: Side = "reversed") -> None:
        """Raise if a row of the call that is held changes with the rows around it, or from then to now."""
        if self._held is not None:
            rows = len(self._held.shifts)
            kept = torch.randperm(rows, generator=self._generator)[: (rows + 1) // 2].to(self._held.shifts.device)
            refuse(self._held.family.field, self._held.exchange(kept, side))
