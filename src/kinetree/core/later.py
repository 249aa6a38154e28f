"""Names of a package that are imported when first used, so that programs start quickly."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def later(
    package: str, names: Mapping[str, str], files: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """The `__getattr__` of a package: it imports the file of a name.

    Args:
        package: its `__name__`.
        names: by file below the package, those that it has, between spaces.
        files: further names with their files.
    """
    listed = {name: file for file, text in names.items() for name in text.split()}
    places = {**(files or {}), **listed}

    def attribute(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{places[name]}"), name)
        setattr(import_module(package), name, value)
        return value

    return attribute
