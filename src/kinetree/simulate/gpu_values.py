"""Arrays that lie on a GPU and stay there: who they are, and what is computed beside them."""

from typing import Any

import numpy as np


def is_on_gpu(x: Any) -> bool:
    """Whether an argument is an array on a GPU."""
    return hasattr(x, "__cuda_array_interface__")


def own(x: Any) -> Any:
    """Numbers that nobody else changes: CuPy's where they are on a GPU, else NumPy's float64."""
    return cupy().array(x) if is_on_gpu(x) else np.array(x, float)


def beside(x: Any, y: Any) -> Any:
    """y where x is."""
    return cupy().asarray(y) if is_on_gpu(x) else y


def on_cpu(x: Any) -> Any:
    """The same numbers where NumPy sees them."""
    return cupy().asnumpy(x) if is_on_gpu(x) else x


def cupy() -> Any:
    """CuPy, where there is a GPU; the module that knows is imported when an array is on one."""
    from kinetree.backends.cuda import toolkit

    return toolkit.require_device()
