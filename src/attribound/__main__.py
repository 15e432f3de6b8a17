"""`python -m attribound`."""

from attribound.cli import main

main()
