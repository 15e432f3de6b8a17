"""Words coloured by what is proved: hot, cold or nothing, for a page, a notebook or a terminal."""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from attribound.certificates.certificate import Certificate
from attribound.certificates.statements.cells import Marks
from attribound.errors import ArgumentError
from attribound.files import write_whole
from attribound.rounding import confidence, exact_text
from attribound.sanitise import blank

_STYLES = {
    1: "background:#f4a582;color:#000;font-weight:bold",
    -1: "background:#d1e5f0;color:#000",
    0: "",
}
"""Colours that people without red-green vision tell apart; hot words are bold as well."""

_TERMINAL = {1: "\033[1;30;43m", -1: "\033[2m", 0: ""}
_MARKS = {1: ("[", "]"), -1: ("", ""), 0: ("", "?")}
_NAMES = {1: "proved hot", -1: "proved cold", 0: "unproved"}


@final
@dataclass(frozen=True, repr=False)
class Highlighted:
    """The words of one text with what is proved about each.

    Attributes:
        words: of the text, in order.
        marks: +1 proved hot, -1 proved cold, 0 unproved, word by word.
        note: what the marks mean, in a sentence.
    """

    words: tuple[str, ...]
    marks: tuple[int, ...]
    note: str

    @property
    def hot(self) -> tuple[str, ...]:
        """The words that are proved hot."""
        return tuple(word for word, mark in zip(self.words, self.marks, strict=True) if mark > 0)

    def __repr__(self) -> str:
        """Plain text: [hot] words in brackets, unproved ones with a question mark."""
        shown = (f"{_MARKS[mark][0]}{word}{_MARKS[mark][1]}" for word, mark in zip(self.words, self.marks, strict=True))
        return " ".join(shown)

    @property
    def coloured(self) -> str:
        """For a terminal: hot words on yellow, cold ones dim."""
        end = "\033[0m"
        parts = (
            f"{_TERMINAL[mark]}{blank(word)}{end if _TERMINAL[mark] else ''}"
            for word, mark in zip(self.words, self.marks, strict=True)
        )
        return " ".join(parts)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        parts = (
            f'<span style="{_STYLES[mark]}" title="{_NAMES[mark]}">{html.escape(word)}</span>'
            for word, mark in zip(self.words, self.marks, strict=True)
        )
        legend = " ".join(f'<span style="{_STYLES[mark]}">{name}</span>' for mark, name in _NAMES.items())
        return f"<p>{' '.join(parts)}</p><p><small>{legend}: {html.escape(self.note)}</small></p>"


def highlight(
    certificate: Certificate, words: Sequence[str], fraction: float | None = None, epsilon: float = 0.0
) -> Highlighted:
    """Colour words by what is proved about their cells of the vote map.

    Args:
        certificate: of a map with one cell per word, certified with `cells=(fraction,)`.
        words: one per cell.
        fraction: which part of the words is called hot; default: the first that was counted.
        epsilon: marks hold for every change of the embedded text up to this.
    """
    counted = [float(key) for key in certificate.record.cells]
    chosen = fraction if fraction is not None else (counted[0] if counted else 0.5)
    marks: Marks = certificate.cells(chosen, epsilon).ravel()
    if len(words) != marks.size:
        raise ArgumentError(f"expected one word per cell of the map ({marks.size}), got {len(words)}")
    note = (
        f"hot: among the {chosen:.0%} of words that matter most for class {certificate.target} in most noisy maps; no "
        f"change of the embedded text up to epsilon {exact_text(float(epsilon))} moves a proved word to the other "
        f"side, with probability at least {confidence(certificate.alpha)}"
    )
    return Highlighted(tuple(map(str, words)), tuple(int(mark) for mark in marks), note)


def save_page(path: str | Path, texts: Sequence[Highlighted], title: str) -> None:
    """Write a self-contained page of coloured texts."""
    body = "<hr>".join(text._repr_html_() for text in texts)
    write_whole(
        path,
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(title)}</title><body style='font:16px/1.6 sans-serif;max-width:46em;margin:2em auto;"
        f"padding:0 1em'><h1>{html.escape(title)}</h1>{body}</body></html>\n",
    )
