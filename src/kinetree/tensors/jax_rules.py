"""One primitive of JAX for all kernels, and its rules: shapes, vmap, derivatives, code.

The operands of `kinetree` either have the leading axes of its results or none at all. Its `jvp` is
the primitive again, with the operation of the derivative, which is linear in the tangents; JAX asks
for the transpose of that when it goes backwards, which is the operation of the vjp.
"""

import functools
from collections.abc import Sequence
from typing import Any

from kinetree.base.extras import need
from kinetree.compiler.graph import Port
from kinetree.tensors.operation import Operation
from kinetree.tensors.xla_targets import PLATFORMS, target


@functools.cache
def primitive() -> Any:
    """The primitive: bind(*operands, operation=) -> a list of results."""
    need("jax", "jax", "arrays of JAX")
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir

    made = Primitive("kinetree")
    made.multiple_results = True
    made.def_impl(compute)
    made.def_abstract_eval(shapes)
    batching.primitive_batchers[made] = batch
    ad.primitive_jvps[made] = jvp
    ad.primitive_transposes[made] = transpose
    for platform in PLATFORMS:
        rule: Any = functools.partial(lower, platform)
        mlir.register_lowering(made, rule, platform=platform)
    return made


def bind(operation: Operation, operands: Sequence[Any]) -> list[Any]:
    """The results of an operation."""
    return primitive().bind(*operands, operation=operation)


def lead(x: Any, port: Port) -> tuple[int, ...]:
    """The axes of states before those of the port."""
    return tuple(x.shape[: len(x.shape) - len(port.shape)])


def common_lead(operation: Operation, operands: Sequence[Any]) -> tuple[int, ...]:
    """The axes of the results: those of any operand that has some."""
    found = (lead(x, port) for x, port in zip(operands, operation.inputs, strict=True))
    return next(filter(None, found), ())


def compute(*operands: Any, operation: Operation) -> list[Any]:
    """Outside of jit: a program of this one operation, compiled once for each shape."""
    if "jit" not in operation.kept:
        from jax import jit

        operation.kept["jit"] = jit(lambda *xs: bind(operation, xs))
    return operation.kept["jit"](*operands)


def shapes(*operands: Any, operation: Operation) -> list[Any]:
    """Shapes and types of the results."""
    from jax.core import ShapedArray

    leading, dtype = common_lead(operation, operands), operands[0].dtype
    return [ShapedArray((*leading, *port.shape), dtype) for port in operation.outputs]


def lower(platform: str, context: Any, *operands: Any, operation: Operation) -> Any:
    """The call of the kernel in XLA's program."""
    from jax.ffi import ffi_lowering

    name = target(operation, context.avals_in[0].dtype.name, platform)
    return ffi_lowering(name)(context, *operands)


def batch(operands: Sequence[Any], axes: Sequence[int | None], *, operation: Operation) -> Any:
    """A mapped axis becomes the first of the leading axes; what has none stays without."""
    from jax import numpy as jnp

    size = next(x.shape[k] for x, k in zip(operands, axes, strict=True) if k is not None)
    front = [x if k is None else jnp.moveaxis(x, k, 0) for x, k in zip(operands, axes, strict=True)]
    mapped = list(zip(front, axes, operation.inputs, strict=True))
    inner = next(filter(None, (lead(x, p)[k is not None :] for x, k, p in mapped)), ())
    ready = []
    for x, k, port in mapped:
        own = lead(x, port)
        if own and own != (size, *inner):
            gap = () if own[k is not None :] else (1,) * len(inner)
            shape = (size if k is not None else 1, *gap, *x.shape[k is not None :])
            x = jnp.broadcast_to(x.reshape(shape), (size, *inner, *port.shape))
        ready.append(x)
    return bind(operation, ready), [0] * len(operation.outputs)


def jvp(operands: Sequence[Any], tangents: Sequence[Any], *, operation: Operation) -> Any:
    """Results and their tangents."""
    from jax.interpreters.ad import Zero

    wrt = tuple(k for k, v in enumerate(tangents) if type(v) is not Zero)
    moved = [tangents[k] for k in wrt]
    return bind(operation, operands), bind(operation.jvp(wrt), [*operands, *moved])


def transpose(cotangents: Sequence[Any], *operands: Any, operation: Operation) -> list[Any]:
    """Cotangents of the tangents in which a jvp is linear; None for the other operands."""
    from jax import numpy as jnp
    from jax.interpreters.ad import Zero

    primal, wrt = operation.primal, operation.wrt
    assert primal is not None, "only a jvp is linear"
    fixed, linear = operands[: len(primal.inputs)], operands[len(primal.inputs) :]
    if all(type(w) is Zero for w in cotangents):
        return [None] * len(fixed) + [Zero(v.aval) for v in linear]
    dtype = fixed[0].dtype
    weights = [  # zeros of one state serve all states
        jnp.zeros(port.shape, dtype) if type(w) is Zero else w
        for port, w in zip(primal.outputs, cotangents, strict=True)
    ]
    found = bind(primal.vjp(wrt), [*fixed, *weights])
    added = [total(x, v.aval.shape) for x, v in zip(found, linear, strict=True)]
    return [None] * len(fixed) + added


def total(x: Any, shape: tuple[int, ...]) -> Any:
    """What served all states gets the sum over them."""
    return x if x.shape == shape else x.sum(axis=tuple(range(len(x.shape) - len(shape))))
