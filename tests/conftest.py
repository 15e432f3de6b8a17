"""Shared by all tests: one thread per worker, the shipped model and the embedded sample."""

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from attribound import memory

if TYPE_CHECKING:
    import torch

# The same examples every time: a test fails for everybody or for nobody.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")


def pytest_configure(config: pytest.Config) -> None:
    """One thread per worker and process. With `-n`, the process that only hands out tests does without torch.

    Memory is kept as by the command line and by workers of runs: a quarter of the time of a model's calls.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    memory.keep_freed()
    if not getattr(config.option, "numprocesses", None):
        import torch

        torch.set_num_threads(1)


@pytest.fixture(scope="session")
def sample() -> "tuple[torch.Tensor, torch.Tensor]":
    from attribound.data import mnist_sample

    return mnist_sample()


@pytest.fixture(scope="session")
def noise_model() -> "torch.nn.Module":
    from attribound.models import load_shipped

    return load_shipped("mnist-cnn-noise")


@pytest.fixture(scope="session")
def standard_model() -> "torch.nn.Module":
    from attribound.models import load_shipped

    return load_shipped("mnist-cnn")


@pytest.fixture
def generator() -> "torch.Generator":
    import torch

    return torch.Generator().manual_seed(20260101)


@pytest.fixture
def quick_audits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Audits that need not convict: 256 draws instead of 4,096 to aim by, and instead of the quick budget's 2,048."""
    from attribound.attacks import BUDGETS
    from attribound.attacks.base import make_problem

    monkeypatch.setitem(make_problem.__kwdefaults__, "samples", 256)
    monkeypatch.setitem(BUDGETS["quick"].options, "rescore_samples", 256)
