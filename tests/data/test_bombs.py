"""Small files that ask for much memory or time: refused before either is taken."""

import json
import pickle
import struct
import time
import zipfile

import numpy as np
import pyarrow as pa
import pytest
import torch
from pyarrow import parquet

from attribound.certificates.record import decode
from attribound.data import open_data, read_idx
from attribound.data.folder import Folder
from attribound.errors import StoredDataError
from attribound.models import SmallCNN, load_model


class Empty:
    def __reduce__(self):
        return bytearray, (2**31,)


@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, None])
def test_weights_that_ask_for_empty_memory(packing, tmp_path) -> None:
    """Torch's own safe unpickler calls `bytearray(2 ** 31)` if a pickle of fifty bytes says so."""
    content = pickle.dumps({"x": Empty()}, protocol=2)
    if packing is None:
        (tmp_path / "m.pt").write_bytes(content)
    else:
        torch.save(SmallCNN().state_dict(), tmp_path / "plain.pt")
        with zipfile.ZipFile(tmp_path / "plain.pt") as plain, zipfile.ZipFile(tmp_path / "m.pt", "w", packing) as bomb:
            for name in plain.namelist():
                bomb.writestr(name, content if name.endswith("data.pkl") else plain.read(name))
    with pytest.raises(StoredDataError, match="it asks for empty memory"):
        load_model(str(tmp_path / "m.pt"), "small-cnn")


def test_a_csv_of_many_columns_and_rows_of_one_letter(tmp_path, monkeypatch) -> None:
    (tmp_path / "a.csv").write_text(",".join(f"c{place}" for place in range(20_000)) + "\n" + "1\n" * 5_000)
    monkeypatch.setenv("ATTRIBOUND_MAX_BYTES", "50000000")
    with pytest.raises(StoredDataError, match=r"would take 50,080,000 bytes of memory, expected at most 50,000,000"):
        open_data(f"csv:{tmp_path / 'a.csv'}")


@pytest.mark.parametrize("twice", ["", ",c59999"])
def test_many_columns_are_looked_up_and_not_searched(twice, tmp_path) -> None:
    names = ",".join(f"c{place}" for place in range(60_000))
    (tmp_path / "a.csv").write_text(f"{names}{twice}\n" + ",".join("1" for _ in names.split(",")) + "\n")
    begun = time.process_time()
    if twice:
        with pytest.raises(StoredDataError, match="has two columns 'c59999'"):
            open_data(f"csv:{tmp_path / 'a.csv'}")
    else:
        assert open_data(f"csv:{tmp_path / 'a.csv'}").shape == (60_000,)
    assert time.process_time() - begun < 5, "searching 60,000 names 60,000 times takes a minute"


def test_text_in_a_parquet_file_is_not_unfolded(tmp_path) -> None:
    """A word of a megabyte in a thousand rows: 800 bytes stored, a gigabyte as plain text."""
    word = pa.DictionaryArray.from_arrays(np.zeros(1000, np.int32), pa.array(["z" * 1_000_000]))
    table = pa.table({"x": np.arange(1000.0), "y": word})
    parquet.write_table(table, tmp_path / "a.parquet", compression="zstd")
    assert (tmp_path / "a.parquet").stat().st_size < 20_000
    before = pa.default_memory_pool().max_memory()
    data = open_data(f"parquet:{tmp_path / 'a.parquet'}?label=y")
    assert (len(data), data.label(999), len(data.classes[0])) == (1000, 0, 1_000_000)
    with pytest.raises(StoredDataError, match=r"the column 'y' of .* holds no numbers"):
        open_data(f"parquet:{tmp_path / 'a.parquet'}")
    assert pa.default_memory_pool().max_memory() <= max(before, 2**28)


def test_inputs_larger_than_pictures_may_be(tmp_path) -> None:
    with pytest.raises(StoredDataError, match=r"each input would be 20000 x 20000 pixels"):
        Folder(tmp_path, 20_000)
    with pytest.raises(StoredDataError, match=r"each input would be 100000 x 100000 pixels"):
        open_data("photos?size=100000")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\x00\x00\x08\x03" + struct.pack(">III", 0, 2**32 - 1, 2**32 - 1), "is empty: its shape is"),
        (b"\x00\x00\x08\xff" + b"\x00\x00\x00\x01" * 255 + b"\x00", "has 255 axes, expected 1 to 8"),
    ],
)
def test_shapes_that_no_array_can_have(content, problem, tmp_path) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(StoredDataError, match=problem):
        read_idx(tmp_path / "a")


def test_a_key_that_stands_twice_among_many_is_found_at_once() -> None:
    text = json.dumps({f"k{place}": 0 for place in range(100_000)})[:-1] + ', "k99999": 1}'
    begun = time.process_time()
    with pytest.raises(StoredDataError, match="the key 'k99999' appears twice"):
        decode(text, "it")
    assert time.process_time() - begun < 5, "counting each key among all takes minutes"
