"""Embedded real data, so that the first commands need no download."""

from importlib import resources

import numpy as np
import torch
from torch import Tensor

from attribound.data.arrays import Arrays
from attribound.data.csv import open_csv
from attribound.data.folder import IMAGENET_SIZE, Folder
from attribound.data.imagenet import imagenet_classes
from attribound.data.options import Options


def mnist_sample() -> tuple[Tensor, Tensor]:
    """300 images (300, 1, 28, 28) in [0, 1] and their labels: the first 30 of each digit in MNIST's test set."""
    with (
        resources.as_file(resources.files("attribound.data") / "mnist-sample.npz") as path,
        np.load(path) as stored,
    ):
        images, labels = stored["images"], stored["labels"]
    return torch.from_numpy(images).float().div_(255)[:, None], torch.from_numpy(labels).long()


def photos(size: int = IMAGENET_SIZE) -> Folder:
    """Four free photographs: a tabby and an espresso with ImageNet's labels, an astronaut and a rocket without."""
    with resources.as_file(resources.files("attribound.data") / "photos") as path:
        folder = Folder(path, size)
    folder.name, folder.classes = "photos", imagenet_classes()
    return folder


def credit_sample() -> Arrays:
    """50 applicants of German credit: (50, 18) numbers with a codebook, and whether each was a good or a bad risk."""
    with resources.as_file(resources.files("attribound.data") / "credit") as folder:
        asked = {"label": "risk", "codebook": str(folder / "codebook.toml")}
        table = open_csv(Options(str(folder / "applicants.csv"), "test", asked))
    table.name = "credit-sample"
    return table


def open_sample(typed: Options) -> Arrays:
    """`mnist-sample`."""
    return Arrays(*mnist_sample(), name=typed.where)


def open_photos(typed: Options) -> Folder:
    """`photos` or `photos?size=N`."""
    return photos(typed.count("size", IMAGENET_SIZE))
