"""Optional packages: imported when used, and named with the way to install them when missing."""

from importlib import import_module
from typing import Any

from kinetree.errors import MissingPackageError


def need(module: str, extra: str, purpose: str) -> Any:
    """The module, or an error that says what needs it and how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingPackageError(
            f"{purpose} needs {module.split('.')[0]}, which cannot be imported ({error}). "
            f"Install it with: pip install 'kinetree[{extra}]'."
        ) from error
