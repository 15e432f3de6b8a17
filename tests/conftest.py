"""Shared by all tests: one thread per worker, the shipped model and the embedded sample."""

import pytest
import torch
from hypothesis import settings

from attribound.data import mnist_sample
from attribound.models import load_shipped

torch.set_num_threads(1)
# The same examples every time: a test fails for everybody or for nobody.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def sample() -> tuple[torch.Tensor, torch.Tensor]:
    return mnist_sample()


@pytest.fixture(scope="session")
def noise_model() -> torch.nn.Module:
    return load_shipped("mnist-cnn-noise")


@pytest.fixture(scope="session")
def standard_model() -> torch.nn.Module:
    return load_shipped("mnist-cnn")


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(20260101)
