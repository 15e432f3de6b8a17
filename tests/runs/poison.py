"""A model that, if the environment says so, is slow, or kills its process at the image of the sample numbered 1."""

import os
import signal
import time

import torch

from attribound.data import mnist_sample
from attribound.models import load_shipped


class Poisoned(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = load_shipped("mnist-cnn-noise")
        self.poison = mnist_sample()[0][1]

    def forward(self, x):
        if os.environ.get("ATTRIBOUND_TEST_POISON") and x.shape[0] == 1 and torch.equal(x[0], self.poison):
            os.kill(os.getpid(), signal.SIGKILL)
        if os.environ.get("ATTRIBOUND_TEST_SLOW"):
            time.sleep(0.03)
        return self.inner(x)


def make() -> torch.nn.Module:
    return Poisoned()
