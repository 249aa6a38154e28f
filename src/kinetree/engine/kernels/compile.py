"""Compile a quantity of a robot: trace the algorithm that is requested, and make the kernel."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from kinetree.engine.call.outside_torch import outside_torch
from kinetree.engine.compiler.graph import Graph, LongGraphError, Port
from kinetree.engine.kernel import DTYPES, Kernel
from kinetree.engine.kernels.help import derivative_help, kernel_help, sparse_help
from kinetree.engine.kernels.ports import check_model, length, port_axes
from kinetree.engine.kernels.request import Request
from kinetree.engine.kernels.stored import stored_graph
from kinetree.engine.kernels.traced import traced_function
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.present.labels import Axes

if TYPE_CHECKING:
    from kinetree.engine.cuda.kernel import CudaKernel
    from kinetree.engine.kernels.signatures import KernelOptions


def trace_quantity(model: Model, name: str, **options: "Unpack[KernelOptions]") -> Graph:
    """Return the optimised graph of a quantity; options as in `Request`."""
    return traced_graph(model, Request(name, **options))


def traced_graph(model: Model, request: Request) -> Graph:
    """Return the optimised graph of a quantity or of its derivatives, from the disk if stored."""
    function, ports = traced_function(model, request)
    stored_as = replace(request, target="cpu", sparse=False)
    return stored_graph(model, stored_as, lambda: _traced(model, request, function, ports))


def _traced(
    model: Model, request: Request, function: Callable[..., Any], ports: Sequence[Port]
) -> Graph:
    # none of these is imported for a graph that is stored on disk
    from kinetree.engine.compiler.optimise import optimise
    from kinetree.engine.compiler.trace import trace

    quantity = request.quantity
    if request.wrt is not None or quantity.slope_of is not None:
        from kinetree.dynamics.contacts.impacts import check_smooth
        from kinetree.engine.kernels.slopes import slope_graph

        if quantity.step:
            check_smooth(model)
        return slope_graph(model, request, function, ports)
    return optimise(trace(function, ports, quantity.outputs))


def untraced_graph(model: Model, request: Request) -> Graph:
    """Return the function of a quantity in place of its graph, which would be too long."""
    from kinetree.engine.interpreted import UntracedGraph

    function, ports = traced_function(model, request)
    outputs = [
        Port(letter, tuple(length(model, x, request.rows) for x in dims), dims)
        for letter, dims in request.quantity.outputs
    ]
    return UntracedGraph(tuple(ports), tuple(outputs), function)


@outside_torch
def compiled(model: Model, request: Request) -> "Kernel | CudaKernel":
    """Compile the kernel of a request, specialised to the robot.

    The kernel of a derivative has a result for each pair, shape (*quantity, *argument). Positions
    are moved along tangent vectors of `integrate`, so d/d q has n entries for joints of any type.
    """
    quantity, wrt = request.quantity, request.wrt
    try:
        graph = traced_graph(model, request)
    except LongGraphError:
        if wrt is not None or quantity.step or request.sparse or request.target != "cpu":
            raise
        graph = untraced_graph(model, request)
    more = None
    if wrt is None:
        # wrenches may add values to a sparse result, whose length may not depend on a call
        if quantity.wrenches and not (request.wrenches or request.free or request.sparse):
            more = "F_ext", partial(compiled, model, replace(request, wrenches=True))
        name = request.name
        doc = kernel_help(quantity, model, graph, None if more is None else more[0])
        axes = port_axes(model, graph, request.rows)
    else:
        name = f"{'second_' if request.order == 2 else ''}derivative_of_{request.name}"
        doc = derivative_help(request, model, graph)
        axes = _slope_axes(model, graph, request)
    if request.sparse:
        graph, doc, axes = _sparse(model, name, graph, doc, axes)
    if request.target == "cuda":
        from kinetree.engine.cuda.kernel import CudaKernel

        return CudaKernel(graph, name, doc, more=more)
    # a solver that repeats until its error is 1e-8, and the closing of loops, need float64
    closed = quantity.step and model.constraints is not None
    dtypes = ("float64",) if closed or graph.has_loops else DTYPES
    return Kernel(graph, name, doc, dtypes=dtypes, more=more, axes=axes)


def variant(
    model: Model,
    name: str,
    key: tuple[object, ...],
    make: Callable[[], Callable[..., Any]],
    ports: Sequence[Port],
    outputs: Sequence[tuple[str, tuple[str, ...]]],
    doc: str,
    rows: Sequence[int] | None = None,
) -> Kernel:
    """Compile another function of a robot than its declared quantities.

    Args:
        model: of the robot.
        name: of the kernel.
        key: all that the function depends on besides the model and the ports.
        make: checks the request and returns the function to trace; not called for a stored graph.
        ports: the arguments.
        outputs: name and letters of the shape of each result.
        doc: help of the kernel.
        rows: the coordinates of a task.
    """

    def traced() -> Graph:
        from kinetree.engine.compiler.optimise import optimise
        from kinetree.engine.compiler.trace import trace

        return optimise(trace(make(), ports, outputs))

    check_model(model)
    graph = stored_graph(model, (name, *key, *(port.name for port in ports)), traced)
    return Kernel(graph, name, doc, axes=port_axes(model, graph, rows))


def _slope_axes(model: Model, graph: Graph, request: Request) -> Axes:
    """Return the names along the axes of derivatives; those of q are tangents."""
    if request.order == 2:
        return port_axes(model, graph)
    dims = {port.name: port.dims for port in graph.inputs} | {"q": ("n",)}
    pairs = [(of, dims[x]) for _, of in request.quantity.outputs for x in request.wrt or ()]
    return port_axes(model, graph, request.rows, [(*of, *by) for of, by in pairs])


def _sparse(model: Model, name: str, dense: Graph, doc: str, axes: Axes) -> tuple[Graph, str, Axes]:
    """Return the values of a graph that are not always zero, with their help and axes."""
    from kinetree.engine.compiler.sparse import sparse

    graph = sparse(dense)
    pattern = graph.pattern
    if not pattern.size:
        raise InputError(
            f"{name} of {model.name!r} is zero at every state, so there are no values of it; leave "
            "out sparse=True to get the zeros."
        )
    return graph, sparse_help(doc, pattern.size), (axes[0], ((None,),))
