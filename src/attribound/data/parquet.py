"""Parquet files, read with pyarrow."""

from pathlib import Path
from typing import Any

import numpy as np

from attribound.data.arrays import Arrays
from attribound.data.cells import Cells
from attribound.data.options import Options
from attribound.data.table import Choose, Table, check_numbers, open_table
from attribound.errors import AttriboundError, StoredDataError
from attribound.file_quota import check_bytes, reason, shown, size_of


def open_parquet(typed: Options) -> Arrays:
    """`parquet:FILE?label=COLUMN&scale=FILE`."""
    return open_table(typed, read_parquet, "parquet")


def read_parquet(path: Path, choose: Choose, cells: Cells) -> Table:
    """The chosen columns of a Parquet file; a missing number is a problem of its row alone."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise AttriboundError("reading Parquet needs pyarrow: pip install 'attribound[parquet]'") from None
    size = size_of(path)
    try:
        with parquet.ParquetFile(path) as file:
            columns, rows = choose(path, [str(name) for name in file.schema_arrow.names]), file.metadata.num_rows
            check_bytes(shown(path), 8 * rows * (len(columns.inputs) + 1) + _stored_bytes(file.metadata), size)
            values, problems = np.full((rows, len(columns.inputs)), np.nan), dict[int, str]()
            for place, name in enumerate(columns.inputs):
                if _is_number(file.schema_arrow.field(name).type):
                    values[:, place] = _numbers(file.read(columns=[name]).column(0))
                elif cells.missing or name in cells.words:  # other text would be unfolded for nothing
                    values[:, place] = _coded(name, _words(path, name), cells, problems)
        labels = None if columns.label is None else _words(path, columns.label)
        ids = () if columns.id is None else _words(path, columns.id)
    except StoredDataError:
        raise
    except Exception as error:  # whatever a foreign file makes pyarrow raise
        raise StoredDataError(f"cannot read {shown(path)}: {reason(error)}") from None
    lacking = np.isinf(values).any(axis=1) if cells.missing else ~np.isfinite(values).all(axis=1)
    for row in np.flatnonzero(lacking).tolist():
        problems.setdefault(row, "it lacks a number")
    return check_numbers(Table(path, columns.inputs, values, labels, problems, ids), cells)


def _coded(name: str, words: tuple[str, ...], cells: Cells, problems: dict[int, str]) -> np.ndarray:
    """(N,) numbers of a column of categories; what is wrong with a row goes to the problems."""
    known = {word: cells.read(name, word) for word in set(words)}
    for row, word in enumerate(words):
        if isinstance(problem := known[word], str):
            problems.setdefault(row, problem)
    return np.array([np.nan if isinstance(known[word], str) else known[word] for word in words], np.float64)


def _stored_bytes(metadata: Any) -> int:
    """Bytes of all pages once they are unpacked, as the file says."""
    return sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))


def _words(path: Path, name: str) -> tuple[str, ...]:
    """A column as text, each different word once: a word of a megabyte may stand in a million rows."""
    from pyarrow import parquet

    with parquet.ParquetFile(path, read_dictionary=[name]) as file:
        return _text(file.read(columns=[name]).column(0))


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    return any(is_kind(kind) for is_kind in kinds)


def _numbers(column: Any) -> np.ndarray:
    """(N,) numbers of a column, NaN where there are none."""
    import pyarrow as pa

    whole = column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column
    return np.asarray(whole.cast(pa.float64(), safe=False).to_numpy())


def _text(column: Any) -> tuple[str, ...]:
    """Labels as text, each different one once in memory."""
    encoded = column.combine_chunks()
    encoded = encoded if hasattr(encoded, "dictionary") else encoded.dictionary_encode()
    words = ["" if word is None else str(word) for word in encoded.dictionary.to_pylist()]
    return tuple("" if place is None else words[place] for place in encoded.indices.to_pylist())
