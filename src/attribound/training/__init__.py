"""Training objectives, one file each, and the one loop."""

from attribound.training.adversarial import Adversarial
from attribound.training.augmented import Augmented
from attribound.training.base import Objective
from attribound.training.behind import Behind, Recognised
from attribound.training.brief import Brief
from attribound.training.clean import WithClean
from attribound.training.consistency import Consistency, OneSided
from attribound.training.denoise import Denoise, psnr
from attribound.training.ig_norm import IgNorm
from attribound.training.igr import Igr
from attribound.training.loop import Schedule, accuracy, fit
from attribound.training.noisy import WithNoise
from attribound.training.recipes import NAMES, make_objective
from attribound.training.session import fresh, summary, train
from attribound.training.settled import Settled
from attribound.training.standard import Standard
from attribound.training.trades import Trades

__all__ = [
    "NAMES",
    "Adversarial",
    "Augmented",
    "Behind",
    "Brief",
    "Consistency",
    "Denoise",
    "IgNorm",
    "Igr",
    "Objective",
    "OneSided",
    "Recognised",
    "Schedule",
    "Settled",
    "Standard",
    "Trades",
    "WithClean",
    "WithNoise",
    "accuracy",
    "fit",
    "fresh",
    "make_objective",
    "psnr",
    "summary",
    "train",
]
