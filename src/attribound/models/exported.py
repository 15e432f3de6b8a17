"""Programs in files, which are code: loaded only on trust."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import final

import torch
from torch import Tensor, nn

from attribound.errors import ArgumentError, StoredDataError
from attribound.file_quota import reason, shown, size_of


def load_script(path: Path, architecture: str | None, trust: bool) -> nn.Module:
    """A TorchScript program: it can overwrite files, so it is refused unless the user trusts it."""
    if architecture is not None:
        raise ArgumentError(
            f"{shown(path)} is a TorchScript program, not weights of {architecture}: save its state_dict(), or leave "
            f"--arch out"
        )
    if not trust:
        raise ArgumentError(
            f"{shown(path)} is a TorchScript program, which can do anything you can: add --trust-model if you trust it"
        )
    try:
        model: nn.Module = torch.jit.load(path, map_location="cpu")
    except RuntimeError as error:
        raise StoredDataError(f"{shown(path)} is not a TorchScript file: {reason(error)}") from None
    return model


def load_exported(path: Path, trust: bool) -> nn.Module:
    """An exported program; its graph has the mode it was exported in, and torch refuses eval() for it."""
    size_of(path)
    if not trust:
        raise ArgumentError(
            f"torch unpickles parts of the exported program {shown(path)}: add --trust-model if you trust it"
        )
    try:
        with _quiet():
            program = torch.export.load(path)
            model = program.module()
    except Exception as error:  # whatever a foreign file makes torch raise
        raise StoredDataError(f"{shown(path)} is not an exported program: {reason(error)}") from None
    for module in model.modules():
        module.training = False
    rows = _fixed_rows(program)
    return model if rows is None else Chunked(model, rows)


@contextmanager
def _quiet() -> Iterator[None]:
    """Torch logs pages about a file that it cannot read; the error says the same in one line."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)


@final
class Chunked(nn.Module):
    """A program that was exported for batches of one size, run on as many such batches as are needed.

    Exported with `dynamic_shapes=({0: torch.export.Dim.AUTO},)` it would take any batch at once, and faster.
    """

    def __init__(self, program: nn.Module, rows: int) -> None:
        super().__init__()
        self.program, self.rows = program, rows
        self.training = False

    def forward(self, inputs: Tensor) -> Tensor:
        """(B, ...) to (B, ...); the last batch is filled up with zeros, which rows do not see."""
        missing = -len(inputs) % self.rows
        filled = torch.cat([inputs, inputs.new_zeros(missing, *inputs.shape[1:])]) if missing else inputs
        parts = [self.program(part) for part in filled.split(self.rows)]
        if not all(isinstance(part, Tensor) for part in parts):
            raise ArgumentError(
                f"expected an exported program that returns a tensor, or one of any batch size, got "
                f"{type(parts[0]).__name__}: export with dynamic_shapes=({{0: torch.export.Dim.AUTO}},)"
            )
        return torch.cat(parts)[: len(inputs)]


def _fixed_rows(program: torch.export.ExportedProgram) -> int | None:
    """The batch size that a program insists on, None if it takes any."""
    wanted = set(program.graph_signature.user_inputs)
    for node in program.graph.nodes:
        if node.op == "placeholder" and node.name in wanted and isinstance(node.meta.get("val"), Tensor):
            rows = node.meta["val"].shape[0] if node.meta["val"].ndim else None
            return rows if isinstance(rows, int) else None
    return None
