"""One streaming pass: field x noise -> the smoothed map and everything the certificate rests on.

Draws come in chunks. The first chunk is a pilot: it fixes the centre of the covariance and the first direction, and
is never tested on itself. Afterwards each draw is projected onto the direction of the sum of all *earlier* draws.
Sums are float64; memory does not grow with the number of samples except for one float per draw.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from attribound.bounds import confidence
from attribound.bounds.arguments import NORM_SLACK, FloatArray
from attribound.bounds.rules import Evidence
from attribound.errors import LimitError, NonFiniteError
from attribound.fields.bounded import Bounded
from attribound.noise import Noise, working_dtype
from attribound.spread import Spread, make_spread

Progress = Callable[[int, int], None]
Stopped = Literal["budget", "proved", "futile"]

SHARES = {"norm": 0.5, "eigenvalue": 0.25, "map": 0.125, "attacked map": 0.125}
"""How alpha is split over the events a certificate uses; all hold together with probability >= 1 - alpha."""

_CHUNK_ROWS = 256
_CHUNK_NUMBERS = 2**24
_BATCH_NUMBERS = 2**20
_NEAR = 1.25
"""Draws further from the centre than this times the pilot's furthest are counted, not averaged."""


@dataclass(frozen=True)
class Question:
    """Is `cosine` certified at `epsilon`? Sampling stops as soon as this is decided."""

    cosine: float
    epsilon: float


@dataclass(frozen=True)
class Plan:
    """How to sample one input.

    Attributes:
        samples: the most noise draws to take.
        alpha: failure probability of everything said about this input.
        seed: seed of the run.
        item: number of the input in the run; draws depend on (seed, item, chunk) only.
        batch: most rows per model call; None sizes it by the input.
        until: stop as soon as this question is decided.
    """

    samples: int
    alpha: float
    seed: int = 0
    item: int = 0
    batch: int | None = None
    until: Question | None = None


@dataclass(frozen=True)
class Estimate:
    """The smoothed map and what is known about it, all at once with probability at least 1 - alpha.

    Attributes:
        attribution: the mean of all draws, float64, shape of the input.
        evidence: the numbers that certificates follow from.
        norm: norm of `attribution`; biased upwards, for information.
        eigenvalue: largest sampled eigenvalue about the pilot's mean, for information.
        map_radius: the true smoothed map is within this distance of `attribution`.
        samples: noise draws taken.
        draws: independent draws for the bounds (samples / block).
        stopped: "budget", or "proved" / "futile" when a question was decided early.
        seconds: wall-clock time.
    """

    attribution: Tensor
    evidence: Evidence
    norm: float
    eigenvalue: float
    map_radius: float
    samples: int
    draws: int
    stopped: Stopped
    seconds: float


def estimate(
    field: Bounded, x: Tensor, target: int, noise: Noise, plan: Plan, progress: Progress | None = None
) -> Estimate:
    """Sample the smoothed attribution of one input.

    Args:
        field: the bounded attribution.
        x: one input, any shape.
        target: the class that is explained.
        noise: the law of the noise.
        plan: samples, alpha, seed and when to stop.
        progress: called with (samples done, samples planned).
    """
    started = time.perf_counter()
    state = _State(field, x, noise, plan)
    looks, look = _looks(state.chunks), 0
    stopped: Stopped = "budget"
    for index, values in enumerate(_chunks(field, x, target, noise, plan, state)):
        state.add(values)
        if progress:
            progress(state.draws * field.block, state.planned * field.block)
        if plan.until and index + 1 in looks and index + 1 < state.chunks:
            look += 1
            stopped = state.decide(plan.until, look)
            if stopped != "budget":
                break
    if stopped == "budget" and plan.until:
        look += 1
    return state.finish(look, stopped, time.perf_counter() - started)


class _State:
    """Running sums of one estimate."""

    def __init__(self, field: Bounded, x: Tensor, noise: Noise, plan: Plan) -> None:
        self.field, self.noise, self.plan, self.shape = field, noise, plan, x.shape
        self.dim = x.numel()
        self.planned = max(plan.samples // field.block, 2)
        self.chunk = min(_CHUNK_ROWS, max(_CHUNK_NUMBERS // (self.dim * field.block), 1), max(self.planned // 8, 1))
        self.chunks = math.ceil(self.planned / self.chunk)
        self.draws = 0
        self.sum = torch.zeros(self.dim, dtype=torch.float64)
        self.direction = torch.zeros(self.dim, dtype=torch.float64)
        self.centre: Tensor | None = None
        self.projections: list[FloatArray] = []
        self.spread: Spread = make_spread(self.dim, unit=1.0)
        self.near, self.far = math.inf, 0

    def add(self, values: Tensor) -> None:
        """Take in one chunk of draws (n, d)."""
        if self.centre is None:
            self.centre = values.mean(dim=0)
            near = _NEAR * float(torch.linalg.vector_norm(values - self.centre, dim=1).max())
            self.near = near if 0 < near < self.reach else math.inf
            self.spread = make_spread(self.dim, unit=min(self.near, self.reach))
        else:
            limit = self.field.limit
            self.projections.append((values @ self.direction).clamp(-limit, limit).numpy())
            self._add_spread(values - self.centre)
        self.draws += len(values)
        self.sum += values.sum(dim=0)
        length = float(self.sum.norm())
        self.direction = self.sum / length if length > 0 else torch.zeros_like(self.sum)

    def _add_spread(self, rows: Tensor) -> None:
        """Second moments of the draws near the centre; the few far ones are only counted."""
        lengths = torch.linalg.vector_norm(rows, dim=1)
        if float(lengths.max()) > self.near:
            far = lengths > self.near
            self.far += int(far.sum())
            rows[far], lengths[far] = 0.0, 0.0
        self.spread.add(rows, float(lengths @ lengths))

    @property
    def reach(self) -> float:
        """No draw is further than this from the centre."""
        assert self.centre is not None
        return self.field.limit + float(self.centre.norm())

    def evidence(self, look: int) -> Evidence:
        """What the draws so far prove, at the look-th look (0: the only one, with the whole alpha)."""
        return self._evidence(self._norm_lower(), self.spread.eigenvalue, self.spread.count, self.far, look)

    def decide(self, question: Question, look: int) -> Stopped:
        """Whether the question is proved, out of reach within the budget, or still open."""
        if self.evidence(look).best(question.epsilon)[0] >= question.cosine:
            return "proved"
        # Optimistic values; a mistake here costs an answer, never a false one.
        x = np.concatenate(self.projections)
        hopeful_norm = min(float(x.mean() + 4 * x.std() / np.sqrt(x.size)), self.field.limit)
        eigenvalue, noise_floor = self.spread.eigenvalue, self.spread.trace / self.spread.count**2
        hopeful = self._evidence(
            max(hopeful_norm, 0.0), max(eigenvalue - 2 * noise_floor, 0.0), self.planned, 0, look + 1
        )
        return "budget" if hopeful.best(question.epsilon)[0] >= question.cosine else "futile"

    def finish(self, look: int, stopped: Stopped, seconds: float) -> Estimate:
        """The estimate from all draws taken."""
        evidence, eigenvalue = self.evidence(look), self.spread.eigenvalue
        share = self._share("map", look)
        radius = confidence.mean_radius(
            limit=self.field.limit,
            norm_lower=evidence.norm_lower,
            samples=self.draws,
            alpha=share,
            # The map is a mean of blocks, whose own covariance is what counts here.
            eigenvalue_upper=evidence.eigenvalue_upper / self.field.block,
        )
        mean = self.sum / self.draws
        return Estimate(
            attribution=mean.view(self.shape),
            evidence=evidence,
            norm=float(mean.norm()),
            eigenvalue=eigenvalue,
            map_radius=radius,
            samples=self.draws * self.field.block,
            draws=self.draws,
            stopped=stopped,
            seconds=seconds,
        )

    def _norm_lower(self) -> float:
        return confidence.norm_lower_bound(
            np.concatenate(self.projections) if self.projections else [],
            limit=self.field.limit,
            alpha=SHARES["norm"] * self.plan.alpha,
            horizon=self.planned,
        )

    def _share(self, event: str, look: int) -> float:
        share = SHARES[event] * self.plan.alpha
        return confidence.spend(share, look) if look else share

    def _evidence(self, norm_lower: float, eigenvalue: float, samples: int, far: int, look: int) -> Evidence:
        upper = confidence.eigenvalue_upper_bound(
            eigenvalue,
            reach=self.reach,
            samples=max(samples, 1),
            alpha=self._share("eigenvalue", look),
            near=self.near,
            far=far,
        )
        return Evidence(
            dim=self.dim,
            noise_kind=self.noise.kind,
            scale=self.noise.scale,
            limit=self.field.limit,
            norm_lower=norm_lower,
            # A mean over `block` independent noises varies `block` times less than the field itself can.
            eigenvalue_upper=upper * self.field.block,
            probability_gradient=self.field.probability_gradient,
        )


def _looks(chunks: int) -> set[int]:
    """Chunk counts at which a question is looked at: a geometric sequence."""
    return {math.ceil(2 * 1.5**k) for k in range(64) if 2 * 1.5**k <= chunks}


def _chunks(field: Bounded, x: Tensor, target: int, noise: Noise, plan: Plan, state: _State) -> Iterator[Tensor]:
    """Chunks of draws (n, d): noise, attribution, block means; checked and in float64."""
    rows = plan.batch or max(_BATCH_NUMBERS // (state.dim * field.cost), 1)
    batch = max(rows // field.block, 1) * field.block
    done = 0
    for index in range(state.chunks):
        count = min(state.chunk, state.planned - done)
        generator = chunk_generator(plan.seed, plan.item, index, x.device)
        shifts = noise.draw(count * field.block, x, generator)
        points = (x.to(working_dtype(x.dtype)) + shifts).to(x.dtype)
        with torch.enable_grad():
            maps = [field.attribute(part, target, generator=generator).detach() for part in points.split(batch)]
        parts = [part.flatten(1).cpu() for part in maps]
        values = parts[0] if len(parts) == 1 else torch.cat(parts)
        _check_values(values, field.limit, done * field.block)
        yield values.view(count, field.block, state.dim).mean(dim=1) if field.block > 1 else values
        done += count


def chunk_generator(
    seed: int, item: int, chunk: int, device: torch.device, purpose: str = "certificate"
) -> torch.Generator:
    """The generator of one chunk of one item: the same wherever and in whatever order the work is done.

    Purposes (certificate, attack, score, probe) have unrelated streams. Torch's CPU generator takes 32 bits of a seed,
    so the chunk is added to them rather than hashed: chunks of one item never share a stream.
    """
    words = [seed & _WORD, seed >> 32 & _WORD, item & _WORD, item >> 32 & _WORD]
    base = int(np.random.SeedSequence([*purpose.encode(), *words]).generate_state(1, np.uint32)[0])
    return torch.Generator(device).manual_seed((base + chunk) & _WORD)


_WORD = 2**32 - 1


def _check_values(values: Tensor, limit: float, offset: int) -> None:
    """NaN and infinity are errors that name the draw; so is a draw longer than its claimed limit."""
    lengths = torch.linalg.vector_norm(values, dim=1).numpy()
    bad = np.flatnonzero(~np.isfinite(lengths))
    if bad.size:
        raise NonFiniteError(
            f"the attribution of draw {offset + int(bad[0])} is NaN or infinite: its average would mean nothing"
        )
    longest = int(np.argmax(lengths))
    if lengths[longest] > limit * (1 + NORM_SLACK):
        raise LimitError(
            f"draw {offset + longest} has norm {lengths[longest]:.6g}, above the claimed limit {limit:g}: "
            "the limit does not hold, so nothing can be certified with it"
        )
