"""Compile a quantity of a robot: trace the algorithm that is requested, and make the kernel."""

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack, cast

import numpy as np

from kinetree import dynamics
from kinetree.core.arrays import Array, is_numeric, strangest
from kinetree.core.axis import Axes, Axis
from kinetree.core.records import named_numbers
from kinetree.dynamics.traced import maker
from kinetree.engine.compiler.graph import Graph, LongGraphError, Port
from kinetree.engine.kernel import DTYPES, Kernel, More
from kinetree.engine.kernels.help import derivative_help, kernel_help, sparse_help
from kinetree.engine.kernels.request import Request
from kinetree.engine.kernels.stored import stored_graph
from kinetree.errors import InputError, ModelError, argument
from kinetree.files.description.joints import SCREW_TYPES
from kinetree.model import Model
from kinetree.model.labelled import DIRECTIONS, letter_axis
from kinetree.model.quantity import Make

if TYPE_CHECKING:
    from kinetree.engine.compiler.derivatives import Along
    from kinetree.engine.compiler.store import StoredGraph
    from kinetree.engine.cuda.kernel import CudaKernel
    from kinetree.engine.kernels.second import Traced
    from kinetree.engine.kernels.signatures import KernelOptions

Given = ParamSpec("Given")
Result = TypeVar("Result")

ITS_DERIVATIVES = "inverse_dynamics_derivatives"
DIFFERENTIATED = 8  # degrees of freedom up to which differentiating a graph may be shorter


def trace_quantity(model: Model, name: str, **options: "Unpack[KernelOptions]") -> Graph:
    """Return the optimised graph of a quantity; options as in `Request`."""
    return traced_graph(model, Request(name, **options))


def traced_graph(model: Model, request: Request) -> Graph:
    """Return the optimised graph of a quantity or of its derivatives, from the disk if stored."""
    function, ports = _prepared(model, request)
    return stored_graph(
        model, replace(request, target="cpu", sparse=False),
        lambda: _traced(model, request, function, ports),
    )  # fmt: skip


def _traced(
    model: Model, request: Request, function: Callable[..., Any], ports: Sequence[Port]
) -> Graph:
    # none of these is imported for a graph that is stored on disk
    from kinetree.engine.compiler.optimise import optimise
    from kinetree.engine.compiler.trace import trace

    quantity = request.quantity
    if request.wrt is not None:
        graphs: list[Graph] = []
        if _has_recursion(model, request):
            graphs.append(optimise(trace(*_second(model, request))))
        if not graphs or model.n <= DIFFERENTIATED:
            graphs.append(_differentiated(model, request, function, ports))
        return min(graphs, key=lambda graph: graph.operations)
    if quantity.step:
        from kinetree.engine.kernels.step import step_graph

        if not request.free:
            _check_inertia(model)
        return step_graph(model, quantity, ports, request.free)
    if quantity.slope_of is None:
        return optimise(trace(function, ports, quantity.outputs))
    if model.constraints is not None:
        return optimise(_slope(model, request, *quantity.slope_of))
    graph = trace(function, ports, quantity.outputs)
    if model.n <= DIFFERENTIATED:
        slope = _slope(model, request, *quantity.slope_of)
        graph = min(graph, slope, key=lambda graph: graph.operations)
    return optimise(graph)


def _differentiated(
    model: Model, request: Request, function: Callable[..., Any], ports: Sequence[Port]
) -> Graph:
    """Return the derivatives of the graph of a quantity, of the first or second order."""
    from kinetree.engine.compiler.derivatives import jacobian
    from kinetree.engine.compiler.optimise import optimise
    from kinetree.engine.compiler.trace import trace

    wrt, along = request.wrt or (), _tangents(model)
    if request.order == 2:
        from kinetree.engine.kernels.second import second_graph

        return second_graph(model, function, ports, request.name, wrt, along)
    graph = trace(function, ports, request.quantity.outputs)
    return optimise(jacobian(graph, wrt, along=along))


def _slope(model: Model, request: Request, name: str, wrt: Sequence[str]) -> Graph:
    """Return the results of a request by differentiating the graph of the quantity `name`.

    This is shorter for parallel axes, and the only way for robots with constraints.
    """
    from kinetree.engine.compiler.derivatives import jacobian
    from kinetree.engine.compiler.trace import trace

    function, ports = _prepared(model, Request(name, wrenches=request.wrenches, free=request.free))
    slopes = jacobian(trace(function, ports), wrt, along=_tangents(model), mode="forward")
    named = zip(slopes.outputs, request.quantity.outputs, strict=True)
    outputs = tuple(Port(letter, port.shape, dims) for port, (letter, dims) in named)
    return replace(slopes, outputs=outputs)


def untraced_graph(model: Model, request: Request) -> Graph:
    """Return the function of a quantity in place of its graph, which would be too long."""
    from kinetree.engine.interpreted import UntracedGraph

    function, ports = _prepared(model, request)
    outputs = [
        Port(letter, tuple(_length(model, x, request.rows) for x in dims), dims)
        for letter, dims in request.quantity.outputs
    ]
    return UntracedGraph(tuple(ports), tuple(outputs), function)


def _length(model: Model, letter: str, rows: Sequence[int] | None) -> int:
    axis = _letter_axis(model, letter, rows)
    return int(letter) if axis is None else len(axis.names)


def _tangents(model: Model) -> "Along | None":
    """Return the directions of q where its tangent vectors are not changes of its entries."""
    curved = any(joint.type not in SCREW_TYPES for joint in model.joints)
    return {"q": partial(dynamics.tangent_map, model)} if curved else None


def _check_inertia(model: Model) -> None:
    from kinetree.dynamics.forward_dynamics import check_inertia  # not for a stored graph

    check_inertia(model)


def _has_recursion(model: Model, request: Request) -> bool:
    """Return True if a request is for second derivatives that a recursion gives."""
    if (request.name, request.order) not in (("inverse_dynamics", 2), (ITS_DERIVATIVES, 1)):
        return False
    from kinetree.engine.kernels.second import has_recursion

    return request.wrt is not None and has_recursion(model, request.wrt)


def _second(model: Model, request: Request) -> "Traced":
    """Return the function of second derivatives by recursion, its arguments and its results."""
    from kinetree.engine.kernels.second import recursion, tensors

    _, ports = _prepared(model, request)
    from kinetree.engine.kernels.free import with_free

    state = len(request.quantity.inputs)
    loads = 1 if request.wrenches else 0

    def prepared(make: Make) -> Callable[..., Any]:
        def function(*arrays: Array) -> Any:
            *given, y = arrays
            changed = with_free(model, request.free, given[state + loads :])
            made = make(changed, not request.free, None)
            return made(*given[:state], y, *given[state : state + loads])

        return function

    made = recursion if request.order == 2 else tensors
    return made(model, prepared, ports, request.wrt or (), _tangents(model))


def _prepared(model: Model, request: Request) -> tuple[Callable[..., Any], list[Port]]:
    """Check a request for this robot; return the function to trace and its arguments."""
    quantity, free = request.quantity, request.free
    check_model(model)
    make = maker(quantity)
    if model.constraints is not None:
        from kinetree.dynamics.constraints.quantities import HONOURED, check_honoured

        check_honoured(model, quantity)
        make = HONOURED.get(request.name, make)
    if quantity.framed:
        model.frame(request.frame)  # an unknown frame names the known ones
    state = [argument_port(model, x) for x in quantity.inputs]
    loads = [Port("F_ext", (len(model.links), 6), ("l", "6"))] if request.wrenches else []
    count = len(state) + len(loads)

    def function(*arrays: Array) -> Any:
        changed = model
        if free:
            from kinetree.engine.kernels.free import with_free

            changed = with_free(model, free, arrays[count:])
        if quantity.solves and not free:
            _check_inertia(changed)
        return make(changed, not free, request.frame, **request.choices)(*arrays[:count])

    ports = [*state, *loads]
    if free:
        from kinetree.engine.kernels.free import free_ports

        ports += free_ports(model, free)
    return function, ports


def hidden_from_torch(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Keep torch.compile from tracing into a function that compiles kernels, which it cannot.

    torch is asked only where it is imported already: importing it takes seconds.
    """

    @functools.wraps(function)
    def call(*args: Given.args, **options: Given.kwargs) -> Result:
        disable = getattr(sys.modules.get("torch._dynamo"), "disable", None)
        return (function if disable is None else disable(function))(*args, **options)

    call.__dict__["_torchdynamo_disable"] = True  # the wrapper itself is not traced either
    return call


@hidden_from_torch
def compiled(model: Model, request: Request) -> "Kernel | CudaKernel":
    """Compile the kernel of a request, specialised to the robot.

    The kernel of a derivative has a result for each pair, shape (*quantity, *argument). Positions
    are moved along tangent vectors of `integrate`, so d/d q has n entries for joints of any type.
    """
    kind, quantity, wrt = kernel_type(request.target), request.quantity, request.wrt
    # contacts are solved in float64, also for arrays of float32
    dtypes = ("float64",) if quantity.step and model.contacts is not None else DTYPES
    second = wrt is not None and request.order == 2
    try:
        graph = traced_graph(model, request)
    except LongGraphError:
        if wrt is not None or quantity.step or request.sparse or request.target != "cpu":
            raise
        graph = untraced_graph(model, request)
    more = None
    if wrt is not None:
        name = f"{'second_' if second else ''}derivative_of_{request.name}"
        doc = derivative_help(request, model, graph)
        axes = port_axes(model, graph) if second else _slope_axes(model, graph, request)
    else:
        # wrenches may add values to a sparse result, whose length may not depend on a call
        if quantity.wrenches and not (request.wrenches or request.free or request.sparse):
            more = "F_ext", partial(compiled, model, replace(request, wrenches=True))
        name = request.name
        doc = kernel_help(quantity, model, graph, None if more is None else more[0])
        axes = port_axes(model, graph, request.rows)
    if request.sparse:
        graph, doc, axes = _sparse(model, name, cast("StoredGraph", graph), doc, axes)
    return made_kernel(graph, kind, name, doc, axes, more, dtypes=dtypes)


def _sparse(
    model: Model, name: str, dense: "StoredGraph", doc: str, axes: Axes
) -> tuple[Graph, str, Axes]:
    """Return the values of a graph that are not always zero, with their help and their names.

    A value is called after the first place where it stands, such as "dtau_dq:shoulder:elbow".
    """
    from kinetree.engine.compiler.sparse import SparseGraph

    graph = SparseGraph(dense)
    pattern = graph.pattern
    if not pattern.size:
        raise InputError(
            f"{name} of {model.name!r} is zero at every state, so there are no values of it; leave "
            "out sparse=True to get the zeros."
        )
    names = [""] * pattern.size
    for block, along in zip(pattern.blocks, axes[1], strict=True):
        for place, k in zip(block.index.T.tolist(), block.source.tolist(), strict=True):
            if not names[k]:
                pairs = zip(along, place, strict=True)
                entry = [str(i) if axis is None else axis.names[i] for axis, i in pairs]
                names[k] = ":".join([block.name, *entry])
    return graph, sparse_help(doc, pattern.size), (axes[0], ((Axis(tuple(names), "value"),),))


def kernel_type(target: str) -> "type[Kernel | CudaKernel]":
    """Return the class of kernels for a target."""
    if target == "cuda":
        from kinetree.engine.cuda.kernel import CudaKernel

        return CudaKernel
    return Kernel


def made_kernel(
    graph: Graph,
    kind: "type[Kernel | CudaKernel]",
    name: str,
    doc: str,
    axes: Axes,
    more: More | None = None,
    dtypes: tuple[str, ...] = DTYPES,
) -> "Kernel | CudaKernel":
    """Return the kernel of a graph; the one of the CPU takes labelled arrays, too."""
    if issubclass(kind, Kernel):
        return kind(graph, name, doc, dtypes=dtypes, more=more, axes=axes)
    return kind(graph, name, doc, more=more)


def port_axes(model: Model, graph: Graph, rows: Sequence[int] | None = None) -> Axes:
    """Return the names along the axes of a kernel's arguments and results.

    rows: the coordinates of a task, whose axis has the letter k.
    """
    inputs: list[Axis | None] = []
    for port in graph.inputs:
        letter = port.dims[0] if len(port.dims) == len(port.shape) == 1 else ""
        letter = "nq" if port.name == "q" else letter
        axis = _letter_axis(model, letter) if letter in ("n", "nq", "l", "u", "a", "c") else None
        inputs.append(axis if _fits((axis,), port) else None)
    outputs: list[tuple[Axis | None, ...]] = []
    for port in graph.outputs:
        axes = tuple(_letter_axis(model, letter, rows) for letter in port.dims)
        outputs.append(axes if _fits(axes, port) else (None,) * len(port.shape))
    return tuple(inputs), tuple(outputs)


def _slope_axes(model: Model, graph: Graph, request: Request) -> Axes:
    """Return the names along the axes of d results/d arguments; those of q are tangents."""
    by_name = {port.name: port.dims for port in graph.inputs}

    def names(letters: Sequence[str]) -> tuple[Axis | None, ...]:
        return tuple(_letter_axis(model, letter, request.rows) for letter in letters)

    outputs = [
        (*names(dims), *names(("n",) if x == "q" else by_name[x]))
        for _, dims in request.quantity.outputs
        for x in request.wrt or ()
    ]
    pairs = zip(outputs, graph.outputs, strict=True)
    fitting = tuple(
        axes if _fits(axes, port) else (None,) * len(port.shape) for axes, port in pairs
    )
    return port_axes(model, graph)[0], fitting


def _letter_axis(model: Model, letter: str, rows: Sequence[int] | None = None) -> Axis | None:
    if letter == "k":
        names = DIRECTIONS["6"]
        return Axis(names if rows is None else tuple(names[row] for row in rows), "axis")
    if letter == "p":
        from kinetree.dynamics.parameters import parameter_axis

        return parameter_axis(model)
    return letter_axis(model, letter)


def _fits(axes: Sequence[Axis | None], port: Port) -> bool:
    sizes = [None if axis is None else len(axis.names) for axis in axes]
    pairs = zip(sizes, port.shape, strict=False)
    return len(sizes) == len(port.shape) and all(a in (None, b) for a, b in pairs)


def argument_port(model: Model, name: str) -> Port:
    """Return the port of an argument of a quantity."""
    if name == "q":
        same = model.nq == model.n
        return Port("q", (model.nq,), ("n",) if same else ("nq",))
    if name == "dt":
        return Port("dt", ())
    if name == "controls":
        return Port(name, (len(model.actuators),), ("u",))
    if name == "activation":
        return Port(name, (len(model.activation_names),), ("a",))
    if name == "touching":
        return Port(name, (0 if model.contacts is None else len(model.contacts.points),), ("c",))
    return Port(name, (model.n,), ("n",))


def check_model(model: Model) -> None:
    """Raise ModelError for a robot without moving joints or with symbols in its data."""
    if model.n == 0:
        raise ModelError(
            f"{model.name!r} has no joint that moves, so no kernel can be made for it; "
            "kinetree.dynamics computes its quantities. If the whole robot floats, "
            f"loading it with {argument('floating', True)} gives it a free joint."
        )
    for name, x in named_numbers(model):
        if not is_numeric(np.asarray(x)):
            entry = strangest(x)
            raise ModelError(
                f"{name} of {model.name!r} has {entry} ({type(entry).__name__}), but kernels are "
                "compiled for float64 numbers. Run kinetree.dynamics on symbols and mpmath "
                "numbers, or convert the model with model.astype(float)."
            )
