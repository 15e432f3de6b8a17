"""Are a run's records about its data? Inputs, labels, and names of features and classes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import final

import msgspec

from attribound.certificates.record import Failure, Record
from attribound.certificates.subject import Subject
from attribound.certification.reopen import Opener
from attribound.data import Dataset, scale_for
from attribound.errors import AttriboundError
from attribound.fields import Bounded
from attribound.fields.base import innermost
from attribound.hashes import input_hash
from attribound.noise import units_of
from attribound.runs.job import cells_of
from attribound.runs.store import Store


@final
@dataclass(frozen=True)
class DataCheck:
    """The data of a run, opened again.

    Attributes:
        source: the data.
        order: the inputs that the run was asked for.
        labelled: whether records have labels.
        of_run: what the run as a whole says wrongly of the data.
    """

    source: Dataset
    order: Sequence[int]
    labelled: bool
    of_run: Sequence[str]

    @classmethod
    def of(cls, store: Store, opener: Opener) -> "DataCheck | None":
        """Open a run's data; None if it was made from certificates, which name none."""
        config = store.config
        if not config.data_sha256:
            return None
        source = opener.source(config.data, cells_of(config))
        labelled = any(one.label is not None for one in store.stored() if not isinstance(one, Failure))
        problems = []
        if source.sha256() != config.data_sha256:
            problems.append(f"{source.name} is not what it was made from: the hash of the data differs")
        classes, features = store.recall("classes"), store.recall("features")
        if classes != list(source.classes) and (labelled or classes):  # labels in doubt have no names
            problems.append(f"its names of classes are not those of {source.name}")
        if features != list(source.features):
            problems.append(f"its names of features are not those of {source.name}")
        if store.recall("codebook") not in (None, source.codebook.to_json()):  # older runs have none
            problems.append(f"its codebook is not that of {source.name}")
        order = source.order(config.seed if config.shuffle else None, config.items)
        return cls(source, order, labelled, problems)

    def problems(self, record: Record) -> list[str]:
        """What a record says wrongly of its input."""
        found = self.mismatches(record.subject, record.label)
        if record.features not in (msgspec.UNSET, self.source.features):
            found.append(f"names features that {self.source.name} does not have, or not in this order")
        return found

    def units(self, subject: Subject, field: Bounded) -> list[str]:
        """Whether noise and epsilon count what one unit is in the data; a forest's categories have none."""
        given = None if subject.changes else units_of(scale_for(self.source, innermost(field).model))
        if subject.units == given or (subject.units and given and _near(subject.units, given)):
            return []
        return [f"counts in other units than {self.source.name} gives"]

    def mismatches(self, subject: Subject, stated: int | None) -> list[str]:
        """Where an input's hash, name or label is not that of the data."""
        name, item = self.source.name, subject.item
        try:
            x, label = self.source.input(item), self.source.label(item)
        except (AttriboundError, IndexError):
            return [f"{name} has no input {item} that can be read"]
        found = []
        if (said := subject.input) != (own := self.source.input_name(item)):
            found.append(f"calls its input {said!r}, {name} calls it {own!r}")
        if input_hash(x) != subject.input_sha256:
            found.append(f"item {item} of {name} is not the input that was certified")
        if stated != (label if self.labelled else None):
            found.append(f"has label {stated}, {name} says {label}")
        return found


def _near(stated: Sequence[float], given: Sequence[float]) -> bool:
    """The same, up to the last bits of standard deviations on another machine."""
    return len(stated) == len(given) and all(map(partial(math.isclose, rel_tol=1e-9), stated, given))
