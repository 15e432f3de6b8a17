"""What people have in their hands: a model instead of a field, a picture instead of a tensor."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from attribound.certification.arguments import first_channels
from attribound.codebook import Codebook, cells_by_name
from attribound.data.given import given_input
from attribound.data.pictures import open_picture
from attribound.errors import ArgumentError, FieldError
from attribound.fields.base import Field
from attribound.fields.specs import make_field
from attribound.forests import TreeShap
from attribound.models.stated import stated_columns, stated_words

Transform = Callable[[Any], Any]
"""The user's own way from a picture to a tensor."""


def given(field: Any, x: Any, method: str | None, transform: Transform | None) -> tuple[Field, Any]:
    """The field and the input that were meant.

    Args:
        field: a field or, with `method`, a model.
        x: one input: a tensor or array; a picture file or an opened picture; a row of a table by the names of its
            columns (a dictionary, a pandas row).
        method: as after `--attribution`, e.g. "gradcam"; each map is scaled to length 1 (`Unit`).
        transform: makes the tensor of a picture, in place of our own reading.
    """
    chosen = given_field(field, method)
    if transform is not None:
        return chosen, transform(open_picture(Path(x)) if isinstance(x, str | Path) else x)
    if cells_by_name(x) is not None:
        book = Codebook().with_words(stated_words(chosen.model))
        row = torch.from_numpy(book.row(x, stated_columns(chosen.model)))
        return chosen, row if chosen.takes_missing else row.float()
    return chosen, given_input(x, chosen.model, first_channels(chosen.model))


def given_field(field: Any, method: str | None = None) -> Field:
    """A field as it is, or that of a model and the name of a method."""
    if isinstance(field, Field):
        if method is not None:
            raise ArgumentError(f"expected a model with method={method!r}, got the field {type(field).__name__}")
        return field
    if isinstance(field, TreeShap):
        raise FieldError("expected a field with a limit, e.g. Unit(TreeShap(...)), got TreeShap")
    if not callable(field):
        raise ArgumentError(f"expected a field such as Unit(Saliency(model)), got {type(field).__name__}")
    if method is None:
        kind = type(field).__name__
        raise ArgumentError(f"expected a field such as Unit(Saliency(model)), or method='saliency' with {kind}")
    return make_field(field, method)
