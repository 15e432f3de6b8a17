"""Which class a folder of pictures is: labels must be the numbers that the model uses."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from attribound.data.imagenet import imagenet_classes, imagenet_numbers
from attribound.errors import StoredDataError
from attribound.file_quota import read_bytes, shown

NAMES_FILE = "classes.json"
_NUMBERED = re.compile(r"(\d{1,6})(?:_(.+))?", re.ASCII | re.DOTALL)


class Numbered(NamedTuple):
    """What folders are.

    Attributes:
        labels: the class of each folder; None: unknown.
        names: of all classes, number by number.
        alphabetical: the numbers are a guess, the order of the names.
    """

    labels: list[int | None]
    names: tuple[str, ...]
    alphabetical: bool = False


def class_numbers(root: Path, folders: Sequence[str]) -> Numbered:
    """The class of each folder, and the names of all classes.

    In this order: folders called `967` or `967_espresso` are class 967; folders called by ImageNet's identifiers
    (`n07920052`) are ImageNet's classes; with a `classes.json` (a list of names, class by class) a folder is the class
    of its name. Folders beside those with a number or an identifier have no label; where no folder has one, folders are
    numbered in alphabetical order.
    """
    names = _stored_names(root)
    if any(_NUMBERED.fullmatch(folder) for folder in folders):
        return _by_number(folders, names, root)
    known = [imagenet_numbers().get(folder) for folder in folders]
    if set(known) - {None} and not (names and None in known):
        return Numbered(known, names or imagenet_classes())
    if names:
        return Numbered([_by_name(folder, names, root) for folder in folders], names)
    return Numbered(list(range(len(folders))), tuple(shown(folder) for folder in folders), alphabetical=True)


def _by_number(folders: Sequence[str], names: tuple[str, ...], root: Path) -> Numbered:
    labels: list[int | None] = []
    known: dict[int, str] = {}
    for folder in folders:
        if match := _NUMBERED.fullmatch(folder):
            labels.append(number := int(match[1]))
            known[number] = match[2] or known.get(number, str(number))
        else:
            labels.append(_by_name(folder, names, root) if names else None)
    count = max(len(names), 1 + max(known))
    every = (names[n] if n < len(names) else shown(known.get(n, str(n))).replace("_", " ") for n in range(count))
    return Numbered(labels, tuple(every))


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
