"""What was probably meant by a word that is not known. Nothing here needs torch, so typos are answered at once."""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

_ALIKE = 0.75
_ALIASES = {"integratedgradients": "ig", "gradient": "saliency", "gradients": "saliency"}
PICTURES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm"})
"""Suffixes of picture files."""
_SUFFIXES = {".npz": "npz", ".csv": "csv", ".tsv": "csv", ".parquet": "parquet"}


def closest(word: str, known: Iterable[str]) -> str:
    """The known word that was probably meant; "" if none is close."""
    names = list(known)
    plain = {_plain(name): name for name in names}
    meant = _ALIASES.get(_plain(word), "")
    if meant in names or (meant := plain.get(_plain(word), "")):
        return meant
    close = get_close_matches(_plain(word), plain, n=1, cutoff=_ALIKE)
    return plain[close[0]] if close else ""


def did_you_mean(word: str) -> str:
    """The end of a message that suggests a word, "" for none."""
    return f"; did you mean {word!r}?" if word else ""


def is_picture(spec: str) -> bool:
    """Whether what was typed after `--data` is the name of a picture file, perhaps with options."""
    return ":" not in spec.partition("?")[0] and Path(spec.partition("?")[0]).suffix.lower() in PICTURES


def closest_data(spec: str, kinds: Iterable[str]) -> str:
    """What to type after `--data` in place of a spec that names no known kind of data; "" if nothing is close."""
    path, kind, rest = Path(spec), *spec.partition(":")[::2]
    if path.is_dir():
        return f"folder:{spec}"
    if path.suffix in _SUFFIXES and not rest:
        return f"{_SUFFIXES[path.suffix]}:{spec}"
    name = closest(kind.partition("?")[0], kinds)
    return f"{name}:{rest}" if name and rest else name


def closest_noise(spec: str) -> str:
    """A noise with its kind, where only a number was typed."""
    try:
        return f"gaussian:{spec}" if float(spec) > 0 else ""
    except ValueError:
        return ""


def _plain(word: str) -> str:
    """The letters and digits of a word, small."""
    return "".join(letter for letter in word.lower() if letter.isalnum() or letter == "+")
