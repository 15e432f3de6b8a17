"""Training objectives, one file each, and the one loop."""

from attribound.training.adversarial import Adversarial
from attribound.training.augmented import Augmented
from attribound.training.base import Attacking, Objective
from attribound.training.behind import Behind, Recognised
from attribound.training.bfloat16 import Bfloat16
from attribound.training.clean import WithClean
from attribound.training.consistency import Consistency, OneSided
from attribound.training.denoise import Denoise, psnr
from attribound.training.frozen_norm import FrozenNorm
from attribound.training.ig_norm import IgNorm
from attribound.training.igr import Igr
from attribound.training.loop import accuracy, attacked_accuracy, fit
from attribound.training.noisy import WithNoise
from attribound.training.phases import Phase, make_phase, read_recipe
from attribound.training.recipes import NAMES, NORMS, make_objective
from attribound.training.schedule import Schedule
from attribound.training.session import fresh, summary, train
from attribound.training.standard import Standard
from attribound.training.trades import Trades

__all__ = [
    "NAMES", "NORMS", "Adversarial", "Attacking", "Augmented", "Behind", "Bfloat16", "Consistency", "Denoise",
    "FrozenNorm", "IgNorm", "Igr", "Objective", "OneSided", "Phase", "Recognised", "Schedule", "Standard", "Trades",
    "WithClean", "WithNoise", "accuracy", "attacked_accuracy", "fit", "fresh", "make_objective", "make_phase", "psnr",
    "read_recipe", "summary", "train",
]  # fmt: skip
