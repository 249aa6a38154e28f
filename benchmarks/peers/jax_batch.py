"""A batch for libraries that run on JAX: the function of one state, mapped and compiled by XLA."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from benchmarks.peers.loops import reorder, restore
from benchmarks.robots import Arrays
from benchmarks.timing import Job

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")


def mapped(function: Callable[..., Any], quantity: str, states: Arrays, columns: np.ndarray) -> Job:
    """States are on the device before the clock runs; the statement waits for the result."""
    compiled = jax.jit(jax.vmap(function))
    own = [jax.numpy.asarray(x) for x in reorder(states, columns)]

    def run() -> Any:
        return compiled(*own).block_until_ready()

    return Job("run()", {"run": run}, lambda: restore(run(), quantity, columns), apart=True)
