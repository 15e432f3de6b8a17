"""Asks about one change of one input: settings are checked once, inputs come one by one."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Literal, final

import msgspec
import torch
from torch import Tensor

from attribound import checks as check
from attribound.certificates.subject import Subject
from attribound.certification.arguments import AskedTarget, check_field, check_input, check_target, class_names, look_at
from attribound.certification.certifier import plain_map
from attribound.changes.base import Change, Continuous, Finite, adds_up
from attribound.errors import ArgumentError
from attribound.fields.base import Field, innermost
from attribound.fields.bounded import Bounded
from attribound.fields.exchange import check_unchanged, refuse
from attribound.fields.relative import packed_reference
from attribound.fields.reshaped import shapes
from attribound.fields.rows import independent, probe_rows
from attribound.hashes import KeptHash, input_bytes, input_hash
from attribound.randomness import Purpose, seed_from, stream
from attribound.rounding import exact_text
from attribound.sampling.along import Along
from attribound.sampling.listed import cosines_with
from attribound.sampling.scan import Progress, Scan
from attribound.tolerances.answer import Answer, Tolerance
from attribound.tolerances.evidence import Listed
from attribound.tolerances.exact import exact_answer
from attribound.tolerances.film import film
from attribound.tolerances.record import ChangeRecord, ListFacts, ScanFacts, ToleranceRecord
from attribound.tolerances.scanned import Question, checked_window, default_window, scanned_answer
from attribound.tolerances.strip import Strip

Reference = Literal["shown", "plain"]
Window = float | Mapping[str, float] | None


@final
@dataclass(frozen=True)
class Subjected:
    """An input, looked at once.

    Attributes:
        x: the input.
        target: the class that is explained.
        prediction: the class that the model gives to it.
        seed: of the draws.
        item: its number.
        label: its class, if it has one.
        plain: the plain map.
        familiar: that of the model in float32, which people know.
        weights: the model's hash.
    """

    x: Tensor
    target: int
    prediction: int
    seed: int
    item: int
    label: int | None
    plain: Tensor
    familiar: Tensor
    weights: str


@final
class Asker:
    """How far inputs may change before their explanations do; alpha is for all that is said about one input."""

    def __init__(
        self,
        field: Field,
        changes: Sequence[Change],
        *,
        cosine: float | Sequence[float] = 0.8,
        samples: int = 4096,
        alpha: float = 1e-3,
        window: Window = None,
        reference: Reference = "shown",
        batch: int | None = None,
        classes: Sequence[str] = (),
        subject: Subject | None = None,
        model_sha256: str | None = None,
    ) -> None:
        """Check what is asked.

        Args:
            field: a bounded attribution.
            changes: no name twice, each fit for the inputs.
            cosine: one or several in [0, 1).
            samples: draws for each scanned change, its pilot included.
            alpha: failure probability of all that is said about one input; exact changes spend none.
            window: half-width of the windows in the change's unit, one number for one scanned change or by name.
            reference: what maps of scanned changes are compared with.
            batch: most rows per model call.
            classes: names of the classes, so that a target may be a name.
            subject: how the model and the data were named, for the records.
            model_sha256: the model's hash, if it was just taken; None: it is taken here. It is taken again for an input
                before which the model's weights were changed.
        """
        self.field = check_field(field)
        self.changes = {change.name: change for change in changes}
        self.cosines, self.alpha = check_cosines(cosine), float(check.alpha(alpha))
        if reference not in ("shown", "plain"):
            raise ArgumentError(f"expected `reference` 'shown' or 'plain', got {reference!r}")
        self.reference = reference
        self.samples = int(check.count("samples", samples))
        self.windows = check_windows(changes, window)
        self.batch = None if batch is None else int(check.count("batch", batch))
        self.classes = tuple(classes) or class_names(self.field.model)
        self.subject = subject or Subject()
        self._weights = KeptHash(innermost(self.field).model, model_sha256)

    def look(
        self, x: Tensor, target: AskedTarget = None, *, seed: int | None = None, item: int = 0, label: int | None = None
    ) -> Subjected:
        """Look at an input: its class and its plain map.

        Args:
            x: one input.
            target: class to explain, by number or name; None: the predicted class.
            seed: of the draws; None: one that follows from the input.
            item: number of the input; draws depend on (seed, item, change).
            label: its class, if it has one.
        """
        x = check_input(x)
        number = seed_from(input_bytes(x)) if seed is None else check.whole("seed", seed)
        item = check.whole("item", item)
        peek = look_at(self.field.model, x)
        chosen = peek.prediction if target is None else check_target(target, peek.classes, self.classes)
        plain = _plain(self.field, x, chosen, number, item)
        familiar = plain if self.field.precision == "float32" else plain_map(self.field, x, chosen, number, item)
        weights = self._weights()
        return Subjected(x, chosen, peek.prediction, number, item, label, plain, familiar, weights)

    def ask(self, name: str, about: Subjected, progress: Progress | None = None) -> Tolerance:
        """Ask about one change.

        Args:
            name: of the change.
            about: the input.
            progress: called with (draws done, draws planned) of a scanned change.
        """
        started, change = time.perf_counter(), self.changes[name]
        change.check(about.x)
        if isinstance(change, Continuous):
            scan = self.scan(name, about)
            share = self.alpha / max(len(self.windows), 1)
            answer = scanned_answer(scan, Question(self.cosines, share, self.reference, about.plain), progress)
        else:
            answer = exact_answer(
                self.along(name, about), plain=about.plain, label=about.prediction, cosines=self.cosines
            )
        if lines := answer.evidence.problems():
            raise ArgumentError(f"{name} does not count its changes in order: {lines[0]}")
        self._look_again(about)
        record = self._record(change, about, answer)
        record = msgspec.structs.replace(record, seconds=time.perf_counter() - started)
        return Tolerance(record, answer.broken, answer.shown, answer.angles)

    def film(self, about: Subjected, known: Tolerance) -> Strip | None:
        """A few frames of a change that was asked about, to look at; None where there is no picture."""
        return film(self.along(known.name, about), known, plain=about.plain, window=self.windows.get(known.name))

    def along(self, name: str, about: Subjected) -> Along:
        """The maps that a change makes from an input."""
        change = self.changes[name]
        return Along(_independent(self.field, change, about), change, about.x, about.target, self.batch)

    def scan(self, name: str, about: Subjected) -> Scan:
        """How a change with a range is scanned."""
        along = self.along(name, about)
        return Scan(along, self.samples, self.windows[name], about.prediction, about.seed, about.item)

    def _look_again(self, about: Subjected) -> None:
        """Raise if the unchanged input gets another class or map than before its changes were tried."""
        seen = look_at(self.field.model, about.x)
        if seen.prediction != about.prediction:
            refuse(self.field, "unsteady")
        plain = _plain(self.field, about.x, about.target, about.seed, about.item)
        check_unchanged(self.field, about.plain[None], plain[None])

    def _adds_up(self, change: Change, x: Tensor) -> bool:
        """Whether a change that says so adds up where windows around changed inputs need it: it is tried."""
        return isinstance(change, Continuous) and change.adds_up and adds_up(change, x, self.windows[change.name])

    def _fidelity(self, about: Subjected, answer: Answer) -> float:
        """Of the map shown; where the model is rounded, with the plain map that people know."""
        if self.field.precision == "float32":
            return answer.fidelity
        shown, known = (maps.flatten().double().numpy() for maps in (answer.shown, about.familiar))
        return max(float(cosines_with(shown[None], known)[0]), 0.0)

    def _record(self, change: Change, about: Subjected, answer: Answer) -> ToleranceRecord:
        known, digest = answer.evidence, input_hash(about.x)
        reaches = known.reaches(self.cosines, answer.alpha)
        return ToleranceRecord(
            item=about.item,
            label=about.label,
            target=about.target,
            prediction=about.prediction,
            change=_described(change, answer.bounds, self._adds_up(change, about.x)),
            proof=answer.proof,
            alpha=answer.alpha,
            reaches={exact_text(cosine): reaches[cosine] for cosine in self.cosines},
            class_reach=known.class_reach(answer.alpha),
            breaks={exact_text(cosine): one and one.record for cosine, one in answer.broken.items()},
            reference="plain" if answer.reference == "plain" else "shown",
            fidelity=self._fidelity(about, answer),
            samples=self.samples if isinstance(change, Continuous) else 0,
            draws=answer.draws,
            window=None if answer.window is None else float(answer.window),
            window_share=answer.window_share,
            seed=about.seed,
            map_shape=tuple(about.plain.shape),
            facts=ListFacts.of(known) if isinstance(known, Listed) else ScanFacts.of(known),
            versions={"attribound": version("attribound"), "torch": str(torch.__version__), **change.versions},
            model_sha256=about.weights,
            input_sha256=digest,
            subject=msgspec.structs.replace(
                self.subject,
                model_sha256=about.weights,
                item=about.item,
                input_sha256=digest,
                attribution=self.field.name,
                maps=shapes(self.field, self.subject.units),
                output=self.field.output,
                bound=self.field.spec,
                precision=self.field.precision,
                reference=packed_reference(self.field) or msgspec.UNSET,
                seed=about.seed,
            ),
        )


def _described(change: Change, bounds: tuple[float, float], adds_up: bool) -> ChangeRecord:
    assert isinstance(change, Continuous | Finite)
    low, high, zero = map(float, (*bounds, change.shown(0.0)))  # a whole number would be stored without its point
    return ChangeRecord(change.name, change.spec, change.unit, change.made, adds_up, change.moves, low, zero, high)


def check_cosines(cosine: Any) -> tuple[float, ...]:
    """The cosines asked, each once, in [0, 1)."""
    given = cosine if isinstance(cosine, Sequence) and not isinstance(cosine, str) else [cosine]
    asked = tuple(dict.fromkeys(float(check.fraction("cosine", one)) for one in given))
    if not asked or 1.0 in asked:
        raise ArgumentError(f"expected `cosine` in [0, 1), got {cosine}")
    return asked


def check_windows(changes: Sequence[Change], window: Window) -> dict[str, float]:
    """The window of every scanned change, as a parameter."""
    scanned = {change.name: change for change in changes if isinstance(change, Continuous)}
    for change in scanned.values():
        if not (-math.inf < change.low <= 0 <= change.high < math.inf and change.low < change.high):
            raise ArgumentError(f"expected a range about 0 of {change.name}, got {change.low:g} to {change.high:g}")
    if window is None:
        return {name: default_window(change) for name, change in scanned.items()}
    if isinstance(window, Mapping):
        strange = next((name for name in window if name not in scanned), None)
        if strange is not None:
            raise ArgumentError(f"expected windows of scanned changes ({', '.join(scanned)}), got {strange!r}")
        given = dict(window)
    elif len(scanned) == 1:
        given = {next(iter(scanned)): window}
    else:
        raise ArgumentError(f"expected `window` by name for {len(scanned)} scanned changes, e.g. {{'rotation': 2}}")
    return {
        name: _window(change, given[name]) if name in given else default_window(change)
        for name, change in scanned.items()
    }


def _window(change: Continuous, shown: float) -> float:
    parameter = checked_window(change, float(check.positive("window", shown)))
    if math.isnan(parameter):
        raise ArgumentError(
            f"expected a `window` no wider than the range of {change.spec}, got {shown:g} {change.unit}"
        )
    return parameter


def _independent(field: Bounded, change: Change, about: Subjected) -> Bounded:
    """The field, if rows do not see each other; else the same field row by row."""
    along, count = Along(field, change, about.x, about.target), probe_rows(field)
    if isinstance(change, Continuous):
        t = torch.linspace(0, change.high, count, dtype=torch.float64)
    else:
        assert isinstance(change, Finite)
        t = change.alternatives(about.x)[:count]
        if not len(t):
            raise ArgumentError(f"expected at least one alternative of {change.name}, got none")
    return independent(along, t, stream(Purpose.PROBE, 0, device=about.x.device)).field


def _plain(field: Bounded, x: Tensor, target: int, seed: int, item: int) -> Tensor:
    """The plain map on the processor; of a random method, its mean over one block."""
    generator = stream(Purpose.PROBE, seed, item, 1, x.device)
    with torch.enable_grad():
        maps = field.attribute(x.expand(field.block, *x.shape), target, generator=generator).detach()
    check.dimension(maps[0].numel(), "the map's size")
    return maps.mean(dim=0).cpu()
