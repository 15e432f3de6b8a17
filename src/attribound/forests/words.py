"""What a sheet says, in plain words and raw values. Every end of an interval that is named lies inside it."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from attribound.rounding import exact_text, round_down, short_end, with_commas

if TYPE_CHECKING:
    from attribound.codebook import Codebook
    from attribound.forests.sheet import ColumnTolerance, Part, Sheet

_SHOWN = 4
"""How many reasons are named."""
_NAMED = 5
"""How many columns whose values do not matter are named, rather than called all others."""
_SOLID = 0.25
"""Reasons that no change up to this size removes are called solid, unless another size is asked for."""
ALONE = " if only one answer changes, within these limits"
"""After what a statement says: its columns follow, each with the others as they are."""
_SIZES = {
    "l2": "the root of the sum of squared changes, each in its column's unit; rounded down",
    "each": "the largest change, each in its column's unit; rounded down",
    "count": "the number of changed answers",
}


def letter(sheet: "Sheet", at: float | None) -> str:
    """The reasons of one row, how far each statement about them holds, and what is not said, in sentences."""
    several = len(sheet.parts) > 1
    blocks = [opening(sheet)]
    blocks += [_solid(sheet, at)] if several else []
    blocks += [_part(sheet, part) for part in sheet.parts]
    return "\n\n".join("\n".join(lines) for lines in [*blocks, limits(sheet)])


def opening(sheet: "Sheet") -> list[str]:
    """The answer and its reasons."""
    book, name = sheet.codebook, answer(sheet)
    told = [f"{book.title(reason)} ({_now(sheet, reason)})" for reason in sheet.reasons[:_SHOWN]]
    reasons = f"{'Its reasons' if name else 'The reasons'}, strongest first: {'; '.join(told)}."
    return [f"The answer is: {name}.", reasons] if name else [reasons]


def answer(sheet: "Sheet") -> str:
    """What the model answers: the class by its name, or by its number; empty if it has no classes."""
    if sheet.prediction is None:
        return ""
    classes = sheet.codebook.classes
    name = classes[sheet.prediction] if sheet.prediction < len(classes) else str(sheet.prediction)
    return f"class {name}" if name.isdecimal() else name


def _solid(sheet: "Sheet", at: float | None) -> list[str]:
    """Which of several reasons stay, and which do not."""
    size = at if at is not None else 1.0 if sheet.size == "count" else _SOLID
    kept = [part for part in sheet.parts if part.together.reach > size or math.isinf(part.together.reach)]
    groups = {"Solid": kept, "Not solid": [part for part in sheet.parts if part not in kept]}
    change = "one changed answer" if (sheet.size, size) == ("count", 1) else f"a change of size {exact_text(size)}"
    lines = [f"Which of these reasons hold against {change}?"]
    for word, parts in groups.items():
        titles = [sheet.codebook.title(part.reason) for part in parts if part.reason is not None]
        lines.append(f"  {word}: {', '.join(titles) or 'none'}.")
    return lines


def _part(sheet: "Sheet", part: "Part") -> list[str]:
    return [statement(sheet, part), *_columns(sheet, part), nearest(sheet, part)]


def statement(sheet: "Sheet", part: "Part") -> str:
    """What is to hold, and whether it does."""
    title = "" if part.reason is None else sheet.codebook.title(part.reason)
    if part.together.reach == 0:
        at_row = part.together.exact and not changes(sheet, part.together.nearest)
        tie = " Another reason is as strong, up to rounding." if at_row else ""
        return f"Nothing is proved about this: {part.words}.{tie}"
    if sheet.keep == "first":
        return f"The first reason: {title}. It stays first{ALONE}:"
    if sheet.keep.startswith("stays:"):
        count = sheet.keep.partition(":")[2]
        return f"{title[:1].upper()}{title[1:]} stays among the first {count} reasons{ALONE}:"
    return f"{part.words[:1].upper()}{part.words[1:]}{ALONE}:"


def _columns(sheet: "Sheet", part: "Part") -> list[str]:
    """Where the statement holds, column by column."""
    if part.together.reach == 0:
        return []
    moving = movable(sheet, part)
    free = [sheet.codebook.title(column.name) for column in moving if is_free(column)]
    lines = [f"  {limit(sheet.codebook, column)}" for column in moving if not is_free(column)]
    if free:
        named = join(free, "and") if len(free) <= _NAMED else "all other answers"
        lines.append(f"  {named}: no limit")
    absent = [sheet.codebook.title(column.name) for column in moving if column.missing is False]
    return [*lines, *([f"  (but not if {join(absent, 'or')} is left blank)"] if absent else [])]


def movable(sheet: "Sheet", part: "Part") -> list["ColumnTolerance"]:
    """The columns that may change, groups included."""
    units = dict(zip(sheet.columns, sheet.units.tolist(), strict=True))
    return [column for name, column in part.columns.items() if units.get(name, 1.0) > 0]


def is_free(column: "ColumnTolerance") -> bool:
    """Whether no value of the column breaks the statement."""
    return all(column.alternatives.values()) if column.alternatives else column.values == (-math.inf, math.inf)


def limit(book: "Codebook", column: "ColumnTolerance") -> str:
    """Where the statement holds, in the column's own values."""
    title, now = book.title(column.name), book[column.name].text(column.value)
    if column.alternatives:
        kept = [book[column.name].text(float(one)) for one, holds in column.alternatives.items() if holds]
        lost = [book[column.name].text(float(one)) for one, holds in column.alternatives.items() if not holds]
        if len(kept) > len(lost):
            return f"{title}: not {_quoted(lost)} (now {now})"
        return f"{title}: only {_quoted(kept)}" + ("" if kept == [now] else f" (now {now})")
    return (
        f"{title}: {interval(book, column)} (now {now})" if not math.isnan(column.value) else f"{title}: only missing"
    )


def interval(book: "Codebook", column: "ColumnTolerance") -> str:
    """`from 12 to 47 months`, `up to 47 months`, `from 12 months up`; ends are rounded towards the row's value."""
    low, high = column.values
    unit = book[column.name].unit
    ends = [
        f"from {short_end(low, column.value)}" if low > -math.inf else "",
        f"{'' if low > -math.inf else 'up '}to {short_end(high, column.value)}" if high < math.inf else "",
    ]
    upwards = " up" if low > -math.inf and high == math.inf else ""
    return f"{' '.join(end for end in ends if end)} {unit}".rstrip() + upwards


def nearest(sheet: "Sheet", part: "Part") -> str:
    """The nearest change that breaks the statement, as a sentence."""
    together = part.together
    if math.isinf(together.reach):
        return "No change of these answers takes it away, however large, not even all of them together."
    if together.reach == 0 and not together.exact:
        return "No change is ruled out."
    size = round_down(together.reach, 0 if sheet.size == "count" else 3)
    found = changes(sheet, together.nearest)
    if together.exact:
        text = join(found, "and") or "none is needed"
        return f"The nearest change that {effect(sheet, part)}: {text} (size {size}). No smaller change does."
    known = f" The nearest found {effect(sheet, part)}: {join(found, 'and')}." if found else ""
    return f"Several answers at once: no change smaller than {size} takes it away; the search stopped there.{known}"


def effect(sheet: "Sheet", part: "Part") -> str:
    """What the nearest change does."""
    if part.reason is None or part.after is None or sheet.keep.startswith("sign"):
        return "gives another answer" if sheet.keep == "class" else "breaks this"
    place, strengths = sheet.names.index(part.reason), sheet.side * part.after
    if sheet.keep.startswith("stays:"):
        return f"removes {sheet.codebook.title(part.reason)} from these reasons"
    rival = int(np.argmax(np.where(np.arange(len(strengths)) == place, -np.inf, strengths)))
    title = sheet.codebook.title(sheet.names[rival])
    return f"makes {title} the first reason" if strengths[rival] > strengths[place] else f"makes {title} as strong"


def changes(sheet: "Sheet", row: "np.ndarray | None") -> list[str]:
    """What differs in another row: `6 months longer`, `savings "none" instead of "below 100 DM"`."""
    if row is None:
        return []
    pairs = zip(sheet.columns, sheet.row.tolist(), row.tolist(), strict=True)
    return [
        _change(sheet.codebook, name, before, after)
        for name, before, after in pairs
        if before != after and not (math.isnan(before) and math.isnan(after))
    ]


def _change(book: "Codebook", name: str, before: float, after: float) -> str:
    column, title = book[name], book.title(name)
    if column.words:
        return f'{title} "{column.text(after)}" instead of "{column.text(before)}"'
    if column.text(after) == column.text(before):
        return f"{title} just {'above' if after > before else 'below'} {column.text(before)}"
    way = column.more if after > before else column.less
    if not way or math.isnan(before) or math.isnan(after):
        return f"{title} {column.text(after)} instead of {column.text(before)}"
    step = abs(after - before)
    shown = column.text(step)
    beyond = float(with_commas(step).replace(",", "")) < step
    return f"{'just over ' if beyond else ''}{shown} {way}"


def limits(sheet: "Sheet") -> list[str]:
    """What sizes mean, and what is not said."""
    units = zip(sheet.columns, sheet.units.tolist(), strict=True)
    fixed = [sheet.codebook.title(name) for name, unit in units if unit == 0]
    lines = [f"Sizes: {_SIZES[sheet.size]}."]
    if fixed:
        lines.append(f"Not changed: {', '.join(fixed)}.")
    return [
        *lines,
        "Exact: every value of these columns was accounted for, none was sampled. This holds for this model and "
        f"this {sheet.codebook.noun}. It does not say that the model is right.",
    ]


def join(words: Sequence[str], last: str) -> str:
    """`a, b and c`."""
    return f" {last} ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def _quoted(words: Sequence[str]) -> str:
    return join([f'"{word}"' for word in words], "or")


def _now(sheet: "Sheet", name: str) -> str:
    column = sheet.parts[0].columns[name]
    return sheet.codebook[name].text(column.value)
