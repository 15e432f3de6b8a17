"""What people type after `--data`: a new reader is one file and one line here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from attribound.data.base import Dataset
from attribound.data.cells import Cells
from attribound.data.cifar import read_cifar10
from attribound.data.csv import open_csv
from attribound.data.folder import open_folder
from attribound.data.idx import read_mnist
from attribound.data.npz import open_npz
from attribound.data.options import Options
from attribound.data.parquet import open_parquet
from attribound.data.sample import credit_sample, open_photos, open_sample
from attribound.data.table import TABLE_OPTIONS
from attribound.errors import ArgumentError
from attribound.plugins import Registry
from attribound.suggest import closest_data, did_you_mean, is_picture


@final
@dataclass(frozen=True)
class Reader:
    """One format.

    Attributes:
        form: what to type.
        open: from what was typed to the data set.
        options: names that may follow a question mark.
        splits: whether the format separates training from test data.
    """

    form: str
    open: Callable[[Options], Dataset]
    options: tuple[str, ...] = ()
    splits: bool = False

    @property
    def embedded(self) -> bool:
        """Whether the data comes with the package and needs no place."""
        return ":" not in self.form


_OWN_CODE = "transform"
"""The option that names code of the user's."""

READERS: Registry[Reader] = Registry(
    "data",
    {
        "mnist-sample": Reader("mnist-sample", open_sample),
        "credit-sample": Reader("credit-sample", lambda typed: credit_sample()),
        "photos": Reader("photos[?size=N]", open_photos, ("size",)),
        "mnist": Reader("mnist:DIR", lambda typed: read_mnist(typed.where, typed.split), splits=True),
        "cifar10": Reader("cifar10:DIR", lambda typed: read_cifar10(typed.where, typed.split), splits=True),
        "folder": Reader("folder:DIR[?size=N&crop=none]", open_folder, ("size", "channels", "crop", _OWN_CODE)),
        "npz": Reader("npz:FILE[?range=any]", open_npz, ("range",)),
        "csv": Reader("csv:FILE[?label=COLUMN&scale=FILE&codebook=FILE]", open_csv, TABLE_OPTIONS),
        "parquet": Reader("parquet:FILE[?label=COLUMN&scale=FILE&codebook=FILE]", open_parquet, TABLE_OPTIONS),
    },
)
"""Every format; a new one adds a file and a line here, or `register_reader` from outside (docs/extend/reader.md)."""
SPECS = ", ".join([*(reader.form for reader in READERS.values()), "PICTURE.jpg"])


def register_reader(name: str, reader: Reader) -> Reader:
    """Make a format of another package known: people type NAME:PLACE after `--data`."""
    return READERS.register(name, reader)


def open_data(spec: str, split: str = "test", cells: Cells | None = None) -> Dataset:
    """The data set of a spec.

    Args:
        spec: what was typed.
        split: "train" or "test", where the format has both.
        cells: how cells of tables are read; None: as numbers.
    """
    reader, where = _reader(spec)
    return reader.open(Options.parse(where, split, reader.options, cells))


def runs_code(spec: str) -> bool:
    """Whether opening a spec imports code that it names, so that no file may choose it."""
    reader, where = _reader(spec)
    return Options.parse(where, "test", reader.options).text(_OWN_CODE) is not None


def has_splits(spec: str) -> bool:
    """Whether the format separates training from test data."""
    return _reader(spec)[0].splits


def _reader(spec: str) -> tuple[Reader, str]:
    """The reader of a spec and what it is given: the place with its options."""
    if is_picture(spec):
        return READERS["folder"], spec
    kind, colon, where = spec.partition(":")
    name = kind if colon else spec.partition("?")[0]
    reader = READERS.get(name)
    if reader is None or reader.embedded == bool(colon) or bool(colon) != bool(where):
        meant = did_you_mean(closest_data(spec, READERS))
        raise ArgumentError(f"expected --data {SPECS}, got {spec!r}{meant if name not in READERS else ''}")
    return reader, where if colon else spec
