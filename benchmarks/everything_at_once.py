"""What votes (784 cells, three fractions), the prediction and error bars add to a run on the small CNN (<= 5 % wanted).

Their seconds over all others of the same estimate (lower is better), with one thread, as a run's workers have.
"""

import torch

from attribound.data import mnist_sample
from attribound.fields import Saliency, Unit
from attribound.models import load_shipped
from attribound.noise import Gaussian
from attribound.sampling import Source, default_statistics
from attribound.sampling.error_bars import CellErrors
from attribound.sampling.prediction import Prediction
from attribound.sampling.votes import VoteCount
from benchmarks.clocked import cost
from benchmarks.figure import Figure


def measure() -> list[Figure]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    field, x = Unit(Saliency(load_shipped("mnist-cnn-noise"))), mnist_sample()[0][0]
    source = Source(field, x, 7, Gaussian(0.5), classes=True)
    every = default_statistics(cells=(0.5, 0.3, 0.1), intervals=True)
    found = cost("everything_at_once", source, 8192, every, (VoteCount, CellErrors, Prediction))
    torch.set_num_threads(threads)
    return [found]
