"""Arrays of other packages: which module takes the calls that are made with them.

A package is told by the name of its array's type, so nothing of it is imported to find out; its
module of kinetree is imported when the first of its arrays arrives.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

# package of an array's type -> the module whose `taker()` computes with it
MODULES = {
    "cupy": "kinetree.tensors.cupy",
    "jax": "kinetree.tensors.jax",
    "jaxlib": "kinetree.tensors.jax",
    "torch": "kinetree.tensors.torch",
}

# taker(dispatch, arrays, options) -> results
Taker = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]


_known: dict[type, Taker | None] = {}


def taker(kind: type) -> Taker | None:
    """Who takes arrays of this type, or of a class derived from it; None: NumPy does."""
    if kind not in _known:
        _known[kind] = find(kind)
    return _known[kind]


def find(kind: type) -> Taker | None:
    """The same, looked up."""
    for base in kind.__mro__:
        module = MODULES.get(base.__module__.partition(".")[0])
        if module is not None:
            return import_module(module).taker()
    return None
