"""What other packages add: registries with a call to register, and installed plug-ins that are found by name.

A package says in its `pyproject.toml` which module registers what:

    [project.entry-points.attribound]
    "law.mixture" = "my_package.mixture"

The module is imported when its law is asked for by name, and never before.
"""

from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar, final

from attribound.errors import ArgumentError

GROUP = "attribound"
"""The group of entry points."""

T = TypeVar("T")


@final
class Registry(Mapping[str, T]):
    """Things of one kind by the names that people type. Asked for an unknown name, it looks for an installed plug-in.

    Iteration goes over what is registered already: it loads nothing.
    """

    def __init__(self, kind: str, shipped: Mapping[str, T]) -> None:
        """Begin with what the package ships.

        Args:
            kind: what these things are, in a word; entry points are called "KIND.NAME".
            shipped: by name.
        """
        self._kind, self._known = kind, dict(shipped)

    def register(self, name: str, value: T) -> T:
        """Make one known; an ArgumentError if the name is taken by another."""
        if not isinstance(name, str) or not name or set(name) & set(":?& \t\n"):
            raise ArgumentError(f"expected a name for the {self._kind}, letters without ':' or spaces, got {name!r}")
        if self._known.setdefault(name, value) is not value:
            raise ArgumentError(f"there is a {self._kind} called {name!r} already")
        return value

    def __getitem__(self, name: str) -> T:
        """The thing of that name, from an installed plug-in if need be."""
        if name not in self._known:
            for entry in entry_points(group=GROUP, name=f"{self._kind}.{name}"):
                self._load(entry, name)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        """Names in the order of registration."""
        return iter(self._known)

    def __len__(self) -> int:
        """How many are registered."""
        return len(self._known)

    def _load(self, entry: EntryPoint, name: str) -> None:
        owner = entry.dist.name if entry.dist else entry.value
        try:
            entry.load()
        except Exception as error:  # whatever a foreign package raises
            text = " ".join(str(error).split())[:300]
            raise ArgumentError(
                f"cannot load the {self._kind} {name!r} of the package {owner}: {type(error).__name__}: {text}"
            ) from None
        if name not in self._known:
            raise ArgumentError(
                f"the package {owner} promises the {self._kind} {name!r}, but {entry.value} does not register it"
            )
