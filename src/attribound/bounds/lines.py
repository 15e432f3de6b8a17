"""Lines whose largest is a convex function of a likelihood ratio L, and its mean in closed form.

Many questions at once, one after the other in flat arrays: each has as many lines as its own convex function.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from attribound.checks import FloatArray

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]

_TINY = 1e-300


@dataclass(frozen=True)
class Lines:
    """The lines of many questions, one question after the other; levels rise within each.

    Attributes:
        rows: where each question's lines begin.
        still: of every line its part of the sum, times the nodes that it spans, if nothing moves.
        places: the lines with a positive level, whose part depends on the shift.
        widths: how many of these each question has.
        levels: theirs.
        logarithms: of the levels.
        spans: the nodes that each of them spans: chords span many.
    """

    rows: IntArray
    still: FloatArray
    places: IntArray
    widths: IntArray
    levels: FloatArray
    logarithms: FloatArray
    spans: FloatArray

    @classmethod
    def below(cls, values: FloatArray, steps: FloatArray) -> "Lines":
        """From values (N, n) at nodes whose distances are `steps` (N,).

        A chord from the first value, the values' own steps, a chord to the last: so it is for every loss that is convex
        and then flattens. Where these do not rise, the isotonic regression of the steps says it.
        """
        count, every = values.shape[1], np.arange(len(values))
        places = np.arange(1.0, count)
        first, last = values[:, 1:] - values[:, :1], values[:, -1:] - values[:, :-1]
        first /= places
        last /= places[::-1]
        left, right = first.argmin(axis=1), last.argmax(axis=1)
        odd = left >= right
        if odd.any():
            left[odd], right[odd] = 0, 1
        ends = np.cumsum(right - left + 1)
        rows = ends - (right - left + 1)
        own = [row[begin : end + 1] for row, begin, end in zip(values, left.tolist(), right.tolist(), strict=True)]
        slopes = np.diff(np.concatenate(own), append=0.0)
        slopes[rows], slopes[ends - 1] = first[every, left], last[every, right]
        falls = ~(slopes[1:] >= slopes[:-1])
        falls[ends[:-1] - 1] = False
        spans = np.ones(len(slopes))
        spans[rows], spans[ends - 1] = left + 1, count - 1 - right
        if falls.any() or odd.any():
            odd |= np.logical_or.reduceat(np.append(falls, False), rows)
            slopes, spans, rows = _regressed(values, odd, slopes, spans, rows)
        slopes /= steps.repeat(np.diff(rows, append=len(slopes)))
        slopes += 1.0
        return cls._of(slopes, spans, rows)

    @classmethod
    def _of(cls, levels: FloatArray, spans: FloatArray, rows: IntArray) -> "Lines":
        places = np.flatnonzero(levels > 0)
        positive = levels[places]
        return cls(
            rows=rows,
            still=spans * np.maximum(1.0 - levels, 0.0),
            places=places,
            widths=np.diff(np.searchsorted(places, rows), append=places.size),
            levels=positive,
            logarithms=log_level(positive),
            spans=spans[places],
        )

    def excess(self, shifts: FloatArray) -> FloatArray:
        """Per question, the sum of E(L - level)_+ over its lines."""
        each = self.still.copy()
        moved = shifts.repeat(self.widths)
        each[self.places] = self.spans * excess(self.levels, moved, self.logarithms)
        return np.add.reduceat(each, self.rows)


def _regressed(
    values: FloatArray, odd: BoolArray, slopes: FloatArray, spans: FloatArray, rows: IntArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Slopes, spans and beginnings of lines with those of the odd questions replaced by isotonic regressions."""
    parts = list(zip(np.split(slopes, rows[1:]), np.split(spans, rows[1:]), strict=True))
    for place in np.flatnonzero(odd):
        parts[place] = optimize.isotonic_regression(np.diff(values[place])).x, np.ones(values.shape[1] - 1)
    ends = np.cumsum([len(one) for one, _ in parts])
    slopes, spans = (np.concatenate(column) for column in zip(*parts, strict=True))
    return slopes, spans, np.concatenate([[0], ends[:-1]])


def excess(level: FloatArray, shift: float | FloatArray, logarithm: FloatArray | None = None) -> FloatArray:
    """E(L - level)_+ for L = exp(shift z - shift^2/2): convex in L, so it rises with the shift.

    Args:
        level: any numbers.
        shift: in sigmas.
        logarithm: `log_level(level)`, to ask about many shifts.
    """
    logs = log_level(level) if logarithm is None else logarithm
    level, shift, logs = np.broadcast_arrays(level, np.asarray(shift, np.float64), logs)
    inner = (level > 0) & (shift > 0)
    if inner.all():
        return _inner_excess(level, shift, logs)
    value = np.maximum(1.0 - level, 0.0)
    if inner.any():  # the rest takes no integral
        value[inner] = _inner_excess(level[inner], shift[inner], logs[inner])
    return value


def _inner_excess(level: FloatArray, shift: FloatArray, logarithm: FloatArray) -> FloatArray:
    """The same for positive levels and shifts."""
    with np.errstate(over="ignore"):
        outer = logarithm / shift
        outer = np.subtract(shift / 2, outer, out=outer)
    value: FloatArray = special.ndtr(outer)
    outer -= shift
    beyond = special.ndtr(outer, out=outer)
    beyond *= level
    value -= beyond
    return np.maximum(value, 0.0, out=value)


def log_level(level: FloatArray) -> FloatArray:
    """The logarithm of a level, or of a tiny number where it is not positive."""
    return np.asarray(np.log(np.maximum(level, _TINY)))
