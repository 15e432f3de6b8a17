"""Token embeddings of 256 dimensions with their tokenizer (MIT), for text."""

from pathlib import Path

from attribound.data.fetch.archive import Archive
from attribound.data.fetch.package import Package, Python

_FILES = {
    "wordllama/weights/l2_supercat_256.safetensors": "embeddings.safetensors",
    "wordllama/tokenizers/l2_supercat_tokenizer_config.json": "tokenizer.json",
}


def convert(archive: Archive, folder: Path) -> None:
    """Both files as they are."""
    for stored, wanted in _FILES.items():
        (folder / wanted).write_bytes(archive.read(stored))


PACKAGE = Package(
    source=Python("wordllama", "0.4.0.post1", platform="manylinux2014_x86_64"),
    sha256="42c2c88907ace0b0681ac6f9092d6a300a6409a5d2d61071a3fb5e7159370c97",
    what="token embeddings of 256 dimensions and their tokenizer, 19 MB (MIT)",
    files=tuple(_FILES.values()),
    convert=convert,
    use="{folder}/embeddings.safetensors and {folder}/tokenizer.json, as the text example does",
)
