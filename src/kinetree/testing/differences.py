"""Derivatives by central differences of order six."""

from collections.abc import Callable
from typing import Any

from kinetree.testing.case import EPS

STEP = EPS ** (1 / 7)  # where truncation h^6 meets rounding eps / h


def derivative(f: Callable[[float], Any], rate: float = 1.0) -> Any:
    """f'(0); `rate` is how fast f changes, in 1 / unit of its argument (1 or more counts)."""
    h = STEP / max(rate, 1.0)
    near, middle, far = ((f(k * h) - f(-k * h)) for k in (1, 2, 3))
    return (45 * near - 9 * middle + far) / (60 * h)
