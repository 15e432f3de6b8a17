"""The parser's own messages in our words: one line that names the option, what was expected, and what was typed."""

import re
from collections.abc import Sequence
from itertools import pairwise

_INVALID = re.compile(r"Invalid value for '(?P<option>--[a-z-]+)': (?:Value error, )?(?P<problem>.*)", re.DOTALL)
_NUMBER = re.compile(r"[-+]?[0-9.]+")
_EXPECTED = (
    (re.compile(r"Input should be greater than or equal to (\S+)"), r"{option} >= \1"),
    (re.compile(r"Input should be less than or equal to (\S+)"), r"{option} <= \1"),
    (re.compile(r"Input should be a valid integer.*"), "{option} to be a whole number"),
    (re.compile(r"Input should be a valid number.*"), "{option} to be a number"),
    (re.compile(r"'.*' is not one of (.*)\."), r"{option} one of \1"),
)


def plain_message(message: str, words: Sequence[str]) -> str:
    """The message as it is, or in our words if it is about the value of an option.

    Args:
        message: the parser's.
        words: the command line.
    """
    invalid = _INVALID.fullmatch(message)
    typed = _typed(invalid["option"], words) if invalid else None
    if invalid is None or typed is None:
        return message
    for pattern, expected in _EXPECTED:
        if found := pattern.fullmatch(invalid["problem"]):
            got = typed if _NUMBER.fullmatch(typed) else repr(typed)
            return f"expected {found.expand(expected).format(option=invalid['option'])}, got {got}"
    return message


def _typed(option: str, words: Sequence[str]) -> str | None:
    """The only value that was typed for an option; None if there are several, of which one is wrong."""
    values = [word.removeprefix(f"{option}=") for word in words if word.startswith(f"{option}=")]
    values += [value for word, value in pairwise(words) if word == option]
    return values[0] if len(values) == 1 else None
