"""Groups of options that several commands have: classes whose fields are options, one argument of a command each."""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, final, get_type_hints

import typer

from attribound.cli.app import Json, Seed
from attribound.cli.choices import EngineName, OutputName, PrecisionName, default_attribution

if TYPE_CHECKING:
    from attribound.certification.reopen import Opener
    from attribound.fields.base import Field, Model

Command = Callable[..., None]

Arch = Annotated[
    str | None,
    typer.Option(help="Architecture of the weights: small-cnn, resnet18, resnet20, resnet50, resnet50-keras, ..."),
]
Denoiser = Annotated[
    str | None,
    typer.Option(
        help="Denoise first: denoiser-photos, denoiser-cifar10, denoiser-cifar10-resnet20, or "
        "a .safetensors file from `train`."
    ),
]
Items = Annotated[int | None, typer.Option(min=1, hidden=True)]
"""An older name of --items."""
Out = Annotated[Path, typer.Option(help="Folder of the run. The same command again resumes it.")]
Output = Annotated[OutputName, typer.Option(help="What is explained.")]
Target = Annotated[
    str | None, typer.Option(help="Class to explain, by number or name; default: each input's predicted class.")
]
Trust = Annotated[bool, typer.Option(help="Also load programs (TorchScript, .pt2): they can do anything you can.")]


@final
@dataclass(frozen=True)
class Method:
    """How a model is explained."""

    arch: Arch = None
    attribution: Annotated[
        str | None,
        typer.Option(
            help="saliency, ig, gradcam[:LAYER], treeshap, feature-ablation, ..., or your own code, module:Field. "
            "[default: saliency; treeshap for a forest]",
            show_default=False,
        ),
    ] = None
    maps: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            help="Shape of the map: centred, pooled:N, tokens, abs, scaled, relative:DATA; repeat for several.",
        ),
    ] = None
    precision: Annotated[
        PrecisionName,
        typer.Option(help="Run the model in this precision. The map in that precision is what is certified."),
    ] = "float32"
    bound: Annotated[
        str, typer.Option(help="How the limit is known: unit, clip:L or proved:L; with assumed:L nothing is certified.")
    ] = "unit"

    def of(self, model: str) -> dict[str, Any]:
        """As a run's configuration has it, with the defaults that depend on the model."""
        from attribound.fields import default_maps

        method = default_attribution(model) if self.attribution is None else self.attribution
        return vars(self) | {"attribution": method, "maps": tuple(self.maps or default_maps(method))}

    def field(self, network: "Model", model: str, units: tuple[float, ...] | None) -> "Field":
        """The field of a model that was loaded; `model` is its name, `units` those of the features."""
        from attribound.fields import make_field
        from attribound.fields.precision import in_precision

        chosen = self.of(model)
        plain = make_field(network, chosen["attribution"], self.bound, maps=chosen["maps"], units=units)
        return in_precision(plain, self.precision)


@final
@dataclass(frozen=True)
class Work:
    """Which inputs of a run are worked on, where and how."""

    items: Annotated[int | None, typer.Option(min=1, help="Number of inputs. Default: all.")] = None
    limit_items: Items = None
    shuffle: Annotated[bool, typer.Option(help="Take the inputs in random order, fixed by the seed.")] = False
    seed: Seed = 0
    workers: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Processes, one thread each; default: all cores.")
    ] = None
    engine: Annotated[EngineName, typer.Option(help="local, or ray (needs attribound[ray]).")] = "local"
    address: Annotated[str | None, typer.Option(help="Address of an existing Ray cluster.")] = None
    device: Annotated[str, typer.Option(help="cpu, or cuda.")] = "cpu"
    pictures: Annotated[int, typer.Option(min=0, help="Keep pictures of this many inputs, for reports.")] = 200
    strict: Annotated[bool, typer.Option(help="Stop at the first record that fails.")] = False
    retry: Annotated[bool, typer.Option(help="Try failed inputs again.")] = False
    trust_model: Trust = False
    as_json: Json = False

    @property
    def settings(self) -> dict[str, Any]:
        """What of it a run's configuration has."""
        chosen = {name: getattr(self, name) for name in ("shuffle", "seed", "pictures", "device")}
        return {"items": self.items or self.limit_items, **chosen}


@final
@dataclass(frozen=True)
class Repeated:
    """What the user repeats of what a stored file names, because no file may choose it."""

    model: Annotated[str | None, typer.Option(help="The model of the run. Needed if loading it could run code.")] = None
    arch: Arch = None
    denoiser: Denoiser = None
    data: Annotated[str | None, typer.Option(help="The data of the run. Needed for certificates made in Python.")] = (
        None
    )
    attribution: Annotated[
        str | None,
        typer.Option(
            help="The module:Field of the run. Needed because it is code, and no stored file may choose code."
        ),
    ] = None
    trust_model: Trust = False

    def __bool__(self) -> bool:
        """Whether anything is repeated."""
        return bool(self.model or self.denoiser or self.data or self.attribution)

    def opener(self) -> "Opener":
        """What opens the model, data and method of a file."""
        from attribound.certification.reopen import Opener

        named = {name: value for name, value in vars(self).items() if name != "trust_model"}
        return Opener(**named, trust=self.trust_model)


def spread(command: Command) -> Command:
    """The command with an option for every field of those of its arguments that are groups."""
    for name, one in inspect.signature(command).parameters.items():
        if isinstance(group := one.annotation, type) and dataclasses.is_dataclass(group):
            kinds = get_type_hints(group, include_extras=True)
            options = [option(field.name, kinds[field.name], field.default) for field in dataclasses.fields(group)]
            command = instead(command, name, options, group)
    return command


def option(name: str, kind: Any, default: Any) -> inspect.Parameter:
    """One option of a command."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def instead(command: Command, argument: str, options: Sequence[inspect.Parameter], make: Callable[..., Any]) -> Command:
    """The command with options in place of one of its arguments, which is made of what was typed."""

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        typed = {one.name: given.pop(one.name) for one in options}
        command(**given, **{argument: make(**typed)})

    signature = inspect.signature(command)
    parameters = list(signature.parameters.values())
    place = [one.name for one in parameters].index(argument)
    parameters[place : place + 1] = options
    with_options.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {one.name: one.annotation for one in parameters}
    return with_options
