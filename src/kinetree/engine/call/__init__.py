"""The call of a kernel: from Python's call protocol and NumPy arrays into machine code."""

from collections.abc import Callable, Mapping
from typing import Any

from kinetree.core.later import later

Arguments = tuple[object, ...]
Options = Mapping[str, object]

# call(dispatch, arrays, options) -> results; dispatch is the `Dispatch` of the kernel
TensorCall = Callable[[Any, Arguments, Options], object]

# by package of tensors, a function that loads what takes calls with its arrays; see labelled.py
PACKAGES: dict[str, Callable[[], TensorCall]] = {}

# imported when an argument is not an array of NumPy
__getattr__ = later(__name__, {"labelled": "call_by_name call_for check_outputs"})
