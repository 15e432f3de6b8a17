"""The embedded sample and readers of on-disk formats."""

from attribound.data.arrays import Arrays
from attribound.data.base import Dataset
from attribound.data.cifar import read_cifar10
from attribound.data.fitting import Fitted, cells_for, fitted, scale_for
from attribound.data.folder import Folder
from attribound.data.idx import read_idx, read_mnist
from attribound.data.npz import read_npz
from attribound.data.sample import mnist_sample, photos
from attribound.data.specs import Reader, has_splits, open_data, register_reader, runs_code
from attribound.data.unlabelled import Unlabelled, label_doubt, labels_beyond

__all__ = [
    "Arrays", "Dataset", "Fitted", "Folder", "Reader", "Unlabelled", "cells_for", "fitted", "has_splits", "label_doubt",
    "labels_beyond", "mnist_sample", "open_data", "photos", "read_cifar10", "read_idx", "read_mnist", "read_npz",
    "register_reader", "runs_code", "scale_for",
]  # fmt: skip
