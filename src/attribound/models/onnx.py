"""ONNX graphs as models: run by onnxruntime, which only this file knows; pinned by their bytes, without gradients."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, final

import numpy as np
import torch
from torch import Tensor, nn

from attribound.errors import ArgumentError, StoredDataError
from attribound.file_quota import read_bytes, reason, shown
from attribound.models.outputs import LOGITS

_FLOATS = {"tensor(float)": np.float32, "tensor(double)": np.float64}


def load_onnx(path: Path) -> "Onnx":
    """The graph of a file; nothing in it is executed but the standard operators."""
    try:
        import onnxruntime
    except ImportError:
        raise ArgumentError(f"{shown(path)} needs onnxruntime: pip install 'attribound[onnx]'") from None
    content = read_bytes(path)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # sums in one order, whatever the machine
    options.log_severity_level = 4
    try:
        # From memory: tensors in other files, which the hash would not see, are refused.
        session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # whatever a foreign file makes onnxruntime raise
        raise StoredDataError(f"{shown(path)} is not an ONNX graph that can be run: {reason(error)}") from None
    return Onnx(session, hashlib.sha256(content).hexdigest(), shown(path))


@final
class Onnx(nn.Module):
    """A graph with one input (B, ...) and scores (B, K) among its outputs.

    Attributes:
        pinned_sha256: hash of the file.
        note: a line that users should see, "" if there is none.
    """

    def __init__(self, session: Any, sha256: str, name: str) -> None:
        super().__init__()
        inputs = session.get_inputs()
        if len(inputs) != 1 or inputs[0].type not in _FLOATS:
            kinds = ", ".join(f"{one.name}: {one.type}" for one in inputs)
            raise StoredDataError(f"expected an ONNX graph with one input of floating-point numbers, got {kinds}")
        if len(inputs[0].shape) == 1:
            raise StoredDataError(
                "expected an ONNX graph that takes a batch of inputs (B, ...), got one of a single axis"
            )
        self._session, self._input, self._scores = session, inputs[0], _scores(session.get_outputs())
        rows = inputs[0].shape[0] if inputs[0].shape else None
        self._rows = rows if isinstance(rows, int) else None
        self.pinned_sha256, self.training = sha256, False
        how = "row by row" if self._rows == 1 else f"{self._rows} rows at a time"
        self.note = (
            f"note: {name} has a fixed batch of {self._rows}: it is run {how}, which is slow" if self._rows else ""
        )

    def forward(self, inputs: Tensor) -> Tensor:
        """(B, ...) to (B, K); the last fixed batch is filled up with its last row."""
        rows = inputs.detach().cpu().numpy().astype(_FLOATS[self._input.type])
        step = self._rows or len(rows)
        parts = [self._run(rows[at : at + step]) for at in range(0, len(rows), step)]
        return torch.from_numpy(np.concatenate(parts)).to(inputs.device)

    def _run(self, rows: Any) -> Any:
        missing = (self._rows or len(rows)) - len(rows)
        filled = np.concatenate([rows, np.repeat(rows[-1:], missing, axis=0)]) if missing else rows
        return self._session.run([self._scores], {self._input.name: filled})[0][: len(rows)]


def _scores(outputs: Sequence[Any]) -> str:
    """The name of the one output that is meant: the only tensor of floats, or that of several with a usual name."""
    found = [one.name for one in outputs if one.type in _FLOATS]
    named = [name for name in LOGITS if name in found]
    if not found:
        kinds = ", ".join(one.type for one in outputs)
        raise StoredDataError(f"expected an ONNX graph with scores (B, K), a tensor of floats, got {kinds}")
    if len(found) > 1 and not named:
        raise StoredDataError(
            f"expected an ONNX graph with one output of floats, got {', '.join(found)}: keep the one that holds the "
            "scores, or call it 'logits'"
        )
    return (named or found)[0]
