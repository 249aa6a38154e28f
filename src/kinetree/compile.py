"""Where algorithms meet the compiler: a quantity of a robot becomes a kernel."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from kinetree.arrays import Array
from kinetree.backends.kernel import Kernel
from kinetree.compilable import check_model, check_options
from kinetree.compiler.graph import Graph, Port
from kinetree.compiler.optimise import optimise
from kinetree.compiler.trace import trace
from kinetree.free import free_ports, with_free
from kinetree.model import Model
from kinetree.quantities import DERIVED, QUANTITIES, Quantity, check_inertia, find_quantity
from kinetree.traced import stored_graph

__all__ = [
    "DERIVED",
    "QUANTITIES",
    "Quantity",
    "check_inertia",
    "compile_kernel",
    "trace_quantity",
]


def trace_quantity(
    model: Model,
    name: str,
    *,
    frame: str | None = None,
    wrenches: bool = False,
    free: Sequence[str] = (),
) -> Graph:
    """The optimised graph of a quantity of the robot; arguments as in `compile_kernel`."""
    quantity = find_quantity(name)
    check_model(model)
    check_options(
        model,
        name,
        framed=quantity.framed,
        loaded=quantity.wrenches,
        frame=frame,
        wrenches=wrenches,
    )
    state = [_port(model, x) for x in quantity.inputs]
    loads = [Port("F_ext", (len(model.links), 6), ("l", "6"))] if wrenches else []
    extra = free_ports(model, free)
    given = len(state) + len(loads)

    def function(*arrays: Array) -> Any:
        changed = with_free(model, free, arrays[given:])
        return quantity.make(changed, not free, frame)(*arrays[:given])

    def make() -> Graph:
        return optimise(trace(function, [*state, *loads, *extra], quantity.outputs(name)))

    return stored_graph(model, (name, frame, wrenches, tuple(free)), make)


def compile_kernel(
    model: Model,
    name: str,
    *,
    frame: str | None = None,
    wrenches: bool = False,
    free: Sequence[str] = (),
) -> Kernel:
    """The kernel of a quantity, specialised to the robot.

    Args:
        model: the robot.
        name: one of `QUANTITIES` or `DERIVED`.
        frame: the frame of a pose or Jacobian; the tool when None.
        wrenches: with F_ext, (links, 6), as the last argument of the state.
        free: data that become further arguments instead of constants: some of
            "mass" (l,), "com" (l, 3), "inertia" (l, 3, 3) about the centre, "gravity" (3,),
            "friction" (l, 4): viscous and Coulomb coefficients, each for dq > 0 and dq < 0.
    """
    quantity = find_quantity(name)
    graph = trace_quantity(model, name, frame=frame, wrenches=wrenches, free=free)
    doc = f"{name} of {model.name}: {quantity.doc}"
    if quantity.wrenches and not wrenches and not free:
        more = partial(compile_kernel, model, name, wrenches=True)
        return Kernel(graph, name, doc, more=("F_ext", more))
    return Kernel(graph, name, doc)


def _port(model: Model, name: str) -> Port:
    if name == "q":
        same = model.nq == model.n
        return Port("q", (model.nq,), ("n",) if same else ("nq",))
    return Port(name, (model.n,), ("n",))
