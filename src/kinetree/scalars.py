"""Elementary functions for every scalar kind that the algorithms run on.

An algorithm takes `sin` and its friends from here and thereby works on floats, SymPy expressions,
mpmath numbers and traced scalars alike. The module that defines a scalar's type decides: numbers of
Python and NumPy go to `math`, the rest to the module that knows them.
"""

import importlib
from typing import Any

HOMES = {
    "builtins": "math",
    "numpy": "math",
    "mpmath": "mpmath",
    "sympy": "sympy",
}


def home(x: Any) -> Any:
    """Module whose elementary functions fit the scalar `x`."""
    module = type(x).__module__
    package = module.partition(".")[0]
    return importlib.import_module(module if package == "kinetree" else HOMES.get(package, "math"))


def sin(x: Any) -> Any:
    """Sine of an angle in rad."""
    return home(x).sin(x)


def cos(x: Any) -> Any:
    """Cosine of an angle in rad."""
    return home(x).cos(x)


def sqrt(x: Any) -> Any:
    """Square root."""
    return home(x).sqrt(x)


def atan2(y: Any, x: Any) -> Any:
    """Angle of the point (x, y) in rad, from -pi to pi."""
    return home(y).atan2(y, x)


def sign(x: Any) -> Any:
    """Sign of x: -1, 0 or 1; NaN stays NaN."""
    module = home(x)
    if hasattr(module, "sign"):
        return module.sign(x)
    return x if x != x else int(x > 0) - int(x < 0)
