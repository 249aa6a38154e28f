"""kinetree's own source in short: what code was made by, for the keys of the disk cache."""

import functools
import hashlib
import sys
from importlib.resources import files
from importlib.resources.abc import Traversable


@functools.cache
def source_hash(*places: str) -> str:
    """A hash over modules ("backends/engine.py") and all modules of folders ("compiler").

    A program that was packed without its sources has nothing but the version to go by.
    """
    digest = hashlib.sha256()
    try:
        for place in places:
            for module in modules(files("kinetree").joinpath(*place.split("/"))):
                for data in (module.name.encode(), module.read_bytes()):
                    digest.update(len(data).to_bytes(8, "little"))
                    digest.update(data)
    except FileNotFoundError:
        # asked of the package that is there already: a stage does not import what uses it
        return f"kinetree {sys.modules['kinetree'].__version__} without its source"
    return digest.hexdigest()


def modules(place: Traversable) -> list[Traversable]:
    """The module itself, or those of a folder in a fixed order."""
    if place.name.endswith(".py"):
        return [place]
    found = [item for item in place.iterdir() if item.name.endswith(".py")]
    if not found:
        raise FileNotFoundError(f"{place} has no modules")
    return sorted(found, key=lambda item: item.name)
