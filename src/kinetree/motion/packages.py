"""Optional packages, imported when they are used."""

from importlib import import_module
from typing import Any

from kinetree.errors import KinetreeError


class MissingPackage(KinetreeError, ImportError):
    """A package that is not installed and that the request needs."""


def need(module: str, extra: str, purpose: str) -> Any:
    """The module, or an error that says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingPackage(
            f"{purpose} needs {module.split('.')[0]}, which cannot be imported ({error}). "
            f"Install it with: pip install 'kinetree[{extra}]'."
        ) from error
