"""The comment before exported code: what it computes, names, units, conventions, operations."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kinetree.core.versions import __version__
from kinetree.dynamics.constraints.quantities import honours
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.files.description.joints import PRISMATIC
from kinetree.model import Joint, Model
from kinetree.model.constraints import Closure, Constraints, Coupling
from kinetree.model.joint import coordinate_names, rate_names
from kinetree.model.labelled import DIRECTIONS
from kinetree.model.quantity import ARGUMENTS, Quantity

# equations of quantities that honour the constraints of a robot
HONOURING = {
    "forward_dynamics": "ddq of M ddq + h = tau + J^T lambda, J ddq + gamma = 0",
    "inverse_dynamics": "tau of the motors with tau + J^T lambda = M ddq + h",
}
WIDTH = 92  # of a line of the comment
AXES = {
    "body": "The twist is that of the frame in its own axes",
    "space": "The twist is in the space frame, of the point at its origin",
    "aligned": "The twist is that of the frame's origin, in the axes of the space frame",
}
CALLS = ("sin", "cos", "sqrt", "sign", "exp", "log", "tanh", "atan2", "abs", "min", "max")
COUNTED = (
    (("add", "sub"), "add or subtract"),
    (("mul",), "multiply"),
    (("fma", "fms", "fnma"), "multiply and add (two each)"),
    (("div",), "divide"),
    (("neg",), "negate"),
)


@dataclass(frozen=True)
class About:
    """The contents of the comment besides names and units.

    title: the function and its equation. quantity: its declaration. layout: how the language lays
    out matrices. first: index of an array's first entry, 0 or 1. frame: the frame of the quantity,
    or None. expressed, rows: axes of a twist, and the rows of it that make a task, or None.
    """

    title: str
    quantity: Quantity
    layout: str
    first: int
    frame: str | None
    expressed: str | None = None
    rows: Sequence[int] | None = None


def header(model: Model, graph: Graph, outputs: Sequence[Port], about: About) -> list[str]:
    """The lines of the comment, without the language's own sign for comments.

    `outputs` are the results under their letters.
    """
    lines = [about.title, f'Robot "{plain(model.name)}", exported by kinetree {__version__}.']
    if about.frame is not None:
        lines.append(f'Frame "{plain(about.frame)}".')
    if about.expressed is not None:
        lines.append(f"{AXES[about.expressed]}.")
    if about.rows is not None:
        lines.append(f"Rows of the task: {', '.join(DIRECTIONS['6'][row] for row in about.rows)}.")
    if about.quantity.name == "task_space":
        lines.append("All but J and dJ are NaN where a singular value of J is not above 1e-6.")
    lines += ["", "Arguments"]
    arguments = [(port, ARGUMENTS[port.name]) for port in graph.inputs]
    results = zip(outputs, about.quantity.results, strict=True)
    lines += [f"  {_shape(port):16} {x.meaning}, {x.unit}" for port, x in arguments]
    lines.append("Result")
    lines += [f"  {_shape(port):16} {x.meaning}, {x.unit}" for port, x in results]
    if any(len(port.shape) > 1 for port in (*graph.inputs, *outputs)):
        lines.append(f"Matrices: {about.layout}.")
    lines += ["", *conventions(graph), *gravity(model, graph, about), ""]
    lines += joint_table(model, graph, about.first)
    if model.constraints is not None:
        lines += ["", *constraint_table(model, model.constraints, graph, about)]
    lines += ["", operations(graph)]
    return lines


def conventions(graph: Graph) -> list[str]:
    """Conventions on units, orders and signs."""
    lines = ["SI units, radians. Six-vectors are angular first: (omega, v), (moment, force)."]
    if any(port.name == "F_ext" for port in graph.inputs):
        lines.append("External wrenches act ON the links; the wrench of a tool is the opposite.")
    return lines


def gravity(model: Model, graph: Graph, about: About) -> Iterator[str]:
    """The gravity that is a constant of the code."""
    free = any(port.name == "gravity" for port in graph.inputs)
    if about.quantity.weighs and not free:
        x, y, z = (float(entry) for entry in model.gravity[3:])
        yield f"Gravity is folded in: ({x:g}, {y:g}, {z:g}) m/s^2 in the space frame."


def joint_table(model: Model, graph: Graph, first: int) -> Iterator[str]:
    """Entries of joint vectors: index, name, unit; one table if q and dq are alike."""
    leaders = [joint for joint in model.joints if joint.follows is None]
    named = {port.name for port in graph.inputs}
    if "q" in named:
        yield "Entries of q"
        names = [name for joint in leaders for name in coordinate_names(joint)]
        units = [unit for joint in leaders for unit in coordinate_units(joint)]
        yield from _rows(names, units, first)
    if named & {"dq", "ddq", "tau", "dq_r", "ddq_r"} or model.nq != model.n:
        yield "Entries of dq, ddq and tau"
        names = [name for joint in leaders for name in rate_names(joint)]
        units = [unit for joint in leaders for unit in rate_units(joint)]
        yield from _rows(names, units, first)
    for joint in model.joints:
        if joint.follows is not None:
            rule = f"{float(joint.scale):g} q + {float(joint.offset):g}"
            yield f"Joint {plain(joint.name)} follows {plain(joint.follows)}: {rule}"


def constraint_table(
    model: Model, constraints: Constraints, graph: Graph, about: About
) -> Iterator[str]:
    """Names of the constraints, entries of their vectors, motors, and the meaning of residuals."""
    names = ", ".join(plain(name) for name in constraints.given)
    quantity = about.quantity
    if not (honours(quantity) or quantity.step or quantity.over == "constraints"):
        yield f"Of the tree of joints; the constraints ({names}) are not part of it."
        return
    yield f"Constraints Phi(q) = 0 ({names}): equations, units of Phi and of forces"
    units = [unit for item in constraints.items for unit in row_units(model, item)]
    loose = [row not in constraints.basis for row in range(len(units))]
    units = [f"{x}, redundant" if y else x for x, y in zip(units, loose, strict=True)]
    yield from _rows(list(constraints.row_names), units, about.first)
    if quantity.name in ("inverse_dynamics", "constrained_inverse_dynamics"):
        yield f"Motors: {_dofs(model, constraints.actuated)}; tau of other joints is zero."
    if quantity.name == "reduced_dynamics":
        yield f"Independent rates dy: {_dofs(model, constraints.independent)}"
    has_forces = any(result.letter in ("lam", "impulse") for result in quantity.results)
    if has_forces and any(isinstance(item, Closure) for item in constraints.items):
        yield "Forces of a loop are in the axes of its first frame and act on the second one."
    solved = quantity.name.removeprefix("constrained_") in HONOURING
    if solved:
        yield "h has the forces of velocities, gravity, springs and friction" + (
            ", and those against F_ext."
            if any(port.name == "F_ext" for port in graph.inputs)
            else "."
        )
    yield from textwrap.wrap(quantity.caution, WIDTH)
    if quantity.step:
        yield "The results are NaN if q and dq do not satisfy Phi(q) = 0 and J dq = 0."
    if solved:
        yield "q and dq should satisfy Phi(q) = 0 and J dq = 0; they are used as they are."


def row_units(model: Model, item: Closure | Coupling) -> list[str]:
    """Units of Phi and of lambda, for every equation of a constraint."""
    if isinstance(item, Coupling):
        dof = item.terms[0].dof
        owner = next(x for x in model.joints if x.dofs and x.dofs[0] == dof)
        return ["m, N" if owner.type == PRISMATIC else "rad, N m"]
    return ["rad, N m" if ".angular_" in name else "m, N" for name in item.row_names]


def _dofs(model: Model, numbers: Sequence[int]) -> str:
    return ", ".join(plain(model.dof_names[d]) for d in numbers) or "none"


def coordinate_units(joint: Joint) -> list[str]:
    """Units of the joint's entries in q; 1 for a quaternion."""
    if joint.screw is not None:
        return ["m" if joint.type == PRISMATIC else "rad"]
    parts = [name.rpartition(".")[2] for name in coordinate_names(joint)]
    return ["1" if x[0] == "q" else "rad" if x == "theta" else "m" for x in parts]


def rate_units(joint: Joint) -> list[str]:
    """Units of the joint's entries in dq and in tau."""
    if joint.screw is not None:
        linear = [joint.type == PRISMATIC]
    else:
        linear = [name.rpartition(".")[2][0] == "v" for name in rate_names(joint)]
    return ["m/s, N" if x else "rad/s, N m" for x in linear]


def operations(graph: Graph) -> str:
    """Number of operations, by kind."""
    count = graph.count()
    parts = [(sum(count[op] for op in ops), words) for ops, words in COUNTED]
    text = ", ".join(f"{n} {words}" for n, words in parts if n)
    calls = [f"{count[op]} {op}" for op in CALLS if count[op]]
    total = f"{graph.operations} operations" + (f": {text}" if text else "")
    return "; ".join([total, ", ".join(calls)] if calls else [total]) + "."


def _rows(names: list[str], units: list[str], first: int) -> Iterator[str]:
    width = max(map(len, names), default=0)
    for k, (name, unit) in enumerate(zip(names, units, strict=True)):
        yield f"  {k + first:3}  {plain(name):{width}}  {unit}"


def _shape(port: Port) -> str:
    return f"{port.name} ({', '.join(map(str, port.shape))})" if port.shape else port.name


def plain(text: str) -> str:
    """A name for a comment of any language: one line, without characters that could end it."""
    return re.sub(r"[^A-Za-z0-9 .,:;()\[\]{}<>=+/^_|@#~&$!'-]", "_", text)
