"""Image folders, numpy archives, and what people type to open them."""

import numpy as np
import pytest
import torch
from PIL import Image

from attribound.data import Arrays, Folder, open_data, read_npz
from attribound.errors import ArgumentError, StoredDataError


@pytest.fixture
def pictures(tmp_path):
    for number, name in enumerate(("cat", "ant")):
        (tmp_path / name).mkdir()
        for k in range(2):
            colour = (10 * number, 20 * k, 200)
            Image.new("RGB", (60, 40), colour).save(tmp_path / name / f"{k}.png")
    (tmp_path / "ant" / "notes.txt").write_text("not a picture")
    return tmp_path


def test_folder_reads_resizes_and_crops(pictures) -> None:
    data = Folder(pictures, size=28)
    assert (len(data), data.classes) == (4, ("ant", "cat"))
    assert [data.label(i) for i in range(4)] == [0, 0, 1, 1]
    image = data.input(3)
    assert image.shape == (3, 28, 28)
    assert image[:, 5, 5].tolist() == pytest.approx([0, 20 / 255, 200 / 255])
    images, labels = data.batch([0, 3])
    assert images.shape == (2, 3, 28, 28)
    assert labels.tolist() == [0, 1]


def test_the_crop_is_the_centre(tmp_path) -> None:
    (tmp_path / "a").mkdir()
    picture = np.zeros((32, 64, 3), np.uint8)
    picture[:, 24:40] = 255
    Image.fromarray(picture).save(tmp_path / "a" / "x.png")
    row = Folder(tmp_path, size=28).input(0)[0, 14]
    assert float(row[14]) == 1.0
    assert float(row[:4].max()) == 0.0
    assert torch.allclose(row, row.flip(0), atol=0.01)


def test_an_unreadable_picture_is_named_when_it_is_asked_for(pictures) -> None:
    (pictures / "cat" / "1.png").write_bytes(b"\x89PNG broken")
    data = Folder(pictures)
    data.input(0)
    with pytest.raises(StoredDataError, match=r"cannot read the picture .*cat/1\.png"):
        data.input(3)


def test_folder_fingerprint_changes_with_its_files(pictures) -> None:
    before = Folder(pictures).sha256()
    assert before == Folder(pictures).sha256() != Folder(pictures, 32).sha256()
    (pictures / "cat" / "0.png").rename(pictures / "cat" / "00.png")
    assert Folder(pictures).sha256() != before


def test_empty_folders(tmp_path) -> None:
    with pytest.raises(StoredDataError, match="has no pictures, expected pictures or one folder of them per class"):
        Folder(tmp_path)
    with pytest.raises(StoredDataError, match="is not a folder"):
        Folder(tmp_path / "missing")


@pytest.mark.parametrize("names", [("images", "labels"), ("x", "y")])
def test_npz(names, tmp_path) -> None:
    images = np.arange(2 * 9, dtype=np.uint8).reshape(2, 3, 3)
    np.savez(tmp_path / "a.npz", **dict(zip(names, (images, [1, 0]), strict=True)))
    data = open_data(f"npz:{tmp_path / 'a.npz'}")
    assert data.input(1).shape == (1, 3, 3)
    assert float(data.input(1)[0, 0, 0]) == pytest.approx(9 / 255)
    assert data.label(0) == 1


def test_npz_of_features_may_leave_the_unit_interval(tmp_path) -> None:
    np.savez(tmp_path / "a.npz", x=np.array([[5.0, -3.0]]), y=[0])
    assert read_npz(tmp_path / "a.npz").input(0).tolist() == [5.0, -3.0]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"images": np.zeros((2, 3)), "labels": [0]}, r"expected inputs|inputs have shape \(2, 3\)"),
        ({"labels": [0]}, "has no array `images` .*; it has labels"),
        ({"images": np.zeros(2), "labels": [0, 1]}, r"inputs have shape \(2,\), expected \(N, \.\.\.\)"),
        ({"images": np.full((1, 2, 2), 7.0), "labels": [0]}, r"expected pixels in \[0, 1\]"),
        ({"images": np.zeros((1, 2)), "labels": [0.5]}, "expected labels 0, 1, 2"),
        ({"images": np.zeros((1, 2)), "labels": [-1]}, "expected labels 0, 1, 2"),
        ({"images": np.array([["a", "b"]]), "labels": [0]}, "expected inputs that are bytes or floats"),
        ({"images": np.array([[None, 1]]), "labels": [0]}, "`images` holds Python objects, expected numbers"),
    ],
)
def test_broken_npz(arrays, message, tmp_path) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(StoredDataError, match=message):
        read_npz(tmp_path / "a.npz")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 truncated"])
def test_files_that_are_no_archives(content, tmp_path) -> None:
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(StoredDataError, match=r"cannot read .*a\.npz"):
        read_npz(tmp_path / "a.npz")


def test_a_bare_array_is_not_an_archive(tmp_path) -> None:
    np.save(tmp_path / "a.npy", np.zeros(3))
    with pytest.raises(StoredDataError, match=r"cannot read .*a\.npy: File is not a zip file"):
        read_npz(tmp_path / "a.npy")


@pytest.mark.parametrize("spec", ["imagenet", "mnist:", "ftp:here", ""])
def test_unknown_specs(spec) -> None:
    with pytest.raises(ArgumentError, match=r"expected --data mnist-sample, .*photos.*, mnist:DIR.*got"):
        open_data(spec)


def test_folder_size_in_the_spec(pictures) -> None:
    assert open_data(f"folder:{pictures}?size=16").input(0).shape == (3, 16, 16)
    with pytest.raises(ArgumentError, match=r"expected \?size= a whole number >= 1, got 'big'"):
        open_data(f"folder:{pictures}?size=big")


def test_order_is_stored_or_shuffled_by_seed() -> None:
    data = open_data("mnist-sample")
    assert data.order(count=3) == [0, 1, 2]
    assert data.order(seed=1) == data.order(seed=1) != data.order(seed=2)
    assert sorted(data.order(seed=1)) == list(range(300))


def test_sample(sample) -> None:
    images, labels = sample
    assert images.shape == (300, 1, 28, 28)
    assert torch.bincount(labels).tolist() == [30] * 10
    assert float(images.min()) == 0.0
    assert float(images.max()) == 1.0


def test_arrays_must_match_and_fingerprints_differ() -> None:
    with pytest.raises(ArgumentError, match="has 2 inputs but 3 labels"):
        Arrays(torch.zeros(2, 4), torch.zeros(3))
    one, two = (Arrays(torch.full((2, 4), value), torch.zeros(2)) for value in (0.0, 0.5))
    assert one.sha256() != two.sha256()


def test_sequences_of_any_range_without_labels(tmp_path) -> None:
    sequences = np.random.default_rng(0).normal(size=(3, 5, 4)).astype(np.float16)
    np.savez_compressed(tmp_path / "a.npz", x=sequences)
    with pytest.raises(StoredDataError, match=r"expected pixels in \[0, 1\] .* type npz:.*\?range=any"):
        open_data(f"npz:{tmp_path / 'a.npz'}")
    data = open_data(f"npz:{tmp_path / 'a.npz'}?range=any")
    assert (data.shape, data.label(0), data.classes) == ((5, 4), None, ())
    assert data.input(2).dtype == torch.float32
    assert np.array_equal(data.input(2).numpy(), sequences[2].astype(np.float32))
    with pytest.raises(StoredDataError, match="has no labels"):
        data.batch([0])
    with pytest.raises(ArgumentError, match=r"expected \?range= unit or any, got 'all'"):
        open_data(f"npz:{tmp_path / 'a.npz'}?range=all")


def test_archives_cannot_ask_for_much_memory(tmp_path, monkeypatch) -> None:
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros((100, 1000)), y=np.zeros(100, int))
    monkeypatch.setenv("ATTRIBOUND_MAX_BYTES", "700000")
    with pytest.raises(StoredDataError, match=r"`x` would take 800,000 bytes of memory, expected at most 700,000"):
        read_npz(tmp_path / "a.npz")


def test_a_header_that_lies(tmp_path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }"
        for name, shape in (("x", b"9, 9"), ("y", b"9,")):
            text = (header % shape).ljust(117) + b"\n"
            archive.writestr(f"{name}.npy", b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)
    with pytest.raises(StoredDataError, match="the header of `x` promises 324 bytes, it has 0"):
        read_npz(tmp_path / "a.npz")
