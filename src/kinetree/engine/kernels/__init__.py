"""Kernels: a quantity of a robot becomes a compiled function; algorithms meet the compiler.

Its names for other rooms are imported when first used.
"""

from importlib import import_module
from typing import Any

_NAMES = {
    "compile": "trace_quantity",
    "forms": "is_looped",
    "free": "FREE free_values with_free",
    "memo": "derivative_kernel kernel",
    "quantities": "find_quantity",
    "request": "Request",
    "stored": "model_hash",
}


def __getattr__(name: str) -> Any:
    for file, names in _NAMES.items():
        if name in names.split():
            return getattr(import_module(f"{__name__}.{file}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
