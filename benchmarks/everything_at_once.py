"""What votes (784 cells, three fractions), the prediction and error bars add to a run on the small CNN (<= 5 % wanted).

Ours is the run with all of them, the peer the run without; each is the work of `estimate` on the same draws, and
neither bounds fourth moments.
"""

from attribound.data import mnist_sample
from attribound.fields import Saliency, Unit
from attribound.models import load_shipped
from attribound.noise import Gaussian
from attribound.sampling import Plan, Source, default_statistics, estimate
from attribound.sampling.moments import FourthMoments
from attribound.sampling.prediction import Prediction
from benchmarks.figure import Figure, race

SAMPLES = 4096


def measure() -> list[Figure]:
    field, x = Unit(Saliency(load_shipped("mnist-cnn-noise"))), mnist_sample()[0][0]
    plan = Plan(SAMPLES, 1e-3)

    def everything() -> None:
        every = default_statistics(cells=(0.5, 0.3, 0.1), intervals=True)
        statistics = [one for one in every if not isinstance(one, FourthMoments)]
        estimate(Source(field, x, 7, Gaussian(0.5), classes=True), plan, x.shape, statistics)

    def before() -> None:
        statistics = [one for one in default_statistics() if not isinstance(one, Prediction | FourthMoments)]
        estimate(Source(field, x, 7, Gaussian(0.5)), plan, x.shape, statistics)

    ours, peer, ratio = race(everything, before)
    return [Figure("everything_at_once", ours, peer, ratio, "s")]
