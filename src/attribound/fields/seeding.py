"""Foreign methods draw from the global generators: they are seeded from ours, and put back."""

import contextlib
from collections.abc import Iterator

import numpy as np
import torch


@contextlib.contextmanager
def seeded(generator: torch.Generator | None) -> Iterator[None]:
    """Seed the global generators from ours for the duration, then put them back as they were."""
    if generator is None:
        yield
        return
    seed = int(torch.randint(2**31 - 1, (), generator=generator, device=generator.device))
    kept = np.random.get_state()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        np.random.seed(seed)
        try:
            yield
        finally:
            np.random.set_state(kept)
