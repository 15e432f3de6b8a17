"""The one base of all attacks: it projects, keeps the label and the best iterate, restarts and re-scores.

An attack file holds only its idea: a direction in which the map changes for the worse.
"""

import time
from abc import ABC, abstractmethod
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, final

import torch
from torch import Tensor

from attribound import checks as check
from attribound.attacks.kernels import twice_differentiable
from attribound.attacks.score import Kept, Score, rescore
from attribound.attacks.twins import smooth_twins
from attribound.attacks.view import View
from attribound.bounds.budgets import PLAIN, Budget
from attribound.errors import FieldError, UnfitError
from attribound.fields.families import Family
from attribound.fields.rows import independent, probe_rows
from attribound.metrics import cosine_similarity
from attribound.noise import Noise
from attribound.progress import Advance
from attribound.randomness import Purpose, stream

_SHORTENINGS = 12

_START = 0.5
"""Attacks start at a random change of this part of epsilon: at none at all, the slope of a cosine is zero."""


@final
@dataclass(frozen=True)
class Problem:
    """What is attacked: one explanation within a budget. Changes are counted in units.

    Attributes:
        family: the maps, seen from the unchanged input.
        noise: smoothing noise; None attacks the plain map.
        epsilon: size of the budget.
        reference: (m,) float64, the map before the attack.
        shape: the map's shape.
        label: the model's prediction for the unchanged input.
        budget: how large a change is.
        kept: what scores know about the unchanged input.
    """

    family: Family
    noise: Noise | None
    epsilon: float
    reference: Tensor
    shape: tuple[int, ...]
    label: int
    budget: Budget = PLAIN
    kept: Kept = field(default_factory=dict)

    @cached_property
    def units(self) -> Tensor | None:
        """How much of each parameter counts as one, float64; None: 1 for all."""
        units = self.budget.units
        return None if units is None else torch.tensor(units, dtype=torch.float64).view(self.family.origin.shape)

    def at(self, delta: Tensor) -> Family:
        """The family after a change, which is counted in units."""
        return self.family.at(self.pulled(delta))

    def in_units(self, change: Tensor) -> Tensor:
        """A change of the parameters themselves, counted in units; in float64 where there are any."""
        if self.units is None:
            return change
        units = self.units.to(change.device)
        return torch.where(units > 0, change / units, 0.0)

    def pulled(self, slope: Tensor) -> Tensor:
        """Each number times its unit: a change in parameters, or the slope along changes counted in units."""
        return slope if self.units is None else (slope * self.units.to(slope.device)).to(slope.dtype)

    def start(self, generator: torch.Generator) -> Tensor:
        """A random direction of length 1 among the changes, counted in units."""
        origin = self.family.origin
        direction = torch.randn(origin.shape, generator=generator, dtype=origin.dtype, device=origin.device)
        if self.units is not None:
            direction = direction * (self.units > 0).to(direction)
        return direction / float(direction.norm())

    def project(self, delta: Tensor) -> Tensor:
        """The nearest change within the budget; a hair inside, so that rounding never leaves it."""
        norm, most = float(torch.linalg.vector_norm(delta, dtype=torch.float64)), self.epsilon * (1 - 1e-6)
        return delta * (most / norm) if norm > most else delta


@dataclass(frozen=True, repr=False)
class AttackResult:
    """The worst that an attack found.

    Attributes:
        method: name of the attack.
        epsilon: the budget.
        delta: the change found, in the parameters of the change (the input's own values).
        length: size of the change as applied, counted in units, after rounding to the input's precision.
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
    """Whether the attack differentiates twice, so that ReLUs are swapped for smooth twins; if not, it needs no
    gradients at all."""

    def __post_init__(self) -> None:
        for name in ("steps", "restarts", "samples", "rescore_samples"):
            check.count(name, getattr(self, name))
        check.positive("step_size", self.step_size)

    @abstractmethod
    def climb(self, problem: Problem, view: View, delta: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """The map after the change `delta`, which is what `view` sees, and the next change to try."""

    @final
    def step(self, problem: Problem, delta: Tensor, direction: Tensor) -> Tensor:
        """One iteration along a direction of any length, back into the ball."""
        norm = float(direction.norm())
        length = min(self.step_size, problem.epsilon / 4)
        return problem.project(delta + direction * (length / norm)) if norm > 0 else delta

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
    def run(self, problem: Problem, seed: int = 0, progress: Advance | None = None) -> AttackResult:
        """Attack, and score the best change found with fresh noise on the true model."""
        started = time.perf_counter()
        check.positive("epsilon", problem.epsilon)
        self.prepare(problem)
        best = _Best(problem.family.origin, 1.0)
        for restart in range(self.restarts):
            generator = stream(Purpose.ATTACK, seed, restart, 0, problem.family.x.device)
            self._climb_once(problem, best, generator, restart, progress)
        attacked = problem.at(best.delta)
        return AttackResult(
            method=self.name,
            epsilon=problem.epsilon,
            delta=attacked.shift.to(problem.family.origin.dtype),
            length=problem.budget.size(attacked.shift.cpu().numpy()),
            score=rescore(problem.family, attacked, problem.noise, self.rescore_samples, seed, problem.kept),
            shape=problem.shape,
            label_kept=attacked.prediction() == problem.label,
            steps=self.restarts * self.steps,
            seed=seed,
            seconds=time.perf_counter() - started,
        )

    @final
    def view(self, problem: Problem, delta: Tensor) -> View:
        """What the attacker sees after a change."""
        return View(problem.at(delta), problem.noise, self.samples)

    def _climb_once(
        self, problem: Problem, best: "_Best", generator: torch.Generator, restart: int, progress: Advance | None
    ) -> None:
        delta = problem.start(generator) * (problem.epsilon * _START)
        for step in range(self.steps):
            with smooth_twins() if self.smooth else nullcontext(), twice_differentiable():
                values, proposal = self.climb(problem, self.view(problem, delta), delta, generator)
            if step > 0:  # through few draws the random start looks as good as any change: half as long, it is none
                self._consider(problem, best, delta, values)
            delta = self._keep_label(problem, problem.project(proposal))
            if progress:
                progress(restart * self.steps + step + 1, self.restarts * self.steps)
        self._consider(problem, best, delta, self.view(problem, delta).map(generator))

    def _keep_label(self, problem: Problem, delta: Tensor) -> Tensor:
        """Shorten a change that flips the prediction until it no longer does."""
        for _ in range(_SHORTENINGS if self.keep_label else 0):
            if problem.at(delta).prediction() == problem.label:
                break
            delta = delta * 0.85
        return delta

    def _consider(self, problem: Problem, best: "_Best", delta: Tensor, values: Tensor) -> None:
        """Keep the change if its map is the worst so far and the label allows it."""
        cosine = float(cosine_similarity(problem.reference[None], values[None]))
        allowed = not self.keep_label or problem.at(delta).prediction() == problem.label
        if cosine < best.cosine and allowed:
            best.delta, best.cosine = delta.clone(), cosine


@dataclass
class _Best:
    delta: Tensor
    cosine: float


def make_problem(family: Family, noise: Noise | None, epsilon: float, *, samples: int = 4096, seed: int = 0) -> Problem:
    """State the problem: the reference map is sampled here, once."""
    x, field = family.x, family.field
    generator = stream(Purpose.PROBE, seed, device=x.device)
    if noise is not None:
        family = independent(family, family.noise(noise, probe_rows(field), generator), generator)
    zeros = family.origin.expand(field.block, *family.origin.shape)
    return Problem(
        family=family,
        noise=noise,
        epsilon=float(check.positive("epsilon", epsilon)),
        reference=View(family, noise, samples).map(stream(Purpose.REFERENCE, seed, device=x.device)),
        shape=tuple(family.explain(zeros, generator=generator).maps.shape[1:]),
        label=family.prediction(),
        budget=PLAIN if noise is None else family.budget(noise),
    )


def require_gradients(problem: Problem) -> None:
    """Raise, in one line that names the attacks that do work, if the field cannot be differentiated."""
    others = f"; without gradients there are {' and '.join(_without_gradients())}"
    field = problem.family.field
    if not field.needs_gradients:
        raise UnfitError(f"this attack needs a twice differentiable model, and {field.name} has no gradients{others}")
    probe = View(problem.family, None, 1)
    generator = stream(Purpose.PROBE, 0, device=problem.family.x.device)
    with smooth_twins(), twice_differentiable():
        try:
            _, slope = probe.slope(lambda values: values.square().sum(), generator)
        except (RuntimeError, FieldError) as error:
            raise UnfitError(f"this attack needs a twice differentiable model: {error}{others}") from None
    if not torch.isfinite(slope).all():
        raise UnfitError(f"this attack needs a twice differentiable model: its second derivative is not finite{others}")


def _without_gradients() -> list[str]:
    """Names of the attacks that differentiate nothing."""
    return sorted(kind.name for kind in Attack.__subclasses__() if not kind.smooth)
