"""Sums and roots whose bits depend neither on the processor nor on the number of rollouts.

The power function of NumPy differs between processors, and its sums between shapes of arrays.
step_code.py has the same operations in the same order.
"""

import numpy as np

from kinetree.base.arrays import Array

LARGEST = 1e6  # of which a root is taken: a larger defect shortens the step by the most allowed
ROOT_ITERATIONS = 8  # of Newton's method: from 1 to LARGEST, the last ones change nothing


def total(x: Array) -> Array:
    """The sums over the last axis, from its first number on."""
    return np.add.accumulate(x, -1)[..., -1]


def root(x: Array, order: int) -> Array:
    """The root of order 3, 4, 7 or 8 of numbers; for 3 and 7, of those from 1 to LARGEST."""
    y = np.sqrt(np.sqrt(x))
    y = np.sqrt(y) if order > 4 else y
    if order in (4, 8):
        return y
    x = np.minimum(x, LARGEST)
    y = np.minimum(y, LARGEST)
    for _ in range(ROOT_ITERATIONS):
        power = y
        for _ in range(order - 2):
            power = power * y
        y = y - (power * y - x) / (order * power)
    return y
