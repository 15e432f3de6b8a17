"""Token embeddings of 256 dimensions with their tokenizer (MIT), 19 MB, for text."""

from attribound.data.fetch.package import Package, Python, copied

_FILES = {
    "wordllama/weights/l2_supercat_256.safetensors": "embeddings.safetensors",
    "wordllama/tokenizers/l2_supercat_tokenizer_config.json": "tokenizer.json",
}

PACKAGE = Package(
    source=Python("wordllama", "0.4.0.post1", platform="manylinux2014_x86_64"),
    sha256="42c2c88907ace0b0681ac6f9092d6a300a6409a5d2d61071a3fb5e7159370c97",
    files=tuple(_FILES.values()),
    convert=copied(_FILES),
    use="{folder}/embeddings.safetensors and {folder}/tokenizer.json, as the text example does",
)
