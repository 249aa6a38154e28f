"""Functions that torch.compile does not look into: they compile kernels or read names."""

import functools
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


def outside_torch(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The function, which torch.compile calls between two of its graphs.

    torch is asked only where its compiler is imported already: importing it takes seconds.
    """

    @functools.wraps(function)
    def call(*args: Given.args, **options: Given.kwargs) -> Result:
        if "torch._dynamo" not in sys.modules:
            return function(*args, **options)
        return sys.modules["torch"].compiler.disable(function)(*args, **options)

    return call
