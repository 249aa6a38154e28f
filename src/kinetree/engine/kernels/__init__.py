"""Kernels: a quantity of a robot becomes a compiled function; algorithms meet the compiler.

Its names for other rooms are imported when first used.
"""

from kinetree.core.later import later

__getattr__ = later(
    __name__,
    {
        "compile": "trace_quantity",
        "free": "FREE free_values with_free",
        "memo": "kernel",
        "request": "Request find_quantity",
        "stored": "model_hash",
    },
)
