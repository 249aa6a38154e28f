"""kt.derivative: kernels of the derivatives of anything that can be traced."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from kinetree.backends.kernel import Kernel
from kinetree.compiler.derivatives import jacobian
from kinetree.compiler.graph import Graph, Port
from kinetree.compiler.optimise import optimise
from kinetree.compiler.products import gradient, hessian, hessian_vector, jvp, vjp
from kinetree.compiler.trace import trace
from kinetree.errors import InputError

KINDS: dict[str, Callable[..., Graph]] = {
    "jacobian": jacobian,
    "jvp": jvp,
    "vjp": vjp,
    "gradient": gradient,
    "hessian": hessian,
    "hessian_vector": hessian_vector,
}


def derivative(
    function: Kernel | Callable[..., Any],
    wrt: str | Sequence[str] | None = None,
    *,
    kind: str = "jacobian",
    shapes: Mapping[str, int | tuple[int, ...]] | None = None,
    mode: str = "auto",
) -> Kernel:
    """The kernel of a derivative.

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
    if kind not in KINDS:
        raise InputError(f"kind is {kind!r}; expected one of {', '.join(KINDS)}.")
    if mode != "auto" and kind != "jacobian":
        raise InputError(f"mode={mode!r} was given for kind={kind!r}; only a Jacobian has a mode.")
    graph, name = graph_of(function, shapes)
    names = [wrt] if isinstance(wrt, str) else wrt
    make = partial(jacobian, mode=mode) if kind == "jacobian" else KINDS[kind]
    found = optimise(make(graph, names))
    return Kernel(found, f"{kind}_of_{name}", f"{kind} of {name}")


def graph_of(
    function: Kernel | Callable[..., Any], shapes: Mapping[str, int | tuple[int, ...]] | None
) -> tuple[Graph, str]:
    """The graph of a kernel or function, and its name."""
    if isinstance(function, Kernel):
        if shapes is not None:
            raise InputError(
                f"shapes was given for the kernel {function.name!r}, which has its own."
            )
        return function.graph, function.name
    name = getattr(function, "__name__", "function").strip("<>")
    if shapes is None:
        raise InputError(
            f"{name!r} is a function, whose arguments have no shapes yet: give them in order, "
            "such as shapes={'q': 7, 'x': (3, 3), 't': ()}."
        )
    ports = [Port(k, (v,) if isinstance(v, int) else tuple(v)) for k, v in shapes.items()]
    for port in ports:
        if any(length < 1 for length in port.shape):
            raise InputError(
                f"the shape of {port.name!r} is {port.shape}; expected lengths of 1 or more."
            )
    return trace(function, ports), name
