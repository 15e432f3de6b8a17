"""Which noise level? Accuracy under noise against what can be certified, level by level."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import pairwise
from typing import Any, final

from torch import Tensor

from attribound import checks as check
from attribound.bounds.budgets import Budget
from attribound.bounds.laws import LAWS
from attribound.certificates.certificate import Certificate
from attribound.certificates.explain import FIDELITY
from attribound.certification.arguments import look_at
from attribound.certification.certifier import Certifier
from attribound.data import Dataset, label_doubt
from attribound.errors import ArgumentError
from attribound.fields.base import Field, innermost
from attribound.fields.bounded import Bounded
from attribound.hashes import model_hash
from attribound.noise import NoiseOf, units_of
from attribound.randomness import Purpose
from attribound.rounding import lower_quantile, percent, round_down
from attribound.threads import limited
from attribound.training import accuracy

SIGMAS = (0.05, 0.1, 0.25, 0.5, 0.75, 1.0)
_HALVINGS = 4
"""If no level will do, the smallest is halved up to this often: to 0.003, less than a step of an 8-bit picture."""
_TOLERATED = 0.05
"""A level is recommended only if its noise costs at most this much accuracy, or a single input."""


@final
@dataclass(frozen=True)
class Level:
    """One noise level: what it costs and what it gives.

    Attributes:
        noise: the noise, as people type it.
        sigma: its standard deviation per feature.
        accuracy: share of inputs classified correctly under it.
        max_epsilon: median over inputs of the largest epsilon certified for the wanted cosine.
        certified: share of inputs certified at the wanted epsilon (None if none is wanted).
        fidelity: median cosine of smoothed and plain map.
        class_radius: median over inputs of the size up to which no change alters the smoothed class; 0.0: abstains.
        denoised: whether a denoiser stood before the model.
    """

    noise: str
    sigma: float
    accuracy: float
    max_epsilon: float
    certified: float | None
    fidelity: float
    class_radius: float
    denoised: bool = False

    @property
    def name(self) -> str:
        """The level in words."""
        return f"{self.noise} with the denoiser" if self.denoised else self.noise

    def row(self) -> dict[str, Any]:
        """The level as plain JSON values."""
        return {
            "noise": self.noise,
            "sigma": self.sigma,
            "accuracy_noisy": self.accuracy,
            "median_max_epsilon": self.max_epsilon,
            "certified": self.certified,
            "fidelity": self.fidelity,
            "median_prediction_radius": self.class_radius,
            "denoised": self.denoised,
        }


@final
@dataclass(frozen=True)
class Tuning:
    """The levels, the model's accuracy without noise, and what follows.

    Numbers here were looked at in order to choose, so they are not certificates of what is chosen: `certify` draws
    afresh, from another stream. Under an assumed limit they are no certificates at all.
    """

    levels: list[Level]
    accuracy: float
    cosine: float
    epsilon: float | None
    recommended: Level | None
    advice: str
    assumed: bool = False
    model_sha256: str = ""

    def row(self) -> dict[str, Any]:
        """Everything as plain JSON values."""
        return {
            "accuracy": self.accuracy,
            "cosine": self.cosine,
            "epsilon": self.epsilon,
            "levels": [level.row() for level in self.levels],
            "recommended": None if self.recommended is None else self.recommended.name,
            "advice": self.advice,
            "assumed": self.assumed,
            "model_sha256": self.model_sha256,
        }


@limited(1)
def tune(
    field: Field,
    data: Dataset,
    *,
    denoised: Callable[[float], Field] | None = None,
    kind: str = "gaussian",
    sigmas: Sequence[float] | None = None,
    cosine: float = 0.8,
    epsilon: float | None = None,
    fidelity: float = FIDELITY,
    items: int = 10,
    samples: int = 2048,
    alpha: float = 1e-3,
    seed: int = 0,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> Tuning:
    """Scan noise levels and recommend one.

    Args:
        field: a bounded attribution.
        data: inputs and labels; accuracy is measured on all of them, certificates on the first `items`.
        denoised: the same attribution of the model behind a denoiser that is told sigma; scanned beside the plain one.
        kind: "gaussian" or "uniform".
        sigmas: standard deviations per feature; None: `SIGMAS`, and smaller ones if none of these will do.
        cosine: wanted cosine.
        epsilon: wanted epsilon, if there is one.
        fidelity: the least median cosine of smoothed and plain maps that a recommended level has.
        items: inputs to certify per level.
        samples: draws per certificate.
        alpha: failure probability per certificate.
        seed: seed of the draws.
        progress: called with (what, levels done, levels in all).
    """
    _check_wanted(data, kind, cosine, fidelity, epsilon)
    inputs = [data.input(item) for item in data.order(count=items)]
    if doubt := label_doubt(data, look_at(field.model, inputs[0]).classes):
        raise ArgumentError(doubt)
    trial = _Trial(data, kind, inputs, cosine=cosine, epsilon=epsilon, samples=samples, alpha=alpha, seed=seed)

    def look(sigma: float) -> list[Level]:
        plain = [trial.level(field, sigma)]
        return plain + ([replace(trial.level(denoised(sigma), sigma), denoised=True)] if denoised else [])

    clean = accuracy(field.model, data)
    floor = _Floor.of(clean, len(data), fidelity=fidelity)
    levels = _scan(look, floor, sigmas, progress)
    recommended, advice = _advise(levels, clean, epsilon, floor)
    assumed = isinstance(field, Bounded) and field.assumed
    advice = "; ".join([advice, *_gains(levels)])
    return Tuning(levels, clean, cosine, epsilon, recommended, advice, assumed, model_hash(innermost(field).model))


def _check_wanted(data: Dataset, kind: str, cosine: float, fidelity: float, epsilon: float | None) -> None:
    """Raise for what cannot be tuned or wanted."""
    check.fraction("cosine", cosine)
    check.fraction("fidelity", fidelity)
    if epsilon is not None:
        check.positive("epsilon", epsilon)
    if not len(data):
        raise ArgumentError(f"{data.name} is empty")
    if kind not in LAWS:
        raise ArgumentError(f"expected noise {' or '.join(LAWS)}, got {kind!r}")
    data.check_labelled("tune, which measures accuracy under noise,")


@final
@dataclass(frozen=True)
class _Trial:
    """What every level is tried on and asked for; see `tune`."""

    data: Dataset
    kind: str
    inputs: Sequence[Tensor]
    _: KW_ONLY
    cosine: float
    epsilon: float | None
    samples: int
    alpha: float
    seed: int

    def level(self, field: Field, sigma: float) -> Level:
        """What one noise level costs and gives."""
        law = LAWS[self.kind]
        noise = NoiseOf(law, law.value_of(sigma, self.inputs[0].numel()), Budget(units_of(self.data.scale)))
        certifier = Certifier(field, noise=noise, samples=self.samples, alpha=self.alpha, purpose=Purpose.TUNE)
        certificates = [certifier(x, seed=self.seed, item=item) for item, x in enumerate(self.inputs)]
        return _level(certificates, accuracy(field.model, self.data, noise), self.cosine, self.epsilon)


@final
@dataclass(frozen=True)
class _Floor:
    """What a level must keep to be recommended.

    Attributes:
        accuracy: under its noise.
        fidelity: cosine of smoothed and plain map, in the median.
    """

    accuracy: float
    fidelity: float

    @classmethod
    def of(cls, clean: float, inputs: int, *, fidelity: float) -> "_Floor":
        """From the accuracy without noise; one input may always be lost, for of ten it is a tenth."""
        return cls(clean - max(_TOLERATED, 1 / inputs), fidelity)

    def bears(self, level: Level) -> bool:
        """Whether a level keeps that, and certifies anything; shares of inputs are compared up to rounding."""
        recognised = level.accuracy >= self.accuracy - 1e-9
        return recognised and level.max_epsilon > 0 and (level.fidelity >= self.fidelity or self.fidelity <= 0)

    def words(self, clean: float) -> str:
        """In words."""
        kept = f"the accuracy within {percent(clean - self.accuracy, 0)} of {percent(clean)}"
        return kept + (f" and the fidelity at {self.fidelity:g} or more" if self.fidelity > 0 else "")


def _scan(
    look: Callable[[float], list[Level]],
    floor: _Floor,
    sigmas: Sequence[float] | None,
    progress: Callable[[str, int, int], None],
) -> list[Level]:
    """Look at every sigma in turn; at smaller ones too if none was asked for and none will do."""
    chosen, levels = sorted(SIGMAS if sigmas is None else sigmas), list[Level]()
    for number, sigma in enumerate(chosen):
        progress("levels", number, len(chosen))
        levels += look(sigma)
    for halving in range(1, _HALVINGS + 1 if sigmas is None else 1):
        if any(map(floor.bears, levels)):
            break
        progress("smaller levels", halving - 1, _HALVINGS)
        levels = look(chosen[0] / 2**halving) + levels
    progress("levels", len(chosen), len(chosen))
    return levels


def _level(certificates: Sequence[Certificate], kept: float, cosine: float, epsilon: float | None) -> Level:
    budgets, law = [one.max_epsilon(cosine) for one in certificates], certificates[0].law
    return Level(
        noise=f"{law.kind}:{law.value:g}",
        sigma=law.sigma,
        accuracy=kept,
        max_epsilon=lower_quantile(budgets, 0.5),
        certified=None if epsilon is None else sum(budget >= epsilon for budget in budgets) / len(budgets),
        fidelity=lower_quantile([one.fidelity or 0.0 for one in certificates], 0.5),
        class_radius=lower_quantile([one.prediction_radius for one in certificates], 0.5),
    )


def _gains(levels: Sequence[Level]) -> list[str]:
    """What the denoiser changes at the level where it adds most accuracy, or takes least."""
    pairs = [(plain, behind) for plain, behind in pairwise(levels) if behind.denoised]
    if not pairs:
        return []
    plain, behind = max(pairs, key=lambda pair: pair[1].accuracy - pair[0].accuracy)
    proved = (
        f"{name} from {round_down(getattr(plain, key), 3)} to {round_down(getattr(behind, key), 3)}"
        for name, key in (("epsilon", "max_epsilon"), ("the class's radius", "class_radius"), ("fidelity", "fidelity"))
    )
    return [
        f"at {plain.noise} the denoiser takes the accuracy under noise from {percent(plain.accuracy)} to "
        f"{percent(behind.accuracy)}, {', '.join(proved)}"
    ]


def _advise(levels: Sequence[Level], clean: float, epsilon: float | None, floor: _Floor) -> tuple[Level | None, str]:
    """The level to use, or what to do when there is none."""
    bearable, kept = [level for level in levels if floor.bears(level)], floor.words(clean)
    train = "attribound train --objective consistency --noise gaussian:S"
    if clean == 0:
        return None, "the model classifies none of these inputs correctly: are the labels the numbers of its classes?"
    if not bearable:
        return None, (
            f"no level keeps {kept} and certifies anything: this model needs training with noise first ({train})"
        )
    best = max(bearable, key=lambda level: level.max_epsilon)
    if epsilon is None:
        return best, f"the largest certified epsilon among the levels that keep {kept}"
    enough = [level for level in bearable if level.max_epsilon >= epsilon]
    if enough:
        least = min(enough, key=lambda level: (level.sigma, -level.accuracy))
        return least, f"the smallest level whose median certified epsilon reaches {epsilon:g}"
    most = round_down(best.max_epsilon, 3)
    return None, (
        f"epsilon {epsilon:g} is out of reach: {most} is the best among the levels that keep {kept}. "
        f"Train with more noise ({train}) or ask for less"
    )
