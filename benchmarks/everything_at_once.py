"""What votes (784 cells, three fractions), the prediction and error bars add to a run on the small CNN (<= 5 % wanted).

Their seconds over all others of the same estimate (lower is better), with one thread, as a run's workers have.
"""

import torch

from attribound.certificates.statements import registry
from attribound.data import mnist_sample
from attribound.fields import Saliency, Unit
from attribound.models import load_shipped
from attribound.noise import Gaussian
from attribound.sampling import Around, AtPoint
from attribound.sampling.error_bars import CellErrors
from attribound.sampling.prediction import ClassCount
from attribound.sampling.votes import VoteCount
from benchmarks.clocked import cost
from benchmarks.figure import Figure

DRAWS = 8192
KINDS = (VoteCount, CellErrors, ClassCount)


def measure() -> list[Figure]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    field, x = Unit(Saliency(load_shipped("mnist-cnn-noise"))), mnist_sample()[0][0]
    family, design = Around(field, 7, x), AtPoint(Gaussian(0.5), classes=True)
    every = registry.statistics(cells=(0.5, 0.3, 0.1), intervals=True)
    measured = cost("everything_at_once", family, design, draws=DRAWS, statistics=every, kinds=KINDS)
    torch.set_num_threads(threads)
    return [measured]
