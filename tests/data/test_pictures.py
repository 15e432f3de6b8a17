"""Pictures as a person sees them, or a clear refusal: never silently constant, never a trap."""

import os
import struct
import zlib

import numpy as np
import pytest
import torch
from PIL import Image

from attribound.data import Folder
from attribound.data.pictures import read_picture
from attribound.errors import ArgumentError, StoredDataError

RAMP = np.linspace(0, 1, 28 * 28).reshape(28, 28)


def pixels(path, channels: int = 3) -> torch.Tensor:
    return read_picture(path, 28, channels)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("a.png", (RAMP * 65535).astype(np.uint16)),
        ("a.tif", (RAMP * 65535).astype(np.uint16)),
        ("a.tif", RAMP.astype(np.float32)),
        ("a.png", (RAMP * 255).round().astype(np.uint8)),
    ],
    ids=["16-bit png", "16-bit tiff", "float tiff", "8-bit png"],
)
def test_grey_pictures_keep_their_levels(name, array, tmp_path) -> None:
    Image.fromarray(array).save(tmp_path / name)
    image = pixels(tmp_path / name)
    assert image.shape == (3, 28, 28)
    assert torch.equal(image[0], image[2])
    middle = image[0, 10:18].mean(dim=1)
    assert float(image.min()) < 0.07
    assert float(image.max()) > 0.93
    assert bool((middle.diff() > 0.02).all())
    assert pixels(tmp_path / name, channels=1).shape == (1, 28, 28)


def test_16_bit_pgm(tmp_path) -> None:
    content = (RAMP * 65535).astype(">u2").tobytes()
    (tmp_path / "a.pgm").write_bytes(b"P5 28 28 65535\n" + content)
    assert 0.93 < float(pixels(tmp_path / "a.pgm").max()) <= 1.0


@pytest.mark.parametrize(
    ("array", "message"),
    [
        ((RAMP * 2e6).astype(np.int32), "32-bit numbers whose range is not stated: store 8 or 16 bits"),
        ((RAMP * 255).astype(np.float32), r"fractions outside \[0, 1\]: scale them first"),
        (np.where(RAMP > 0.5, np.nan, RAMP).astype(np.float32), r"fractions outside \[0, 1\]"),
    ],
)
def test_numbers_without_a_range_are_refused(array, message, tmp_path) -> None:
    Image.fromarray(array).save(tmp_path / "a.tif")
    with pytest.raises(StoredDataError, match=message):
        pixels(tmp_path / "a.tif")


@pytest.mark.parametrize(
    ("name", "options"), [("a.png", {"transparency": 0}), ("a.tif", {"tiffinfo": {262: 0}})], ids=["hole", "negative"]
)
def test_16_bits_that_are_not_plain_grey_are_refused(name, options, tmp_path) -> None:
    """Pillow gives the levels as stored: a negative was certified in place of what a person sees."""
    Image.fromarray((RAMP * 65535).astype(np.uint16)).save(tmp_path / name, **options)
    with pytest.raises(StoredDataError, match="transparent or a negative"):
        pixels(tmp_path / name)


def test_a_photo_taken_sideways_is_turned(tmp_path) -> None:
    picture = Image.new("RGB", (28, 28), "black")
    picture.paste("white", (0, 0, 28, 14))
    note = Image.Exif()
    note[0x0112] = 6  # the top of the scene is the left edge of what was stored: turn by 90 degrees clockwise
    picture.save(tmp_path / "a.jpg", exif=note, quality=95)
    image = pixels(tmp_path / "a.jpg")[0]
    assert float(image[:, 20:].min()) > 0.9
    assert float(image[:, :8].max()) < 0.1


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_transparent_becomes_white(mode, tmp_path) -> None:
    picture = Image.new("RGBA", (28, 28), (0, 0, 0, 0))
    picture.paste((0, 0, 0, 255), (0, 0, 28, 14))
    picture.convert(mode).save(tmp_path / "a.png", **({"transparency": 0} if mode == "P" else {}))
    if mode == "P":
        palette = Image.fromarray(np.repeat(np.arange(2, dtype=np.uint8), 14 * 28).reshape(28, 28), "L").convert("P")
        palette.putpalette([0, 0, 0, 0, 0, 0])
        palette.transpose(Image.Transpose.FLIP_TOP_BOTTOM).save(tmp_path / "a.png", transparency=0)
    image = pixels(tmp_path / "a.png")
    assert float(image[:, :10].max()) < 0.05
    assert float(image[:, 18:].min()) > 0.95


def png(width: int, height: int) -> bytes:
    """A PNG whose header claims this size; black, packed well."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    rows = zlib.compress(bytes(height * (1 + (width + 7) // 8)), 9)
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("width", "height", "message"),
    [
        (1, 12000, "a.png, resized, would be 256 x 3072000 pixels, expected at most 100,000,000"),
        (20000, 20000, "a.png would be 20000 x 20000 pixels, .* set ATTRIBOUND_MAX_PIXELS=400000000"),
    ],
)
def test_small_files_cannot_ask_for_much_memory(width, height, message, tmp_path) -> None:
    (tmp_path / "a.png").write_bytes(png(width, height))
    with pytest.raises(StoredDataError, match=message):
        read_picture(tmp_path / "a.png", 224)


def test_the_decoders_own_limit_is_left_as_it_was(tmp_path) -> None:
    before = Image.MAX_IMAGE_PIXELS
    (tmp_path / "a.png").write_bytes(b"broken")
    with pytest.raises(StoredDataError, match="cannot read the picture"):
        pixels(tmp_path / "a.png")
    assert before == Image.MAX_IMAGE_PIXELS is not None


@pytest.fixture
def bad_folder(tmp_path):
    """Eleven pictures that cannot be read before one that can."""
    folder = tmp_path / "set" / "cat"
    folder.mkdir(parents=True)
    (folder / "0.png").symlink_to(tmp_path / "gone.png")
    os.mkfifo(folder / "1.png")
    (folder / os.fsdecode(b"2\xff\x1b.png")).write_bytes(b"no picture")
    for number in range(3, 9):
        (folder / f"{number}.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (folder / "80.png").write_bytes(png(1, 100_000))
    (folder / "81.png").touch()
    Image.new("RGB", (28, 28), "white").save(folder / "9.png")
    return tmp_path / "set"


def test_one_bad_picture_stops_nothing_else(bad_folder) -> None:
    data = Folder(bad_folder, 28)
    assert (len(data), data.shape) == (12, (3, 28, 28))
    assert data.sha256() == Folder(bad_folder, 28).sha256()
    messages = []
    for index in range(11):
        with pytest.raises(StoredDataError, match=r"cannot read|would be") as caught:
            data.input(index)
        messages.append(str(caught.value).encode("utf-8"))
        assert data.label(index) == 0
    assert b"not a regular file" in messages[1]
    assert b"2\\xff\\x1b.png" in messages[2]
    assert float(data.input(11).min()) == 1.0


def test_channels(bad_folder) -> None:
    assert Folder(bad_folder, 28, channels=1).input(11).shape == (1, 28, 28)
    with pytest.raises(ArgumentError, match="expected `channels` 1 or 3, got 4"):
        Folder(bad_folder, channels=4)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list every folder")
def test_a_folder_that_may_not_be_listed(tmp_path) -> None:
    (tmp_path / "a").mkdir(mode=0)
    with pytest.raises(StoredDataError, match="cannot list"):
        Folder(tmp_path)
