"""Drawings by name; `{drawing} NAME` calls the function NAME with the settings of the page.

A drawing is a function with keyword arguments that returns SVG text. `@drawing` registers it.
"""

import importlib
import pkgutil
from collections.abc import Callable

DRAWINGS: dict[str, Callable[..., str]] = {}


def drawing(function: Callable[..., str]) -> Callable[..., str]:
    """Register a function under its own name."""
    assert function.__name__ not in DRAWINGS, function.__name__
    DRAWINGS[function.__name__] = function
    return function


for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
