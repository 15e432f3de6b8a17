"""The one base of all attacks: it projects, keeps the label and the best iterate, restarts and re-scores.

An attack file holds only its idea: a direction in which the map changes for the worse.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import ClassVar, final

import torch
from torch import Tensor

from attribound import checks as check
from attribound.attacks.kernels import twice_differentiable
from attribound.attacks.score import Score, rescore
from attribound.attacks.twins import smooth_twins
from attribound.attacks.view import View
from attribound.errors import FieldError, UnfitError
from attribound.fields.base import Field, Model, forward
from attribound.fields.rows import independent, probe_rows
from attribound.metrics import cosine_similarity
from attribound.noise import Noise
from attribound.randomness import Purpose, stream

Progress = Callable[[int, int], None]

_SHORTENINGS = 12

_START = 0.5
"""Attacks start at a random change of this part of epsilon: at none at all, the slope of a cosine is zero."""


@dataclass(frozen=True)
class Problem:
    """What is attacked: one explanation within a budget.

    Attributes:
        field: the attribution, bounded or not.
        x: the input.
        target: the class that is explained.
        noise: smoothing noise; None attacks the plain map.
        epsilon: l2 budget.
        reference: (m,) float64, the map before the attack.
        shape: the map's shape.
        label: the model's prediction for x.
        units: what the budget counts for each feature, float64; None: 1.
    """

    field: Field
    x: Tensor
    target: int
    noise: Noise | None
    epsilon: float
    reference: Tensor
    shape: tuple[int, ...]
    label: int
    units: Tensor | None = None

    def at(self, delta: Tensor) -> Tensor:
        """The input after a change, which is counted in units."""
        return self.x + (delta if self.units is None else (delta * self.units).to(self.x))

    def in_units(self, change: Tensor) -> Tensor:
        """A change of the input itself, counted in units; in float64 where there are any."""
        return change if self.units is None else change / self.units

    def pulled(self, slope: Tensor) -> Tensor:
        """The slope along changes counted in units, from the slope along the input."""
        return slope if self.units is None else (slope * self.units).to(slope)


@dataclass(frozen=True, repr=False)
class AttackResult:
    """The worst that an attack found.

    Attributes:
        method: name of the attack.
        epsilon: the budget.
        delta: the change found, in the input's own values and shape.
        length: l2 size of the change as applied (in units, where there are any), after x + delta was rounded to the
            input's precision.
        score: cosine and other measures, taken afterwards with fresh noise on the true model.
        shape: the map's shape.
        label_kept: whether the prediction stayed.
        steps: iterations made, over all restarts.
        seed: seed of the attack.
        seconds: time it took.
    """

    method: str
    epsilon: float
    delta: Tensor
    length: float
    score: Score
    shape: tuple[int, ...]
    label_kept: bool
    steps: int
    seed: int
    seconds: float

    @property
    def cosine(self) -> float:
        """Cosine between the maps before and after."""
        return self.score.cosine

    @property
    def map(self) -> Tensor:
        """The map after the change."""
        return self.score.after.view(self.shape)

    def __repr__(self) -> str:
        """A short summary."""
        kept = "kept" if self.label_kept else "changed"
        return (
            f"AttackResult(method={self.method}, epsilon={self.epsilon:g}, length={self.length:.4g}, "
            f"cosine={self.cosine:.4f}, prediction {kept}, {self.seconds:.1f} s)"
        )


@dataclass(frozen=True)
class Attack(ABC):
    """An iterative attack in the l2 ball. The defaults are the paper's: 200 iterations of length 0.1, 300 draws.

    Attributes:
        steps: iterations per restart.
        step_size: length of an iteration (never more than a quarter of epsilon).
        restarts: independent starts; the best result counts.
        samples: draws that smooth the map during the attack.
        keep_label: only changes that keep the prediction count (the paper's rule).
        rescore_samples: fresh draws for each of the two maps that give the reported cosine.
    """

    steps: int = 200
    step_size: float = 0.1
    restarts: int = 1
    samples: int = 300
    keep_label: bool = True
    rescore_samples: int = 4096
    name: ClassVar[str]
    smooth: ClassVar[bool] = True
    """Whether the attack differentiates twice, so that ReLUs are swapped for smooth twins."""

    def __post_init__(self) -> None:
        for name in ("steps", "restarts", "samples", "rescore_samples"):
            check.count(name, getattr(self, name))
        check.positive("step_size", self.step_size)

    @abstractmethod
    def climb(self, problem: Problem, view: View, delta: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """The map after the change `delta`, and the next change to try."""

    @final
    def step(self, problem: Problem, delta: Tensor, direction: Tensor) -> Tensor:
        """One iteration along a direction of any length, back into the ball."""
        norm = float(direction.norm())
        length = min(self.step_size, problem.epsilon / 4)
        return project(delta + direction * (length / norm), problem.epsilon) if norm > 0 else delta

    @final
    def turn(self, problem: Problem, delta: Tensor, slope: Tensor, part: float) -> Tensor:
        """Replace a part of the change's direction by its slope, at full length: power iteration with memory.

        Near the input 1 - cos is a quadratic form of the change, whose maximum on the sphere is its top eigenvector.
        This needs far fewer iterations than steps of fixed length, and averages the noise of sampled slopes.
        """
        length, steepness = float(delta.norm()), float(slope.norm())
        if length == 0 or steepness == 0:
            return self.step(problem, delta, slope)
        turned = (1 - part) * delta / length + part * slope / steepness
        return turned * (problem.epsilon / float(turned.norm()))

    @abstractmethod
    def prepare(self, problem: Problem) -> None:
        """Raise for arguments that do not fit the problem."""

    @final
    def run(self, problem: Problem, seed: int = 0, progress: Progress | None = None) -> AttackResult:
        """Attack, and score the best change found with fresh noise on the true model."""
        started = time.perf_counter()
        check.positive("epsilon", problem.epsilon)
        self.prepare(problem)
        best = _Best(torch.zeros_like(problem.x), 1.0)
        for restart in range(self.restarts):
            generator = stream(Purpose.ATTACK, seed, restart, 0, problem.x.device)
            self._climb_once(problem, best, generator, restart, progress)
        attacked = problem.at(best.delta)
        change = attacked - problem.x
        return AttackResult(
            method=self.name,
            epsilon=problem.epsilon,
            delta=change,
            length=float(problem.in_units(attacked.double() - problem.x.double()).norm()),
            score=rescore(problem.field, problem.x, change, problem.target, problem.noise, self.rescore_samples, seed),
            shape=problem.shape,
            label_kept=_label(problem.field.model, attacked) == problem.label,
            steps=self.restarts * self.steps,
            seed=seed,
            seconds=time.perf_counter() - started,
        )

    def _climb_once(
        self, problem: Problem, best: "_Best", generator: torch.Generator, restart: int, progress: Progress | None
    ) -> None:
        view = View(problem.field, problem.target, problem.noise, self.samples)
        direction = torch.randn(problem.x.shape, generator=generator, dtype=problem.x.dtype, device=problem.x.device)
        delta = direction * (problem.epsilon * _START / float(direction.norm()))
        for step in range(self.steps):
            with smooth_twins() if self.smooth else nullcontext(), twice_differentiable():
                values, proposal = self.climb(problem, view, delta, generator)
            self._consider(problem, best, delta, values)
            delta = self._keep_label(problem, project(proposal, problem.epsilon))
            if progress:
                progress(restart * self.steps + step + 1, self.restarts * self.steps)
        self._consider(problem, best, delta, view.map(problem.at(delta), generator))

    def _keep_label(self, problem: Problem, delta: Tensor) -> Tensor:
        """Shorten a change that flips the prediction until it no longer does."""
        for _ in range(_SHORTENINGS if self.keep_label else 0):
            if _label(problem.field.model, problem.at(delta)) == problem.label:
                break
            delta = delta * 0.85
        return delta

    def _consider(self, problem: Problem, best: "_Best", delta: Tensor, values: Tensor) -> None:
        """Keep the change if its map is the worst so far and the label allows it."""
        cosine = float(cosine_similarity(problem.reference[None], values[None]))
        allowed = not self.keep_label or _label(problem.field.model, problem.at(delta)) == problem.label
        if cosine < best.cosine and allowed:
            best.delta, best.cosine = delta.clone(), cosine


@dataclass
class _Best:
    delta: Tensor
    cosine: float


def make_problem(
    field: Field, x: Tensor, target: int, noise: Noise | None, epsilon: float, *, samples: int = 4096, seed: int = 0
) -> Problem:
    """State the problem: the reference map is sampled here, once."""
    generator = stream(Purpose.PROBE, seed, device=x.device)
    if noise is not None:
        field = independent(field, x, noise.copies(x, probe_rows(field), generator), target, generator)
    shape = tuple(field.attribute(x.expand(field.block, *x.shape), target, generator=generator).shape[1:])
    reference = View(field, target, noise, samples).map(x, stream(Purpose.REFERENCE, seed, device=x.device))
    units = None if noise is None else noise.law(x.numel()).units
    return Problem(
        field=field,
        x=x.detach(),
        target=target,
        noise=noise,
        epsilon=float(check.positive("epsilon", epsilon)),
        reference=reference,
        shape=shape,
        label=_label(field.model, x),
        units=None if units is None else torch.tensor(units, dtype=torch.float64, device=x.device).view(x.shape),
    )


def with_epsilon(problem: Problem, epsilon: float) -> Problem:
    """The same problem with another budget."""
    return replace(problem, epsilon=epsilon)


def project(delta: Tensor, epsilon: float) -> Tensor:
    """The nearest change within the l2 ball; a hair inside, so that rounding never leaves it."""
    norm = float(torch.linalg.vector_norm(delta, dtype=torch.float64))
    return delta * (epsilon * (1 - 1e-6) / norm) if norm > epsilon * (1 - 1e-6) else delta


def require_gradients(problem: Problem) -> None:
    """Raise, in one line, if the field cannot be differentiated."""
    probe = View(problem.field, problem.target, None, 1)
    generator = stream(Purpose.PROBE, 0, device=problem.x.device)
    with smooth_twins(), twice_differentiable():
        try:
            _, slope = probe.slope(problem.x, lambda values: values.square().sum(), generator)
        except (RuntimeError, FieldError) as error:
            raise UnfitError(f"this attack needs a twice differentiable model: {error}") from None
    if not torch.isfinite(slope).all():
        raise UnfitError("this attack needs a twice differentiable model: its second derivative is not finite")


def _label(model: Model, point: Tensor) -> int:
    with torch.no_grad():
        return int(forward(model, point[None]).argmax(dim=1))
