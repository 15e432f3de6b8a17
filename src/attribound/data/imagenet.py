"""The 1,000 classes of ImageNet: numbers as every model has them, WordNet identifiers, names."""

from functools import cache
from importlib import resources


@cache
def imagenet_classes() -> tuple[str, ...]:
    """Names, class by class: number 967 is "espresso"."""
    return tuple(name for _, name in _lines())


@cache
def imagenet_numbers() -> dict[str, int]:
    """From WordNet identifiers, the usual names of ImageNet's folders, to class numbers: n07920052 is 967."""
    return {identifier: number for number, (identifier, _) in enumerate(_lines())}


def folder_name(number: int) -> str:
    """The folder of a class, `967_espresso`: readable, and its number cannot be mistaken."""
    return f"{number:03d}_{imagenet_classes()[number].replace(' ', '_')}"


def _lines() -> list[tuple[str, str]]:
    text = (resources.files("attribound.data") / "imagenet-classes.txt").read_text(encoding="utf-8")
    return [(identifier, name) for identifier, _, name in (line.partition(" ") for line in text.splitlines())]
