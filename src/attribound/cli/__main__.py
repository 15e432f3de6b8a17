"""`python -m attribound.cli`."""

from attribound.cli import main

main()
