"""The comment before exported code: what it computes, names, units, conventions, operations."""

import re
import textwrap
from collections.abc import Iterator, Sequence

from kinetree.core.versions import __version__
from kinetree.dynamics.constraints.quantities import honours
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.ops import OPERATIONS
from kinetree.engine.kernels.request import Request
from kinetree.model import Model
from kinetree.model.constraints import Constraints
from kinetree.model.labelled import DIRECTIONS
from kinetree.model.quantity import ARGUMENTS, Quantity
from kinetree.model.units import entry_names, units

# equations of quantities that honour the constraints of a robot
HONOURING = {
    "forward_dynamics": "ddq of M ddq + h = tau + J^T lambda, J ddq + gamma = 0",
    "inverse_dynamics": "tau of the motors with tau + J^T lambda = M ddq + h",
}
WIDTH = 92  # of a line of the comment
RATES = {"dq", "ddq", "tau", "dq_r", "ddq_r"}
AXES = {
    "body": "The twist is that of the frame in its own axes",
    "space": "The twist is in the space frame, of the point at its origin",
    "aligned": "The twist is that of the frame's origin, in the axes of the space frame",
}


def header(
    title: str,
    model: Model,
    request: Request,
    graph: Graph,
    outputs: Sequence[Port],
    layout: str,
    first: int,
) -> list[str]:
    """The lines of the comment, without the language's own sign for comments.

    Args:
        title: the function and its equation.
        model: the robot.
        request: the quantity and its options.
        graph: what is computed.
        outputs: the results under their letters.
        layout: how the language lays out matrices.
        first: index of an array's first entry, 0 or 1.
    """
    quantity = request.quantity
    lines = [title, f'Robot "{plain(model.name)}", exported by kinetree {__version__}.']
    if quantity.framed:
        lines.append(f'Frame "{plain(model.frame_name(request.frame))}".')
    if request.expressed is not None:
        lines.append(f"{AXES[request.expressed]}.")
    if request.rows is not None:
        lines.append(f"Rows of the task: {', '.join(DIRECTIONS['6'][k] for k in request.rows)}.")
        lines.append("Where a singular value of J is not above 1e-6, all but J and dJ is NaN.")
    lines += ["", "Arguments"]
    arguments = [(port, ARGUMENTS[port.name]) for port in graph.inputs]
    results = zip(outputs, quantity.results, strict=True)
    lines += [f"  {_shape(port):16} {x.meaning}, {x.unit}" for port, x in arguments]
    lines.append("Result")
    lines += [f"  {_shape(port):16} {x.meaning}, {x.unit}" for port, x in results]
    if any(len(port.shape) > 1 for port in (*graph.inputs, *outputs)):
        lines.append(f"Matrices: {layout}.")
    lines += ["", *conventions(model, graph, quantity), ""]
    lines += joint_table(model, graph, first)
    if model.constraints is not None:
        lines += ["", *constraint_table(model.constraints, model, quantity, first)]
    count = graph.count()
    calls = ", ".join(
        f"{count[op]} {op}" for op, x in OPERATIONS.items() if count[op] and not x.cost
    )
    return [*lines, "", f"{graph.operations} operations" + (f"; {calls}." if calls else ".")]


def conventions(model: Model, graph: Graph, quantity: Quantity) -> Iterator[str]:
    """Units, orders and signs, and the gravity that is a constant of the code."""
    named = {port.name for port in graph.inputs}
    yield "SI units, radians. Six-vectors are angular first: (omega, v), (moment, force)."
    if "F_ext" in named:
        yield "External wrenches act ON the links; the wrench of a tool is the opposite."
    if quantity.weighs and "gravity" not in named:
        x, y, z = (float(entry) for entry in model.gravity[3:])
        yield f"Gravity is folded in: ({x:g}, {y:g}, {z:g}) m/s^2 in the space frame."


def joint_table(model: Model, graph: Graph, first: int) -> Iterator[str]:
    """Entries of joint vectors: index, name, unit; one table if q and dq are alike."""
    named = {port.name for port in graph.inputs}
    if "q" in named:
        yield "Entries of q"
        yield from _rows(entry_names(model, "q"), units(model, "q"), first)
    if named & RATES or model.nq != model.n:
        yield "Entries of dq, ddq and tau"
        pairs = zip(units(model, "dq"), units(model, "tau"), strict=True)
        yield from _rows(entry_names(model, "dq"), [f"{a}, {b}" for a, b in pairs], first)
    for joint in model.joints:
        if joint.follows is not None:
            rule = f"{float(joint.scale):g} q + {float(joint.offset):g}"
            yield f"Joint {plain(joint.name)} follows {plain(joint.follows)}: {rule}"


def constraint_table(
    constraints: Constraints, model: Model, quantity: Quantity, first: int
) -> Iterator[str]:
    """Names of the constraints, entries of their vectors, motors, and what states must satisfy."""
    names = ", ".join(plain(name) for name in constraints.given)
    if not (honours(quantity) or quantity.step or quantity.over == "constraints"):
        yield f"Of the tree of joints; the constraints ({names}) are not part of it."
        return
    yield f"Constraints Phi(q) = 0 ({names}): equations"
    loose = set(range(len(constraints.row_names))) - {*constraints.basis}
    marks = ["redundant" if row in loose else "" for row in range(len(constraints.row_names))]
    yield from _rows(constraints.row_names, marks, first)
    letters = {result.letter for result in quantity.results}
    if "tau" in letters:
        yield f"Motors: {_dofs(model, constraints.actuated)}; tau of other joints is zero."
    if "d" in quantity.letters:
        yield f"Independent rates dy: {_dofs(model, constraints.independent)}"
    if letters & {"lam", "impulse"}:
        yield "Forces of a loop are in the axes of its first frame and act on the second one."
    yield from textwrap.wrap(quantity.caution, WIDTH)
    if quantity.step:
        yield "The results are NaN if q and dq do not satisfy Phi(q) = 0 and J dq = 0."
    elif quantity.name.removeprefix("constrained_") in HONOURING:
        yield "q and dq should satisfy Phi(q) = 0 and J dq = 0; they are used as they are."


def _dofs(model: Model, numbers: Sequence[int]) -> str:
    return ", ".join(plain(model.dof_names[d]) for d in numbers) or "none"


def _rows(names: Sequence[str], entries: Sequence[str], first: int) -> Iterator[str]:
    width = max(map(len, names), default=0)
    for k, (name, unit) in enumerate(zip(names, entries, strict=True)):
        yield f"  {k + first:3}  {plain(name):{width}}  {unit}".rstrip()


def _shape(port: Port) -> str:
    return f"{port.name} ({', '.join(map(str, port.shape))})" if port.shape else port.name


def plain(text: str) -> str:
    """A name for a comment of any language: one line, without characters that could end it."""
    return re.sub(r"[^A-Za-z0-9 .,:;()\[\]{}<>=+/^_|@#~&$!'-]", "_", text)
