"""Arrays of other packages: the functions that take calls made with them.

`kinetree.tensors` registers a function for each package. A package is recognised by the
name of the array's type, so nothing of it is imported to find out; its function is loaded when the
first of its arrays arrives.
"""

from collections.abc import Callable, Mapping
from typing import Any

Arguments = tuple[object, ...]
Options = Mapping[str, object]

# call(dispatch, arrays, options) -> results; dispatch is the `Dispatch` of the kernel
ForeignCall = Callable[[Any, Arguments, Options], object]

_packages: dict[str, Callable[[], ForeignCall]] = {}
_known: dict[type, ForeignCall | None] = {}


def register(package: str, load: Callable[[], ForeignCall]) -> None:
    """Send calls with arrays of `package` to the function that `load` returns."""
    _packages[package] = load
    _known.clear()


def foreign_call(kind: type) -> ForeignCall | None:
    """Return the function for arrays of this type or of a class derived from it; None: NumPy."""
    if kind not in _known:
        packages = (base.__module__.partition(".")[0] for base in kind.__mro__)
        load = next((_packages[name] for name in packages if name in _packages), None)
        _known[kind] = None if load is None else load()
    return _known[kind]
