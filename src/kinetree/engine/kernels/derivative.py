"""kt.kernels.derivative: kernels of the derivatives of any function that can be traced."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeGuard

import numpy as np

from kinetree.core.options import is_one_of
from kinetree.engine.compiler.derivatives import (
    gradient,
    hessian,
    hessian_vector,
    jacobian,
    jvp,
    vjp,
)
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.store import digest
from kinetree.engine.compiler.trace import guarded, trace
from kinetree.engine.kernel import Kernel
from kinetree.engine.kernels.memo import Recent
from kinetree.errors import InputError, KinetreeError
from kinetree.present.labels import Axes

KINDS: dict[str, Callable[..., Graph]] = {
    "jacobian": jacobian,
    "jvp": jvp,
    "vjp": vjp,
    "gradient": gradient,
    "hessian": hessian,
    "hessian_vector": hessian_vector,
}

MODES = ("auto", "forward", "reverse")
MAX_REMEMBERED = 64  # derivatives that are remembered
_recent: Recent[Kernel] = Recent(MAX_REMEMBERED)


def derivative(
    function: Kernel | Callable[..., Any],
    wrt: str | Sequence[str] | None = None,
    *,
    kind: str = "jacobian",
    shapes: Mapping[str, int | tuple[int, ...]] | None = None,
    mode: str = "auto",
) -> Kernel:
    """Compile the kernel of a derivative.

    Args:
        function: a kernel, or a function of arrays that can be traced (sin, cos, sqrt and sign from
            kinetree.scalars, no branch on values).
        wrt: name or names of the arguments to differentiate by; all when None.
        kind: "jacobian": d result/d argument, shape (*result, *argument);
            "jvp": the Jacobian times a tangent for each argument of `wrt`, given after the others;
            "vjp": a cotangent for each result, given after the others, times the Jacobian;
            "gradient", "hessian": of one number; "hessian_vector": the Hessian times a tangent.
        shapes: for a function: the shapes of its arguments by name, in their order.
        mode: of a Jacobian: "forward", "reverse", or "auto" for the one with fewer passes.

    Returns:
        A kernel of the same arguments (and the tangents or cotangents); several results where there
        are several pairs. Coordinates are differentiated as they are: for the quaternions of a
        robot see `Robot.derivative`.
    """
    if not is_one_of(kind, KINDS):
        raise InputError(f"kind is {kind!r}; expected one of {', '.join(KINDS)}.")
    if not is_one_of(mode, MODES):
        raise InputError(f"mode is {mode!r}; expected one of {', '.join(MODES)}.")
    if mode != "auto" and kind != "jacobian":
        raise InputError(f"mode={mode!r} was given for kind={kind!r}; only a Jacobian has a mode.")
    names: Any = wrt if wrt is None or is_several(wrt) else [wrt]
    names = None if names is None else list(names)

    graph, name = graph_of(function, shapes)

    def made() -> Kernel:
        make = partial(jacobian, mode=mode) if kind == "jacobian" else KINDS[kind]
        derived = optimise(make(graph, names))
        axes = slope_axes(function, derived) if isinstance(function, Kernel) else None
        return Kernel(derived, f"{kind}_of_{name}", f"{kind} of {name}", axes=axes)

    identity = function if isinstance(function, Kernel) else digest(graph)
    chosen = None if names is None else tuple(names)
    return _recent.find((identity, name, chosen, kind, mode), made)


def slope_axes(function: Kernel, derived: Graph) -> Axes | None:
    """Return the names along the axes of a derivative, from those of the kernel.

    The names of its arguments and results tell what they are: v_q is a tangent of q, dtau_dq the
    slope of tau by q, d_dq and dd_dq_dv are gradients and second derivatives of one number.
    """
    if function.axes is None:
        return None
    graph, (inputs, outputs) = function.graph, function.axes
    at = {port.name: axis for port, axis in zip(graph.inputs, inputs, strict=True)}
    of = {port.name: axes for port, axes in zip(graph.outputs, outputs, strict=True)}
    by = {
        x.name: (at[x.name],) if len(x.shape) == 1 else (None,) * len(x.shape) for x in graph.inputs
    }
    along = at | {f"v_{x}": axis for x, axis in at.items()}
    along |= {f"w_{x}": axes[0] for x, axes in of.items() if len(axes) == 1}
    named = {f"d{x}": axes for x, axes in of.items()}
    for x, axes in by.items():
        named |= {f"d_d{x}": axes, f"dd_d{x}": axes}
        named |= {f"d{y}_d{x}": (*others, *axes) for y, others in of.items()}
        named |= {f"dd_d{y}_d{x}": (*others, *axes) for y, others in by.items()}
    unnamed = {port.name: (None,) * len(port.shape) for port in derived.outputs}
    return (
        tuple(along.get(port.name) for port in derived.inputs),
        tuple(named.get(port.name, unnamed[port.name]) for port in derived.outputs),
    )


def graph_of(
    function: Kernel | Callable[..., Any], shapes: Mapping[str, int | tuple[int, ...]] | None
) -> tuple[Graph, str]:
    """Return the graph of a kernel or function, and its name."""
    if isinstance(function, Kernel):
        if shapes is not None:
            raise InputError(
                f"shapes was given for the kernel {function.name!r}, which has its own."
            )
        return function.graph, function.name
    name = getattr(function, "__name__", "function").strip("<>")
    if not callable(function):
        raise InputError(
            f"{function!r} cannot be differentiated; expected a kernel, such as "
            "robot.inverse_dynamics, or a function of arrays."
        )
    if not isinstance(shapes, Mapping):
        raise InputError(
            f"{name!r} is a function, whose arguments have no shapes yet: give them in order, "
            "such as shapes={'q': 7, 'x': (3, 3), 't': ()}."
        )
    ports = [Port(key, read_shape(key, shape)) for key, shape in shapes.items()]
    try:
        return trace(lambda *args: function(*map(guarded, args)), ports), name
    except KinetreeError:
        raise
    except Exception as problem:  # the user's code, and whatever it calls
        raise InputError(
            f"{name!r} cannot be differentiated, because it cannot be traced with the arguments "
            f"{', '.join(shapes)}: {type(problem).__name__}: {problem}. Take sin, cos and sqrt "
            "from kinetree.scalars; pass kernels, such as robot.compile('pose'), directly."
        ) from problem


def read_shape(name: str, shape: object) -> tuple[int, ...]:
    """Return the shape of an argument, from a length or a list of lengths."""
    lengths: tuple[Any, ...] = tuple(shape) if is_several(shape) else (shape,)
    for length in lengths:
        whole = isinstance(length, int | np.integer) and not isinstance(length, bool)
        if not whole or length < 1:
            raise InputError(
                f"the shape of {name!r} is {shape!r}; expected whole numbers of 1 or more, () for "
                "a number."
            )
    return tuple(int(length) for length in lengths)


def is_several(value: object) -> TypeGuard[Iterable[Any]]:
    """Return True for a list or tuple, False for a single name or number."""
    return isinstance(value, Iterable) and not isinstance(value, str)
