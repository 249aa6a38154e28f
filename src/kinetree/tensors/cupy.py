"""Arrays of CuPy: the same quantities, computed by CUDA kernels on the GPU where the arrays lie."""

from typing import Any

from kinetree.backends.dispatch import Dispatch
from kinetree.tensors.arguments import check_call
from kinetree.tensors.operation import operation_of


def taker() -> Any:
    """See `kinetree.backends.foreign`."""
    return call


def call(dispatch: Dispatch, arrays: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Evaluate a kernel on arrays of CuPy, on its current stream."""
    operation = operation_of(dispatch)
    check_call(operation, arrays, options)
    return operation.cuda(*arrays, out=options.get("out"))
