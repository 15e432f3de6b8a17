"""What a reader must know beside the numbers of a run: said once, for console, page, gate, auditor and card."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, final

from attribound.rounding import confidence, exact_text, round_down, round_up
from attribound.sanitise import counted

Level = Literal["note", "warning", "alarm"]
_NAMED = 5
"""How many items are named."""


@final
@dataclass(frozen=True)
class Remark:
    """One or two sentences.

    Attributes:
        text: the sentences.
        level: "alarm": the numbers are not to be trusted, or not certificates; "warning": they may mean little.
    """

    text: str
    level: Level = "note"


@final
@dataclass(frozen=True)
class Caution:
    """Why a certified cosine may mean little: said of cosines up to a limit, or above one.

    Attributes:
        remark: the sentences, the same for every cosine they are said of.
        upto: of cosines up to this; None: of those above `above`.
        above: of cosines above this.
    """

    remark: Remark
    upto: float | None = None
    above: float | None = None

    def about(self, cosine: float) -> bool:
        """Whether it is to be said of that cosine."""
        return (self.upto is not None and cosine <= self.upto) or (self.above is not None and cosine > self.above)


ASSUMED = Remark("The limit is ASSUMED: none of these numbers is a certificate.", "alarm")


def what_alpha_means(alpha: float, total: int, simultaneous: int = 0) -> Remark:
    """For `total` certificates, all of those that were tried.

    Args:
        alpha: failure probability of each.
        total: how many there are.
        simultaneous: how many share alpha so that all hold at once; 0: they do not.
    """
    shared = Decimal(repr(alpha)) * max(simultaneous, total)
    if simultaneous and shared < 1:
        sure = confidence(float(shared))
        return Remark(f"All {total} certificates are true at once with probability at least {sure}.")
    expected = (Decimal(repr(alpha)) * total).normalize()
    return Remark(
        f"Each certificate is false with probability at most {exact_text(alpha)}, so of the {total} tried at most "
        f"{expected:f} are expected to be false. Among those picked because they passed, the share may be larger."
    )


def what_epsilon_counts(size: str) -> Remark:
    """In the words of the budget."""
    return Remark(f"Epsilon is the change's {size}: the root of the summed squares over all its numbers.")


def violated(count: int, items: Sequence[int] = ()) -> list[Remark]:
    """An attack that broke a certificate."""
    named = f" (item {', '.join(map(str, items[: 2 * _NAMED]))})" if items else ""
    text = (
        f"VIOLATED: attacks turned {counted(count, 'explanation')} further than certified{named}. Either an assumption "
        "is false or there is a bug: trust nothing here, and please report it."
    )
    return [Remark(text, "alarm")] if count else []


def doubtful(doubts: Mapping[int, str], total: int) -> list[Remark]:
    """Records that state more than they prove, or do not belong to their run."""
    named = "; ".join(f"item {item} {why}" for item, why in list(doubts.items())[:_NAMED])
    more = "; and others" if len(doubts) > _NAMED else ""
    are = "is not as it should be" if len(doubts) == 1 else "are not as they should be"
    text = (
        f"{len(doubts)} of {total} records {are}: {named}{more}. Only numbers that follow from their evidence are used."
    )
    return [Remark(text, "alarm")] if doubts else []


def cautions(chance: float | None, fidelity: float | None) -> list[Caution]:
    """Why a certified cosine may mean little.

    Args:
        chance: the 90 % quantile of the cosines between maps of different inputs, if it is known.
        fidelity: the median cosine of smoothed and plain maps, if it is known.
    """
    found = []
    if chance is not None:
        text = (
            f"Maps of different inputs have cosines up to {round_up(chance, 2)} with each other (90 % quantile). A "
            "proved cosine that is no larger says little: a map that looks the same for every input is easy to prove."
        )
        found.append(Caution(Remark(text, "warning"), upto=chance))
    if fidelity is not None:
        text = (
            f"The smoothed map's cosine with the plain map is {round_down(fidelity, 2)} in the median. Where a larger "
            "cosine is proved, the smoothed map differs from the map that people know by more than it can turn."
        )
        found.append(Caution(Remark(text, "warning"), above=fidelity))
    return found


def cautions_about(cosines: Sequence[float], chance: float | None, fidelity: float | None) -> list[Remark]:
    """Those to be said of any of these cosines."""
    return [one.remark for one in cautions(chance, fidelity) if any(map(one.about, cosines))]
