"""Arrays of JAX, under jit, vmap and grad as well as outside of them.

Inside a program that JAX compiles, a kernel is a call through XLA's foreign function interface: on
the CPU its machine code reads and writes XLA's buffers, on a GPU it is queued on XLA's stream.
Numbers are float32 unless the user has switched on jax_enable_x64, as everywhere in JAX.
"""

from typing import Any

import numpy as np

from kinetree.backends.dispatch import Dispatch
from kinetree.base.extras import need
from kinetree.errors import InputError
from kinetree.tensors.arguments import (
    NUMBERS,
    check_call,
    holds,
    number_type,
    real,
    refuse_kind,
)
from kinetree.tensors.jax_rules import bind, lead
from kinetree.tensors.operation import Operation, operation_of

CONSTANTS = (*NUMBERS, np.ndarray, np.generic)  # which JAX itself takes as constants


def taker() -> Any:
    """See `kinetree.backends.foreign`."""
    return call


def call(dispatch: Dispatch, arrays: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Evaluate a kernel on arrays of JAX."""
    jnp = need("jax", "jax", "arrays of JAX").numpy
    operation = operation_of(dispatch)
    if options.get("out") is not None:
        raise InputError(
            f"out= was given to {operation.name} with arrays of JAX, which never change; use what "
            "it returns."
        )
    operands = prepared(operation, arrays, options)
    ports = operation.inputs
    leads = [lead(x, port) for x, port in zip(operands, ports, strict=True)]
    common = np.broadcast_shapes(*leads)
    ready = [
        x if own in ((), common) else jnp.broadcast_to(x, (*common, *port.shape))
        for x, own, port in zip(operands, leads, ports, strict=True)
    ]
    results = bind(operation, ready)
    return results[0] if len(results) == 1 else tuple(results)


def prepared(operation: Operation, arrays: tuple[Any, ...], options: dict[str, Any]) -> list[Any]:
    """Arrays of JAX of one type; constants, and lists of arrays, become such arrays."""
    jax = need("jax", "jax", "arrays of JAX")
    arrays = tuple(jax.numpy.asarray(x) if holds(x, jax.Array) else x for x in arrays)
    kinds = {}
    for port, x in zip(operation.inputs, arrays, strict=False):
        if isinstance(x, jax.Array):
            kinds[port.name] = x.dtype.name
        elif isinstance(x, CONSTANTS):
            real(operation, port.name, x)
        else:
            refuse_kind(operation, port.name, x, "jax", f"jax.numpy.asarray({port.name})")
    check_call(operation, arrays, options)
    dtype = number_type(operation, kinds)
    if not jax.config.jax_enable_x64:
        dtype = "float32"
    return [jax.numpy.asarray(x, dtype) for x in arrays]
