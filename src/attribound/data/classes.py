"""Which class a folder of pictures is: labels must be the numbers that the model uses."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from attribound.data.imagenet import imagenet_classes, imagenet_numbers
from attribound.errors import StoredDataError
from attribound.limits import read_bytes, shown

NAMES_FILE = "classes.json"
_NUMBERED = re.compile(r"(\d{1,6})(?:_(.+))?", re.ASCII | re.DOTALL)


def class_numbers(root: Path, folders: Sequence[str]) -> tuple[list[int], tuple[str, ...]]:
    """The class of each folder, and the names of all classes, number by number.

    In this order: folders called `967` or `967_espresso` are class 967; folders called by ImageNet's identifiers
    (`n07920052`) are ImageNet's classes; with a `classes.json` (a list of names, class by class) a folder is the class
    of its name; otherwise folders are numbered in alphabetical order.
    """
    names = _stored_names(root)
    if folders and all(_NUMBERED.fullmatch(folder) for folder in folders):
        return _by_number(folders, names)
    if folders and all(folder in imagenet_numbers() for folder in folders):
        return [imagenet_numbers()[folder] for folder in folders], names or imagenet_classes()
    if names:
        return [_by_name(folder, names, root) for folder in folders], names
    return list(range(len(folders))), tuple(shown(folder) for folder in folders)


def _by_number(folders: Sequence[str], names: tuple[str, ...]) -> tuple[list[int], tuple[str, ...]]:
    parts = [match.groups() for folder in folders if (match := _NUMBERED.fullmatch(folder))]
    labels = [int(number) for number, _ in parts]
    known = {label: name for label, (_, name) in zip(labels, parts, strict=True) if name}
    count = max(len(names), 1 + max(labels))
    every = (names[n] if n < len(names) else shown(known.get(n, str(n))).replace("_", " ") for n in range(count))
    return labels, tuple(every)


def _by_name(folder: str, names: tuple[str, ...], root: Path) -> int:
    places = [number for number, name in enumerate(names) if name.replace(" ", "_") == folder.replace(" ", "_")]
    if len(places) != 1:
        problem = f"twice in {NAMES_FILE} (number the folder, as 134_crane)" if places else f"not in {NAMES_FILE}"
        raise StoredDataError(f"the folder {shown(folder)} of {shown(root)} is {problem}")
    return places[0]


def _stored_names(root: Path) -> tuple[str, ...]:
    path = root / NAMES_FILE
    if not path.exists():
        return ()
    try:
        names = json.loads(read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise StoredDataError(f"cannot read {shown(path)}: {error}") from None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise StoredDataError(f"expected {shown(path)} to be a list of names, class by class")
    return tuple(names)
