"""`python -m attribound`, and the command `attribound`."""

import os
import signal
import types


def main() -> None:
    """Start the command line; an interrupt while it loads ends it with one line, for there is nothing to lose yet."""
    signal.signal(signal.SIGINT, _leave)
    from attribound.cli import main as run

    run()


def _leave(number: int, frame: types.FrameType | None) -> None:
    os.write(2, b"interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    main()
