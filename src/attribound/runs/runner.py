"""From a configuration to a finished run."""

import bisect
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, final

import msgspec
import torch
from torch import Tensor, nn

from attribound import checks as check
from attribound.certificates.record import Failure, Record
from attribound.certificates.statements.base import Asking
from attribound.certificates.statements.registry import ask
from attribound.certification.arguments import check_field, check_target, class_names, look_at, repeated_channels
from attribound.certification.reopen import behind_denoiser, open_field, together_of
from attribound.certification.suspicions import bright_pixels, check_columns, check_returned, returned_by
from attribound.changes.together import Together
from attribound.data import Dataset, Unlabelled, cells_for, fitted, label_doubt, open_data, scale_for
from attribound.errors import ArgumentError, AttriboundError, NonFiniteError, StoredDataError
from attribound.fields import names_code
from attribound.fields.base import check_output, innermost
from attribound.fields.bounded import Bounded
from attribound.fields.precision import check_precision, slow_here
from attribound.hashes import model_hash
from attribound.models import code_hash, load_model
from attribound.models.stated import fixed_batch
from attribound.noise import parse_noise, units_of
from attribound.randomness import Purpose, stream
from attribound.rounding import exact_text, lower_quantile
from attribound.runs.batches import fastest_rows
from attribound.runs.config import RunConfig
from attribound.runs.engines.base import Engine
from attribound.runs.job import Job, Opened
from attribound.runs.records import Stored, part_of
from attribound.runs.reference import with_reference
from attribound.runs.store import Store
from attribound.runs.tasks import Task, make_tasks
from attribound.runs.work import class_of
from attribound.sampling.along import family_of

_PROBES = 6
"""Noisy copies on which the model's outputs are looked at beforehand."""
_PROCESSORS = "processors"
_MOST_SAMPLES, _LEAST_ALPHA = 10**12, 1e-100
"""Beyond these every input would fail by overflow, one by one."""


@final
@dataclass
class Progress:
    """How far a run is: told after every record.

    Attributes:
        total: records in all: one per input, or one per input and part.
        done: records stored.
        errors: of these, how many failed.
        started: when this process stored its first record: what comes before is start-up.
        begun_with: records that were there already.
        draws: noise draws behind the records that this process stored after its first.
        budgets: certified epsilons at the first cosine so far, sorted.
    """

    total: int
    done: int = 0
    errors: int = 0
    started: float = 0.0
    begun_with: int = 0
    draws: int = 0
    budgets: list[float] = field(default_factory=list)

    @property
    def median(self) -> float | None:
        """Median certified epsilon so far (the lower of two middle ones)."""
        return lower_quantile(self.budgets, 0.5) if self.budgets else None

    @property
    def rate(self) -> float:
        """Inputs per second in this process since its first; 0.0: not known yet."""
        since = self.done - self.begun_with - 1
        return since / max(time.perf_counter() - self.started, 1e-9) if since > 0 else 0.0

    @property
    def draw_rate(self) -> float:
        """Draws per second, likewise."""
        return self.draws / max(time.perf_counter() - self.started, 1e-9) if self.draws else 0.0

    def count(self, record: Stored, cosine: str) -> None:
        """Take one more record into account."""
        self.done += 1
        if isinstance(record, Failure):
            self.errors += 1
        elif isinstance(record, Record):
            bisect.insort(self.budgets, record.max_epsilon.get(cosine, 0.0))


def prepare(
    config: RunConfig,
    *,
    simultaneous: bool = False,
    trust: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> tuple[RunConfig, Job]:
    """Check a configuration against its model and data before anything is written; fill in the hashes.

    Args:
        config: what is asked for.
        simultaneous: share alpha among all inputs.
        trust: load programs too.
        say: told, in a line, what is odd but not wrong and what is done to pictures.
    """
    check_settings(config)
    for epsilon in config.epsilons:
        check.non_negative("epsilon", epsilon)
    parse_noise(config.noise)
    config = msgspec.structs.replace(config, changes=Together(config.changes).specs if config.changes else ())
    if config.together and config.denoiser is not None:
        raise ArgumentError("--denoiser expects noise on the inputs themselves; with --change it is on the amounts")
    opened = open_run(config, trust=trust, say=say)
    if simultaneous:
        opened = _share_alpha(opened)
    config, bounded = opened.config, opened.field
    statements = ask(config.asked, Asking(bounded.name, bounded.block, config.cosines))
    zeros = torch.zeros(opened.data.shape, device=config.device)
    _suspect(opened.data, bounded, config, say)
    look_at(opened.model, zeros)
    rows = zeros.expand(bounded.block, *zeros.shape)
    with suppress(NonFiniteError):  # of zeros; what does not fit at all would fail input by input
        maps = bounded.base.attribute(rows, 0, generator=torch.Generator(config.device))
        for statement in statements:
            statement.check_size(maps[0].numel())
    return close_run(opened, trust=trust, say=say)


def check_settings(config: RunConfig) -> None:
    """What every kind of run asks for."""
    check.count("samples", config.samples)
    check.alpha(config.alpha)
    if config.samples > _MOST_SAMPLES or config.alpha < _LEAST_ALPHA:
        raise ArgumentError(
            f"expected `samples` at most {_MOST_SAMPLES:,} and `alpha` at least {_LEAST_ALPHA:g}, got "
            f"{config.samples} and {config.alpha:g}"
        )
    if not config.cosines:
        raise ArgumentError("expected at least one cosine")
    for cosine in config.cosines:
        check.fraction("cosine", cosine)
    check_output(config.output)
    check_precision(config.precision)


@final
@dataclass(frozen=True)
class OpenedRun:
    """A run's configuration with its model and data, opened."""

    config: RunConfig
    data: Dataset
    model: nn.Module
    field: Bounded


def open_run(config: RunConfig, *, trust: bool, say: Callable[[str], None]) -> OpenedRun:
    """Open model and data, and fit one to the other."""
    plain = load_model(config.model, config.arch, trust=trust)
    cells = cells_for(plain)
    spec, data, note = fitted(config.data, open_data(config.data, cells=cells), plain)
    units = None if config.together else units_of(scale_for(data, plain))
    if note:
        say(note)
    config = msgspec.structs.replace(config, data=spec, units=units, words=cells and dict(cells.words))
    model = behind_denoiser(plain, config.subject, data.shape)
    try:
        model = model.to(config.device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ArgumentError(f"cannot use --device {config.device}: {str(error).splitlines()[0]}") from None
    config = with_reference(config, data, model)
    field = check_field(open_field(config.subject, model))
    if not len(data):
        raise StoredDataError(f"{data.name} is empty")
    if line := slow_here(config.precision, config.device):
        say(line)
    return OpenedRun(config, data, model, field)


def close_run(opened: OpenedRun, *, trust: bool, say: Callable[[str], None]) -> tuple[RunConfig, Job]:
    """Check labels and target, and fill in the hashes."""
    config, data, model = opened.config, opened.data, opened.model
    peek = look_at(model, torch.zeros(data.shape, device=config.device))
    if doubt := label_doubt(data, peek.classes):
        say(doubt)
        data = Unlabelled(data)
    if config.target is not None:
        check_target(class_of(config.target), peek.classes, data.classes or class_names(model))
    hashes: dict[str, Any] = {
        "model_sha256": model_hash(model),
        "data_sha256": data.sha256(),
        "code_sha256": code_hash(
            config.model, config.arch, own=config.attribution if names_code(config.attribution) else ""
        ),
    }
    # As many as there are: a check of the run compares its records with this number.
    items = None if config.items is None else min(config.items, len(data))
    full = msgspec.structs.replace(config, items=items, **hashes)
    if full.batch is None and (x := first_input(data, config.device)) is not None:
        draws = full.samples * (items or len(data)) * len(full.parts)
        full = msgspec.structs.replace(full, batch=fastest_rows(opened.field, x, draws))
    known = Opened(data, opened.field, full.model_sha256)
    return full, Job(full, trust, _shared(model), labelled=not doubt, opened=known)


def _suspect(data: Dataset, field: Bounded, config: RunConfig, say: Callable[[str], None]) -> None:
    """Refuse what cannot be meant and say what may be: the model's outputs, its channels, its columns, pixels."""
    model = field.model
    if line := fixed_batch(model):
        say(line)
    if line := repeated_channels(model, data.shape):
        say(line)
    check_columns(data.features, model, config.model)
    if (x := first_input(data, config.device)) is None:
        return  # every input fails, and each will say why
    if line := bright_pixels(model, x):
        say(line)
    noise = parse_noise(config.noise, config.units)
    generator = stream(Purpose.PROBE, config.seed, 0, 0, x.device)
    family = family_of(field, 0, x, together_of(config.subject))
    near = family.inputs(family.noise(noise, _PROBES, generator))
    check_returned(returned_by(innermost(field).model, x, near), field, target_given=config.target is not None)
    if config.together:  # maps that cannot be brought back would fail input by input
        family.explain(family.origin.expand(field.block, -1), generator=generator)


def first_input(data: Dataset, device: str) -> Tensor | None:
    """The first input that can be read; None if there is none."""
    for item in range(len(data)):
        with suppress(StoredDataError):
            return data.input(item).to(device)
    return None


def _share_alpha(opened: OpenedRun) -> OpenedRun:
    """The run whose alpha is shared among all its inputs: all certificates are true at once."""
    config, total = opened.config, len(opened.data)
    count = total if config.items is None else min(config.items, total)
    shared = msgspec.structs.replace(config, alpha=config.alpha / count, simultaneous=count, items=count)
    check_settings(shared)
    return replace(opened, config=shared)


def run(
    job: Job,
    out: Path,
    engine: Engine,
    *,
    strict: bool = False,
    retry: bool = False,
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[Progress], None] = lambda state: None,
    say: Callable[[str], None] = lambda line: None,
) -> Progress:
    """Certify what has no record yet.

    Args:
        job: from `prepare`.
        out: the run's folder.
        engine: where the work is done.
        strict: stop at the first input that fails.
        retry: try inputs again that failed before.
        stop: once it returns True, inputs in hand are finished and stored, and the run ends.
        progress: told after every record.
        say: called with a line that the user should see.
    """
    with Store.create(out, job.config) as store:
        data = job.open().data
        store.note("classes", list(data.classes))
        store.note("features", list(data.features))
        store.note("codebook", data.codebook.to_json())
        items = data.order(job.config.seed if job.config.shuffle else None, job.config.items)
        store.note("inputs", max(len(items), store.recall("inputs") or 0))
        # What was measured when the run began counts.
        job = replace(job, config=msgspec.structs.replace(job.config, batch=store.config.batch))
        state, tasks = _begin(store, items, job.config, retry)
        progress(state)
        processors = Processors(store, say)
        outcomes = engine.outcomes(job, tasks, stop) if tasks else iter(())
        for outcome in outcomes:
            store.add(outcome)
            if state.done == state.begun_with:
                state.started = time.perf_counter()
            elif isinstance(outcome.record, Record):
                state.draws += outcome.record.samples
            processors.meet(outcome.record)
            state.count(outcome.record, exact_text(job.config.cosines[0]))
            progress(state)
            if strict and isinstance(outcome.record, Failure):
                where = f"item {outcome.item} {part_of(outcome.record)}".rstrip()
                raise AttriboundError(f"{where}: {outcome.record.message} (--strict stops here)")
    return state


@final
class Processors:
    """Which kinds of processor a run's records come from: another kind may give other last digits, so it is said."""

    def __init__(self, store: Store, say: Callable[[str], None]) -> None:
        self._store, self._say = store, say
        stored = store.recall(_PROCESSORS)
        self._known = {str(kind) for kind in stored} if isinstance(stored, list) else set()

    def meet(self, record: Stored) -> None:
        """Take note of where a record was made."""
        kind = "" if isinstance(record, Failure) else record.versions.get("cpu", "")
        if not kind or kind in self._known:
            return
        if self._known:
            self._say(
                f"this run was started on a processor of another kind ({', '.join(sorted(self._known))}; now {kind}): "
                f"every certificate holds, but last digits may differ from those of a run on one kind"
            )
        self._known.add(kind)
        self._store.note(_PROCESSORS, sorted(self._known))


def _begin(store: Store, items: Sequence[int], config: RunConfig, retry: bool) -> tuple[Progress, list[Task]]:
    wanted = {(item, part): None for item in items for part in config.parts}
    state, done = Progress(len(wanted)), set[tuple[int, str]]()
    for record in store.stored():
        key = record.item, part_of(record)
        if key in wanted and not (isinstance(record, Failure) and (retry or record.passing)):
            state.count(record, exact_text(config.cosines[0]))
            done.add(key)
    state.begun_with = state.done
    todo = [key for key in wanted if key not in done]
    return state, make_tasks(todo, items, config.pictures)


def _shared(model: nn.Module) -> dict[str, Any]:
    """The model's tensors in memory that worker processes can see."""
    state = {name: value.detach().cpu() for name, value in model.state_dict().items()}
    for value in state.values():
        value.share_memory_()
    return state
