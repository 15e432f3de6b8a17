"""The one interface of statements: what a certificate says, how it is asked for, proved, checked and worded.

A statement is asked before the draws and answered from the evidence alone, so that a stored answer can be derived again
without model or draws. Adding one is a file and a line in the registry: the option on the command line, the argument of
`certify`, the stored answer, its check in `verify` and its words on page and console follow.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, final

from attribound.bounds.evidence import Evidence
from attribound.bounds.facts import Fact
from attribound.bounds.laws import Law

if TYPE_CHECKING:
    from attribound.certificates.certificate import Certificate
    from attribound.sampling.statistic import Statistic

EPSILONS = (0.1, 0.25, 0.5)
COSINES = (0.8, 0.9)
"""What certificates, runs and the command line answer for unless told otherwise."""
ASSUMED = "The limit is ASSUMED: this is not a certificate."
REFERENCE_COSINE = 0.8
"""`rule` names the rule that certifies the largest epsilon at this cosine."""

ROUNDING = 1e-9
"""By how much a stated cosine may be larger than what follows."""


def spare(law: Law) -> float:
    """The same of an epsilon, which may be as small as the noise."""
    return ROUNDING * min(law.value, 1.0)


@final
@dataclass(frozen=True)
class Option:
    """How a statement is asked for: `--NAME TEXT`, and `certify(NAME=value)`.

    Attributes:
        help: for `--help`.
        metavar: what stands for the text in `--help`.
        hidden: only from Python.
    """

    help: str
    metavar: str = "TEXT"
    hidden: bool = False


@final
@dataclass(frozen=True)
class Asking:
    """What a statement may know before the first draw.

    Attributes:
        method: the field's name, for messages.
        block: noisy inputs behind each draw.
        cosines: at which the largest epsilon will be asked.
    """

    method: str
    block: int
    cosines: tuple[float, ...]


class Statement(ABC):
    """One thing that certificates say. An instance is one that was asked for.

    Attributes:
        name: its argument of `certify`, its option, and its place among a record's answers.
        option: how it is asked for; None: every certificate makes it.
        facts: what it is derived from; a record without them does not make it.
        keys: the keys of a record that state its answer; without any, the answer stands under `answers`.
        bulk: whether runs check its answers for many records at once (`runs.proved`), not one by one by `problems`.
    """

    name: ClassVar[str]
    option: ClassVar[Option | None] = None
    facts: ClassVar[tuple[type[Fact], ...]]
    keys: ClassVar[tuple[str, ...]] = ()
    bulk: ClassVar[bool] = False

    @classmethod
    @final
    def made(cls, evidence: Evidence) -> bool:
        """Whether this evidence makes the statement."""
        return all(fact in evidence.facts for fact in cls.facts)

    # --- asked, before the draws ---------------------------------------------------------------------------

    @classmethod
    def parse(cls, text: str) -> Any:
        """The value that was typed; an ArgumentError that says what was expected."""
        return text

    @classmethod
    @abstractmethod
    def ask(cls, value: Any, asking: Asking) -> Self:
        """The statement for a value; an ArgumentError if it cannot be made for such a field."""

    def check_size(self, size: int) -> None:
        """Raise an ArgumentError if it cannot be made about a map of `size` cells."""
        return

    @abstractmethod
    def statistics(self) -> "list[Statistic]":
        """What must be collected, each at its own share of alpha."""

    # --- answered, from the evidence alone -----------------------------------------------------------------

    @classmethod
    @abstractmethod
    def answer(cls, certificate: "Certificate", epsilons: Sequence[float], cosines: Sequence[float]) -> dict[str, Any]:
        """What records state: by `keys`, or any plain values under `answers`."""

    @classmethod
    @abstractmethod
    def problems(cls, certificate: "Certificate") -> list[str]:
        """What the record states beyond what its facts give, in words; facts that cannot be are found before."""

    @classmethod
    def asked(cls, certificate: "Certificate") -> Any:
        """The value that asks the same again; plain JSON values."""
        raise NotImplementedError(f"{cls.name} is made by every certificate")

    @classmethod
    def typed(cls, value: Any) -> str:
        """The text that asks for a value on the command line."""
        return str(value)

    @classmethod
    def words(cls, certificate: "Certificate") -> dict[str, str]:
        """For people: a line each, by what it is about; certified numbers rounded down."""
        return {}
