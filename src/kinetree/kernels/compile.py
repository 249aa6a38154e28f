"""Compile a quantity of a robot: check the request, trace the algorithm, make the kernel."""

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from kinetree.algorithms.constraints.quantities import HONOURED, check_honoured
from kinetree.algorithms.derivatives import tangent_map
from kinetree.algorithms.forward_dynamics import check_inertia
from kinetree.algorithms.parameters import parameter_axis
from kinetree.backends.call.dispatch import Axes
from kinetree.backends.kernel import Kernel, More
from kinetree.base.arrays import Array, is_numeric
from kinetree.base.axis import Axis
from kinetree.compiler.graph import Graph, Port
from kinetree.description.joints import SCREW_TYPES
from kinetree.errors import InputError, ModelError
from kinetree.kernels.forms import computation, is_looped
from kinetree.kernels.free import free_ports, with_free
from kinetree.kernels.help import derivative_help, kernel_help
from kinetree.kernels.quantities import find_quantity, frame_options
from kinetree.kernels.step import step_graph
from kinetree.kernels.stored import stored_graph
from kinetree.model import Model
from kinetree.model.labelled import DIRECTIONS, letter_axis
from kinetree.model.model import numbers_of, strangest

if TYPE_CHECKING:
    from kinetree.backends.cuda.kernel import CudaKernel
    from kinetree.compiler.derivatives import Along

Given = ParamSpec("Given")
Result = TypeVar("Result")

FEW = 8  # degrees of freedom up to which differentiating the graph may be the shorter way


def trace_quantity(
    model: Model,
    name: str,
    *,
    frame: str | None = None,
    expressed: str | None = None,
    rows: Sequence[int] | None = None,
    wrenches: bool = False,
    free: Sequence[str] = (),
) -> Graph:
    """Return the optimised graph of a quantity; arguments as in `compile_kernel`."""
    quantity = find_quantity(name)
    function, ports, options = _prepared(model, name, frame, expressed, rows, wrenches, free)

    def make() -> Graph:
        # the compiler is not imported for a graph that is stored on disk
        from kinetree.compiler.optimise import optimise
        from kinetree.compiler.trace import trace

        if quantity.step:
            if not free:
                check_inertia(model)
            return step_graph(model, name, ports, quantity.outputs, free)
        if quantity.slope_of is not None and model.constraints is not None:
            return optimise(_slope(model, *quantity.slope_of, quantity.outputs, wrenches, free))
        graph = trace(function, ports, quantity.outputs)
        if quantity.slope_of is not None and model.n <= FEW:
            slope = _slope(model, *quantity.slope_of, quantity.outputs, wrenches, free)
            graph = min(graph, slope, key=lambda graph: graph.operations)
        return optimise(graph)

    return stored_graph(model, (name, frame, wrenches, tuple(free), *options.values()), make)


def record_quantity(
    model: Model,
    name: str,
    *,
    frame: str | None = None,
    expressed: str | None = None,
    rows: Sequence[int] | None = None,
    wrenches: bool = False,
    free: Sequence[str] = (),
) -> Graph:
    """Return the program of a quantity, loops over the links; arguments as in `compile_kernel`."""
    function, ports, _ = _prepared(model, name, frame, expressed, rows, wrenches, free)
    quantity = find_quantity(name)
    if quantity.step and not free:
        check_inertia(model)
    return computation(function, ports, quantity.outputs, looped=True)


def _slope(
    model: Model,
    name: str,
    wrt: Sequence[str],
    results: Sequence[tuple[str, tuple[str, ...]]],
    wrenches: bool,
    free: Sequence[str],
) -> Graph:
    """Return the same results by differentiating the graph.

    This is shorter for parallel axes, and the only way for robots with constraints.
    """
    from kinetree.compiler.derivatives import jacobian
    from kinetree.compiler.trace import trace

    function, ports, _ = _prepared(model, name, None, None, None, wrenches, free)
    found = jacobian(trace(function, ports), wrt, along=_tangents(model), mode="forward")
    named = zip(found.outputs, results, strict=True)
    outputs = tuple(Port(own, port.shape, dims) for port, (own, dims) in named)
    return replace(found, outputs=outputs)


def _tangents(model: Model) -> "Along | None":
    """Return the directions of q where its tangent vectors are not changes of its entries."""
    curved = any(joint.type not in SCREW_TYPES for joint in model.joints)
    return {"q": partial(tangent_map, model)} if curved else None


def _prepared(
    model: Model,
    name: str,
    frame: str | None,
    expressed: str | None,
    rows: Sequence[int] | None,
    wrenches: bool,
    free: Sequence[str],
) -> tuple[Callable[..., Any], list[Port], dict[str, Any]]:
    """Check a request; return the function to trace, its arguments, and the options of the frame.

    Every form of a kernel comes here, so that all forms refuse the same requests.
    """
    quantity = find_quantity(name)
    options = frame_options(quantity, expressed=expressed, rows=rows)
    check_model(model)
    check_honoured(model, quantity)
    check_options(
        model,
        name,
        framed=quantity.framed,
        loaded=quantity.wrenches,
        frame=frame,
        wrenches=wrenches,
    )
    honoured = {} if model.constraints is None else HONOURED
    make = honoured.get(name, quantity.make)
    state = [_port(model, x) for x in quantity.inputs]
    loads = [Port("F_ext", (len(model.links), 6), ("l", "6"))] if wrenches else []
    given = len(state) + len(loads)

    def function(*arrays: Array) -> Any:
        changed = with_free(model, free, arrays[given:])
        if quantity.solves and not free:
            check_inertia(changed)
        return make(changed, not free, frame, **options)(*arrays[:given])

    return function, [*state, *loads, *free_ports(model, free)], options


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
def compile_kernel(
    model: Model,
    name: str,
    *,
    frame: str | None = None,
    expressed: str | None = None,
    rows: Sequence[int] | None = None,
    wrenches: bool = False,
    free: Sequence[str] = (),
    target: str = "cpu",
) -> "Kernel | CudaKernel":
    """Compile the kernel of a quantity, specialised to the robot.

    Args:
        model: the robot.
        name: one of `QUANTITIES`, `DERIVED` or `WHOLE_BODY`.
        frame: the frame of a pose, Jacobian, twist or task; the tool when None.
        expressed: "body", "space" or "aligned": axes of a twist or task; "body" when None.
        rows: which of the six coordinates of a twist make a task; all when None.
        wrenches: whether F_ext, (links, 6), follows the state as a further argument.
        free: robot data that become further arguments instead of constants: some of
            "mass" (l,), "com" (l, 3), "inertia" (l, 3, 3) about the centre, "gravity" (3,),
            "friction" (l, 4): viscous and Coulomb coefficients, each for dq > 0 and dq < 0,
            "springs" (s, 2): stiffness and rest position.
        target: "cpu", or "cuda" for a `CudaKernel`, which takes and returns CuPy arrays.
    """
    quantity = find_quantity(name)
    kind = kernel_type(target)
    looped = issubclass(kind, Kernel) and is_looped(model, name)
    form = record_quantity if looped else trace_quantity
    graph = form(
        model, name, frame=frame, expressed=expressed, rows=rows, wrenches=wrenches, free=free
    )
    more = None
    if quantity.wrenches and not wrenches and not free:
        more = "F_ext", partial(compile_kernel, model, name, wrenches=True, target=target)
    doc = kernel_help(quantity, model, graph, None if more is None else more[0])
    return made_kernel(graph, kind, name, doc, port_axes(model, graph, rows), more)


def kernel_type(target: str) -> "type[Kernel | CudaKernel]":
    """Return the class of kernels for a target."""
    if target == "cuda":
        from kinetree.backends.cuda.kernel import CudaKernel

        return CudaKernel
    if target != "cpu":
        raise InputError(f"target is {target!r}; expected 'cpu' or 'cuda'.")
    return Kernel


def made_kernel(
    graph: Graph,
    kind: "type[Kernel | CudaKernel]",
    name: str,
    doc: str,
    axes: Axes,
    more: More | None = None,
) -> "Kernel | CudaKernel":
    """Return the kernel of a graph; the one of the CPU takes labelled arrays, too."""
    if issubclass(kind, Kernel):
        return kind(graph, name, doc, more=more, axes=axes)
    return kind(graph, name, doc, more=more)


@hidden_from_torch
def compile_derivative(
    model: Model,
    name: str,
    wrt: str | Sequence[str] = "q",
    *,
    frame: str | None = None,
    expressed: str | None = None,
    rows: Sequence[int] | None = None,
    wrenches: bool = False,
    free: Sequence[str] = (),
    target: str = "cpu",
) -> "Kernel | CudaKernel":
    """Compile the kernel of d quantity/d arguments, by differentiating the graph.

    Args:
        model: the robot.
        name: one of `QUANTITIES`, `DERIVED` (of which it gives second derivatives) or
            `WHOLE_BODY`.
        wrt: arguments of the quantity, free data included. Positions are moved along tangent
            vectors of `integrate`, so d/d q has n entries for joints of any type.
        frame, expressed, rows, wrenches, free, target: as in `compile_kernel`.

    Returns:
        A kernel with a result for each pair, shape (*quantity, *argument).
    """
    kind = kernel_type(target)
    function, ports, chosen = _prepared(model, name, frame, expressed, rows, wrenches, free)
    names = (wrt,) if isinstance(wrt, str) else tuple(wrt)

    def make() -> Graph:
        from kinetree.compiler.derivatives import jacobian
        from kinetree.compiler.optimise import optimise
        from kinetree.compiler.trace import trace

        graph = trace(function, ports, find_quantity(name).outputs)
        return optimise(jacobian(graph, names, along=_tangents(model)))

    options = ("derivative", name, names, frame, wrenches, tuple(free), *chosen.values())
    graph = stored_graph(model, options, make)
    doc = derivative_help(name, names, model, graph)
    axes = _slope_axes(model, graph, find_quantity(name).outputs, ports, names, rows)
    return made_kernel(graph, kind, f"derivative_of_{name}", doc, axes)


def port_axes(model: Model, graph: Graph, rows: Sequence[int] | None = None) -> Axes:
    """Return the names along the axes of a kernel's arguments and results.

    rows: the coordinates of a task, whose axis has the letter k.
    """
    inputs: list[Axis | None] = []
    for port in graph.inputs:
        letter = port.dims[0] if len(port.dims) == len(port.shape) == 1 else ""
        letter = "nq" if port.name == "q" else letter
        axis = _letter_axis(model, letter) if letter in ("n", "nq", "l", "u", "a") else None
        inputs.append(axis if _fits((axis,), port) else None)
    outputs: list[tuple[Axis | None, ...]] = []
    for port in graph.outputs:
        axes = tuple(_letter_axis(model, letter, rows) for letter in port.dims)
        outputs.append(axes if _fits(axes, port) else (None,) * len(port.shape))
    return tuple(inputs), tuple(outputs)


def _slope_axes(
    model: Model,
    graph: Graph,
    results: Sequence[tuple[str, tuple[str, ...]]],
    ports: Sequence[Port],
    wrt: Sequence[str],
    rows: Sequence[int] | None = None,
) -> Axes:
    """Return the names along the axes of d results/d arguments; those of q are tangents."""
    by_name = {port.name: port.dims for port in ports}

    def names(letters: Sequence[str]) -> tuple[Axis | None, ...]:
        return tuple(_letter_axis(model, letter, rows) for letter in letters)

    outputs = [
        (*names(dims), *names(("n",) if x == "q" else by_name[x]))
        for _, dims in results
        for x in wrt
    ]
    pairs = zip(outputs, graph.outputs, strict=True)
    fitting = tuple(own if _fits(own, port) else (None,) * len(port.shape) for own, port in pairs)
    return port_axes(model, graph)[0], fitting


def _letter_axis(model: Model, letter: str, rows: Sequence[int] | None = None) -> Axis | None:
    if letter == "k":
        names = DIRECTIONS["6"]
        return Axis(names if rows is None else tuple(names[row] for row in rows), "axis")
    return parameter_axis(model) if letter == "p" else letter_axis(model, letter)


def _fits(axes: Sequence[Axis | None], port: Port) -> bool:
    sizes = [None if axis is None else len(axis.names) for axis in axes]
    pairs = zip(sizes, port.shape, strict=False)
    return len(sizes) == len(port.shape) and all(a in (None, b) for a, b in pairs)


def _port(model: Model, name: str) -> Port:
    if name == "q":
        same = model.nq == model.n
        return Port("q", (model.nq,), ("n",) if same else ("nq",))
    if name == "dt":
        return Port("dt", ())
    if name == "controls":
        return Port(name, (len(model.actuators),), ("u",))
    if name == "activation":
        return Port(name, (len(model.activation_names),), ("a",))
    return Port(name, (model.n,), ("n",))


def check_model(model: Model) -> None:
    """Raise ModelError for a robot without moving joints or with symbols in its data."""
    if model.n == 0:
        raise ModelError(
            f"{model.name!r} has no joint that moves, so no kernel can be made for it; "
            "kinetree.algorithms computes its quantities. If the whole robot floats, "
            "kt.load(path, floating=True) gives it a free joint, on the command line --floating."
        )
    for name, x in numbers_of(model):
        if not is_numeric(np.asarray(x)):
            entry = strangest(x)
            raise ModelError(
                f"{name} of {model.name!r} has {entry} ({type(entry).__name__}), but kernels are "
                "compiled for float64 numbers. Run kinetree.algorithms on symbols and mpmath "
                "numbers, or convert the model with model.astype(float)."
            )


def check_options(
    model: Model, name: str, *, framed: bool, loaded: bool, frame: str | None, wrenches: bool
) -> None:
    """Raise InputError for options that a quantity does not have.

    Args:
        model: the robot.
        name: the quantity.
        framed: whether it has a frame.
        loaded: whether it depends on external wrenches.
        frame, wrenches: the options given.
    """
    if framed:
        model.frame(frame)  # an unknown frame names the known ones
    elif frame is not None:
        raise InputError(
            f"{name} has no frame, but the frame {frame!r} was given; poses and Jacobians have one."
        )
    if wrenches and not loaded:
        raise InputError(
            f"{name} does not depend on external wrenches, but they were requested; "
            "inverse_dynamics, forward_dynamics and bias_forces do."
        )
