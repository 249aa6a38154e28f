"""Arrays of JAX, under jit, vmap and grad as well as outside of them.

Inside a program that JAX compiles, a kernel is a call through XLA's foreign function interface: on
the CPU its machine code reads and writes XLA's buffers, on a GPU it is queued on XLA's stream.
Numbers are float32 unless jax_enable_x64 is on; this is the rule of JAX.

All kernels are one primitive of JAX, `kinetree`. Its operands either have the leading axes of the
results or no leading axes at all. Its jvp is the primitive again, with the operation of the
derivative, which is linear in the tangents; going backwards, JAX asks for the transpose of that,
which is the operation of the vjp.
"""

import functools
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from kinetree.engine.call.arguments import Lead
from kinetree.engine.call.dispatch import Arguments, Dispatch, Options, SpecialCall
from kinetree.engine.tensors.operation import (
    NUMBERS,
    Operation,
    check_call,
    check_real,
    holds,
    number_type,
    operation_of,
    refuse_kind,
)
from kinetree.engine.tensors.xla import PLATFORMS, target
from kinetree.errors import InputError, need

CONSTANTS = (*NUMBERS, np.ndarray, np.generic)  # types that JAX itself takes as constants

JaxArray: TypeAlias = Any  # jax.Array or a tracer of it; JAX may be missing


def make_call() -> SpecialCall:
    """Return the function for calls with arrays of JAX."""
    return call


def call(dispatch: Dispatch, arrays: Arguments, options: Options) -> Any:
    """Evaluate a kernel on arrays of JAX.

    Outside of all transformations the whole call is a program that JAX compiles for each shape and
    type: later calls are neither read nor checked in Python.
    """
    operation = operation_of(dispatch)
    for x in arrays:
        if options or not has_numbers(type(x)):
            return evaluate(operation, arrays, options)
    if "call" not in operation.kept:
        from jax import jit

        operation.kept["call"] = jit(lambda *xs: evaluate(operation, xs, {}))
    return operation.kept["call"](*arrays)


@functools.cache
def has_numbers(kind: type) -> bool:
    """Return True for the type of JAX's arrays, False for one that a transformation follows."""
    jax = need("jax", "jax", "arrays of JAX")
    return issubclass(kind, jax.Array) and not issubclass(kind, jax.core.Tracer)


def evaluate(operation: Operation, arrays: Arguments, options: Options) -> Any:
    """Check and broadcast the arguments, and compute."""
    jnp = need("jax", "jax", "arrays of JAX").numpy
    if options.get("out") is not None:
        raise InputError(
            f"out= was given to {operation.name} with arrays of JAX, which never change; use its "
            "return value."
        )
    operands, leads, common = prepared(operation, arrays, options)
    ready = [
        x if axes in ((), common) else jnp.broadcast_to(x, (*common, *port.shape))
        for x, axes, port in zip(operands, leads, operation.inputs, strict=True)
    ]
    results = bind(operation, ready)
    return results[0] if len(results) == 1 else tuple(results)


def prepared(
    operation: Operation, arrays: Arguments, options: Options
) -> tuple[list[JaxArray], list[Lead], Lead]:
    """Arrays of JAX of one type, their axes of states, and those that they broadcast to.

    Constants, and lists of arrays, become such arrays.
    """
    jax = need("jax", "jax", "arrays of JAX")
    operands: list[JaxArray] = [jax.numpy.asarray(x) if holds(x, jax.Array) else x for x in arrays]
    kinds: dict[str, str] = {}
    for port, x in zip(operation.inputs, operands, strict=False):
        if isinstance(x, jax.Array):
            kinds[port.name] = x.dtype.name
        elif isinstance(x, CONSTANTS):
            check_real(operation, port.name, x)
        else:
            refuse_kind(operation, port.name, x, "jax", f"jax.numpy.asarray({port.name})")
    leads, common = check_call(operation, operands, options)
    dtype = number_type(operation, kinds)
    if not jax.config.jax_enable_x64:
        dtype = "float32"
    return [jax.numpy.asarray(x, dtype) for x in operands], leads, common


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


def bind(operation: Operation, operands: Sequence[JaxArray]) -> list[JaxArray]:
    """The results of an operation."""
    return primitive().bind(*operands, operation=operation)


def common_lead(operation: Operation, operands: Sequence[JaxArray]) -> tuple[int, ...]:
    """The axes of the results: those of any operand that has some."""
    leads = (port.leading(x.shape) for x, port in zip(operands, operation.inputs, strict=True))
    return next(filter(None, leads), ())


def compute(*operands: JaxArray, operation: Operation) -> list[JaxArray]:
    """Outside of jit: a program of this one operation, compiled once for each shape."""
    import jax

    if "jit" not in operation.kept:
        operation.kept["jit"] = jax.jit(lambda *xs: bind(operation, xs))
    with jax.disable_jit(False):  # else the program would be this function again
        return operation.kept["jit"](*operands)


def shapes(*operands: JaxArray, operation: Operation) -> list[JaxArray]:
    """Shapes and types of the results."""
    from jax.core import ShapedArray

    leading, dtype = common_lead(operation, operands), operands[0].dtype
    return [ShapedArray((*leading, *port.shape), dtype) for port in operation.outputs]


def lower(platform: str, context: Any, *operands: JaxArray, operation: Operation) -> Any:
    """The call of the kernel in XLA's program."""
    from jax.ffi import ffi_lowering

    name = target(operation, context.avals_in[0].dtype.name, platform)
    return ffi_lowering(name)(context, *operands)


def batch(operands: Sequence[JaxArray], axes: Sequence[int | None], *, operation: Operation) -> Any:
    """Make a mapped axis the first of the leading axes; operands without axes stay without."""
    from jax import numpy as jnp

    size = next(x.shape[k] for x, k in zip(operands, axes, strict=True) if k is not None)
    front = [x if k is None else jnp.moveaxis(x, k, 0) for x, k in zip(operands, axes, strict=True)]
    mapped = list(zip(front, axes, operation.inputs, strict=True))
    inner = next(
        filter(None, ((p.leading(x.shape) or ())[k is not None :] for x, k, p in mapped)), ()
    )
    ready = []
    for x, k, port in mapped:
        axes_now = port.leading(x.shape) or ()
        if axes_now and axes_now != (size, *inner):
            gap = () if axes_now[k is not None :] else (1,) * len(inner)
            shape = (size if k is not None else 1, *gap, *x.shape[k is not None :])
            x = jnp.broadcast_to(x.reshape(shape), (size, *inner, *port.shape))
        ready.append(x)
    return bind(operation, ready), [0] * len(operation.outputs)


def jvp(operands: Sequence[JaxArray], tangents: Sequence[JaxArray], *, operation: Operation) -> Any:
    """Results and their tangents."""
    from jax.interpreters.ad import Zero

    wrt = tuple(k for k, v in enumerate(tangents) if type(v) is not Zero)
    moved = [tangents[k] for k in wrt]
    return bind(operation, operands), bind(operation.jvp(wrt), [*operands, *moved])


def transpose(
    cotangents: Sequence[JaxArray], *operands: JaxArray, operation: Operation
) -> list[JaxArray]:
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
    slopes = bind(primal.vjp(wrt), [*fixed, *weights])
    added = [total(x, v.aval.shape) for x, v in zip(slopes, linear, strict=True)]
    return [None] * len(fixed) + added


def total(x: JaxArray, shape: tuple[int, ...]) -> JaxArray:
    """Sum over the states where an operand of `shape` served all of them."""
    return x if x.shape == shape else x.sum(axis=tuple(range(len(x.shape) - len(shape))))
