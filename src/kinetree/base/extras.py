"""Optional packages, imported when they are used."""

import functools
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

from kinetree.errors import MissingPackageError

Given = ParamSpec("Given")
Result = TypeVar("Result")


def need(module: str, extra: str, purpose: str) -> Any:
    """Import a module; if it is missing, the error has its purpose and how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingPackageError(
            f"{purpose} needs {module.split('.')[0]}, which cannot be imported ({error}). "
            f"Install it with: pip install 'kinetree[{extra}]'."
        ) from error


def hidden_from_torch(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Keep torch.compile from tracing into a function that compiles kernels, which it cannot.

    torch is asked only where it is imported already: importing it takes seconds.
    """

    @functools.wraps(function)
    def call(*args: Given.args, **options: Given.kwargs) -> Result:
        disable = getattr(sys.modules.get("torch._dynamo"), "disable", None)
        return (function if disable is None else disable(function))(*args, **options)

    call.__dict__["_torchdynamo_disable"] = True  # the wrapper itself is not traced either
    return call
