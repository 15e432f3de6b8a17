"""Every random stream of the project: what it is for, and how its seed follows from (purpose, seed, item, part).

Each purpose has its own streams, so what was chosen by looking at one kind of draws is certified with others. Draws
depend on nothing else: one worker, eight workers and a resumed run agree to the bit.

Streams have 32 bits, and the parts of an item follow each other, so two items may share parts by chance: of N items
with C parts each, about N^2 C / 2^32 pairs do (docs/theory/gate.md); so do items of two purposes, as rarely. No item
shares a part with itself: each certificate's own draws are as independent as ever.
"""

import functools
import hashlib
from enum import StrEnum

import numpy as np
import torch

_WORD = 2**32 - 1


class Purpose(StrEnum):
    """What a stream of random numbers is used for."""

    CERTIFICATE = "certificate"
    PROBE = "probe"
    WITNESS = "witness"
    ACCURACY = "accuracy"
    ATTACK = "attack"
    REFERENCE = "reference"
    SCORE = "score"
    TUNE = "tune"
    BASELINE = "baseline"
    FIGURE = "figure"
    SCAN = "scan"
    BREAK = "break"


def stream(
    purpose: Purpose, seed: int, item: int = 0, part: int = 0, device: torch.device | str = "cpu"
) -> torch.Generator:
    """The generator of one part of one item's draws, the same wherever and in whatever order the work is done.

    Seed and item are taken whole, however large. Torch's CPU generator takes 32 bits of a seed, so the part is added to
    them rather than hashed: parts of one item never share a stream.
    """
    return torch.Generator(device).manual_seed((_base(purpose, seed, item) + part) & _WORD)


@functools.lru_cache(maxsize=1024)
def _base(purpose: Purpose, seed: int, item: int) -> int:
    """The first part's seed; kept, because the other parts follow."""
    words = [seed & _WORD, seed >> 32 & _WORD, item & _WORD, item >> 32 & _WORD]
    more, further = _words(seed >> 64), _words(item >> 64)
    words += [len(more), len(further), *more, *further] if more or further else []
    return int(np.random.SeedSequence([*purpose.encode(), *words]).generate_state(1, np.uint32)[0])


def seed_from(content: bytes) -> int:
    """A seed that follows from an input: different inputs share noise only by rare chance, and each can be replayed."""
    return int.from_bytes(hashlib.sha256(content).digest()[:6], "little")


def _words(rest: int) -> list[int]:
    """A large number in pieces of 32 bits; nothing for zero."""
    return [rest >> shift & _WORD for shift in range(0, rest.bit_length(), 32)]
