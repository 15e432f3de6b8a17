"""Random streams: one per purpose, seed, item and part; two that are the same are as rare as the documents say."""

import itertools

import pytest
import torch

from attribound.hashes import input_bytes
from attribound.randomness import Purpose, seed_from, stream

LARGE = [0, 1, 2**31, 2**32 - 1, 2**32, 2**33, 2**63, 2**64 - 1, 2**64, 2**64 + 1, 2**65, 2**96, 2**128 + 5]


def first(*key) -> int:
    """The first number of a stream, in 63 bits."""
    return int(torch.randint(2**63 - 1, (), generator=stream(*key)))


def test_a_stream_is_the_same_wherever_it_is_made() -> None:
    for key in ((Purpose.CERTIFICATE, 0), (Purpose.ATTACK, 5, 7, 3), (Purpose.SCORE, 2**70, 2**66, 1)):
        assert first(*key) == first(*key)


def test_streams_of_certificates_are_those_of_version_0_1() -> None:
    """Stored certificates are sampled again with the draws they were made with: these numbers must never change."""
    keys = ((0,), (0, 0, 1), (7, 3, 2), (2**33, 9))
    seeds = [stream(Purpose.CERTIFICATE, *key).initial_seed() for key in keys]
    assert seeds == [3876344792, 3876344793, 3292464875, 2853396925]


def test_purposes_have_streams_of_their_own() -> None:
    """What was chosen by looking at one purpose's draws is not certified with the same ones."""
    keys = list(itertools.product(Purpose, (0, 1, 2**32, 2**64), (0, 1, 2**33), range(4)))
    assert len({first(*key) for key in keys}) == len(keys)


def test_seeds_and_items_are_taken_whole() -> None:
    """2**64 was 0 in version 0.1."""
    by_seed = {first(Purpose.CERTIFICATE, seed) for seed in LARGE}
    by_item = {first(Purpose.CERTIFICATE, 1, item) for item in LARGE}
    assert len(by_seed) == len(by_item) == len(LARGE)


def test_seed_and_item_are_not_confused() -> None:
    """However large both are: (a, b) and (b, a) are different streams, and so are all other pairs."""
    pairs = list(itertools.product(LARGE, LARGE))
    assert len({first(Purpose.CERTIFICATE, seed, item) for seed, item in pairs}) == len(pairs)


def test_parts_of_one_item_never_share_a_stream() -> None:
    """32 bits of seed would collide for some of 100,000 hashed chunks; added chunks cannot."""
    seeds = {stream(Purpose.CERTIFICATE, 3, 5, part).initial_seed() for part in range(100_000)}
    assert len(seeds) == 100_000


def test_two_items_may_share_a_part_by_chance_as_documented() -> None:
    """Streams have 32 bits: of 60,000 items with 16 parts some pairs share one (docs/theory/gate.md names this one)."""
    assert first(Purpose.CERTIFICATE, 0, 53221, 6) == first(Purpose.CERTIFICATE, 0, 21413)


def test_the_seed_of_an_input_follows_from_its_values() -> None:
    x = torch.rand(2, 3, generator=torch.Generator().manual_seed(0))
    near = x.clone()
    near[0, 0] = torch.nextafter(near[0, 0], torch.tensor(2.0))
    assert seed_from(input_bytes(x)) == seed_from(input_bytes(x.clone()))
    assert seed_from(input_bytes(x)) != seed_from(input_bytes(near))
    assert 0 <= seed_from(b"") < 2**48, "a number that JSON readers everywhere keep exactly"


@pytest.mark.parametrize("purpose", Purpose)
def test_the_global_generators_are_not_touched(purpose) -> None:
    before = torch.random.get_rng_state()
    first(purpose, 5)
    assert torch.equal(before, torch.random.get_rng_state())
