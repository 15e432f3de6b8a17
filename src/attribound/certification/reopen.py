"""Open a subject again: exactly the model, input and field that a record is about, or a refusal that says why."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

import msgspec
from torch import Tensor, nn

from attribound.certificates.subject import Subject
from attribound.changes.together import Together
from attribound.data import Dataset, cells_for, fitted, open_data, runs_code
from attribound.data.cells import Cells
from attribound.errors import ArgumentError, AttriboundError, StoredDataError
from attribound.fields import Bounded, make_field, names_code
from attribound.fields.base import Output
from attribound.fields.precision import in_precision
from attribound.forests import TreeShap
from attribound.hashes import input_hash, model_hash
from attribound.models import SHIPPED, Denoised, code_hash, load_denoiser, load_model
from attribound.models.forest import FOREST_SUFFIXES, shap_of
from attribound.models.shipped import weights_folder
from attribound.noise import Noise, parse_noise
from attribound.sampling import Around
from attribound.sampling.along import Along, family_of

_DATA_ONLY = (".safetensors", ".onnx", *FOREST_SUFFIXES)
"""Files whose loading executes nothing that they hold."""


@final
@dataclass(frozen=True)
class Opened:
    """A subject that can be sampled and attacked again."""

    field: Bounded
    x: Tensor
    noise: Noise
    changes: Together | None = None

    def family(self, target: int) -> Around | Along:
        """The maps around the input, or after combinations of changes."""
        return family_of(self.field, target, self.x, self.changes)


@final
class Opener:
    """Opens subjects; models and data that several subjects share are loaded once."""

    def __init__(
        self,
        *,
        model: str | None = None,
        arch: str | None = None,
        denoiser: str | None = None,
        data: str | None = None,
        attribution: str | None = None,
        trust: bool = False,
    ) -> None:
        """What the user repeats, because no file may choose it.

        Args:
            model: the model: needed where naming it would run code, or where it had no name.
            arch: architecture of a file of weights.
            denoiser: the denoiser in front of it: needed where the model had no name.
            data: the data: needed where they had no name.
            attribution: the attribution: needed where it is the user's own code.
            trust: load programs (TorchScript, exported) too.
        """
        self._attribution = attribution
        self._model, self._arch, self._denoiser, self._data, self._trust = model, arch, denoiser, data, trust
        self._networks: dict[tuple[str, str | None, str | None], nn.Module] = {}
        self._sources: dict[str, Dataset] = {}

    def __call__(self, subject: Subject) -> Opened:
        """The field, input and noise of a subject; a model or input with another hash is refused."""
        field, x = self.explained(subject)
        return Opened(field, x, parse_noise(subject.noise, subject.units), together_of(subject))

    def explained(self, subject: Subject) -> tuple[Bounded, Tensor]:
        """The field and input of a subject; a model or input with another hash is refused."""
        named = _named(subject, self._model, self._arch, self._data)
        if names_code(subject.attribution) and self._attribution != subject.attribution:
            raise ArgumentError(
                f"the record names the attribution {subject.attribution!r}, which is code: repeat it as --attribution "
                f"if you trust it"
            )
        if self._denoiser is not None:
            named = msgspec.structs.replace(named, denoiser=self._denoiser)
        network, source = self._network(named), self.source(named.data)
        field = open_field(named, network)
        code = code_hash(named.model, named.arch, own=named.attribution if names_code(named.attribution) else "")
        if model_hash(network) != subject.model_sha256 or (subject.code_sha256 and code != subject.code_sha256):
            taken = "without a --denoiser" if named.denoiser is None else f"behind {named.denoiser}"
            raise ArgumentError(f"{named.model} is not the model that was certified: its hash differs (taken {taken})")
        x = open_input(_found(named, source) if self._data else named, source)
        return field, x

    def table(self, subject: Subject, cells: Cells | None) -> tuple[TreeShap, Dataset]:
        """The forest and the table of a subject; a forest with another hash is refused.

        Args:
            subject: what is named.
            cells: how cells of the table are read.
        """
        named = _named(subject, self._model, self._arch, self._data)
        model = load_model(named.model, named.arch, trust=self._trust)
        if model_hash(model) != subject.model_sha256:
            raise ArgumentError(f"{named.model} is not the model that was certified: its hash differs")
        data = open_data(named.data, cells=cells)
        return shap_of(model, data.features), data

    def model_file(self, subject: Subject) -> Path:
        """The file of a subject's model."""
        name = _named(subject, self._model, self._arch, self._data).model
        return Path(str(weights_folder() / f"{name}.ubj")) if name in SHIPPED else Path(name)

    def _network(self, named: Subject) -> nn.Module:
        key = (named.model, named.arch, named.denoiser and f"{named.denoiser} {named.noise}")
        if key not in self._networks:
            plain = load_model(named.model, named.arch, trust=self._trust)
            source = fitted(named.data, self.source(named.data, cells_for(plain)), plain).data
            self._sources[named.data] = source
            self._networks[key] = behind_denoiser(plain, named, source.shape)
        return self._networks[key]

    @property
    def names_data(self) -> bool:
        """Whether the user repeated the data."""
        return self._data is not None

    def source(self, spec: str, cells: Cells | None = None) -> Dataset:
        """The data that the user repeated, or else those of a spec; `cells`: how cells of a table are read."""
        spec = self._data or spec
        if spec not in self._sources:
            self._sources[spec] = open_data(spec, cells=cells)
        return self._sources[spec]


def open_model(subject: Subject, shape: Sequence[int], *, trust: bool = False) -> nn.Module:
    """The model that a subject names, behind its denoiser if it has one.

    Args:
        subject: what is named.
        shape: of one input; the denoiser is told the noise per feature.
        trust: load programs too.
    """
    return behind_denoiser(load_model(subject.model, subject.arch, trust=trust), subject, shape)


def behind_denoiser(model: nn.Module, subject: Subject, shape: Sequence[int]) -> nn.Module:
    """The model behind the denoiser that a subject names, if it names one; `shape` is that of one input."""
    if subject.denoiser is None:
        return model
    sigma = parse_noise(subject.noise).law(math.prod(shape)).sigma
    return Denoised(model, load_denoiser(subject.denoiser), sigma).eval()


def open_field(subject: Subject, model: nn.Module) -> Bounded:
    """The bounded field that a subject names, on this model."""
    output: Output = "probability" if subject.output == "probability" else "logit"
    field = make_field(
        model, subject.attribution, subject.bound, output, subject.maps, subject.units, subject.reference or None
    )
    return in_precision(field, subject.precision)


def together_of(subject: Subject) -> Together | None:
    """The changes that a subject names, if noise is on their amounts."""
    return Together(subject.changes) if subject.changes else None


def open_input(subject: Subject, source: Dataset) -> Tensor:
    """The input that a subject names, if it is still the one that was certified."""
    if subject.item < len(source) and input_hash(x := source.input(subject.item)) == subject.input_sha256:
        return x
    raise StoredDataError(f"item {subject.item} of {source.name} is not the input that was certified")


def _named(subject: Subject, model: str | None, arch: str | None, data: str | None) -> Subject:
    """The subject with what the user repeated; what would run code is never taken from a file."""
    named = subject
    if model is not None:
        named = msgspec.structs.replace(named, model=model, arch=arch)
    elif not subject.model:
        raise ArgumentError("this was certified in Python, where its model had no name: repeat it as --model")
    elif subject.model not in SHIPPED and Path(subject.model).suffix not in _DATA_ONLY:
        raise ArgumentError(
            f"the record names {subject.model!r}, which may run code: repeat it as --model if you trust it"
        )
    if data is not None:
        return msgspec.structs.replace(named, data=data)
    if not subject.data:
        raise ArgumentError("this was certified in Python, where its data had no name: repeat them as --data")
    if runs_code(subject.data):
        raise ArgumentError(
            f"the record names {subject.data!r}, whose transform is code: repeat it as --data if you trust it"
        )
    return named


def _found(subject: Subject, source: Dataset) -> Subject:
    """The subject with the number that its input has in these data: in Python inputs are not numbered."""
    for item in [subject.item, *range(len(source))]:
        try:
            if item < len(source) and input_hash(source.input(item)) == subject.input_sha256:
                return msgspec.structs.replace(subject, item=item)
        except AttriboundError:
            continue
    raise StoredDataError(f"no input of {source.name} is the one that was certified")
