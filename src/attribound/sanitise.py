"""Text made fit to print: what a file of unknown origin says may not steer a terminal or break a line."""


def printable(text: str) -> str:
    """One line; control characters become spaces."""
    return blank(" ".join(text.split()))


def blank(text: str) -> str:
    """Letter by letter; control characters, line breaks too, become spaces."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def counted(number: int, noun: str) -> str:
    """A number of things: 1 input, 5 inputs."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def visible(text: str) -> str:
    """Letter by letter; control characters are written out as their codes."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
