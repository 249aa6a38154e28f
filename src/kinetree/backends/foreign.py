"""Arrays of other packages: which module takes the calls that are made with them.

A package is told by the name of its array's type, so nothing of it is imported to find out; its
module of kinetree is imported when the first of its arrays arrives.
"""

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

# package of an array's type -> the module whose `call(dispatch, arrays, options)` computes with it
TAKERS = {
    "cupy": "kinetree.tensors.cupy",
    "jax": "kinetree.tensors.jax",
    "jaxlib": "kinetree.tensors.jax",
    "torch": "kinetree.tensors.torch",
}

Taker = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]


@functools.lru_cache(maxsize=256)
def taker(kind: type) -> Taker | None:
    """Who takes arrays of this type, or of a class derived from it; None: NumPy does."""
    for base in kind.__mro__:
        module = TAKERS.get(base.__module__.partition(".")[0])
        if module is not None:
            return import_module(module).call
    return None
