"""The comment before exported code: what it computes, names, units, conventions, operations."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from kinetree.compiler.graph import Graph, Port
from kinetree.description.joints import PRISMATIC
from kinetree.model import Joint, Model
from kinetree.model.joint import coordinate_names, rate_names

JOINT_FORCES = "N m or N"

# argument -> what it is, with its unit
ARGUMENTS = {
    "q": "joint positions, see below",
    "dq": "joint rates, see below",
    "ddq": "joint accelerations, units of dq per s",
    "tau": f"joint forces, {JOINT_FORCES}, see below",
    "F_ext": "wrenches (moment, force) from the world onto the links, in their frames, N m and N",
    "mass": "masses of the links, kg",
    "com": "centres of mass in the frames of the links, m",
    "inertia": "inertias about the centres of mass, kg m^2",
    "gravity": "acceleration of free fall in the space frame, m/s^2",
    "friction": "of each joint: viscous for dq > 0 and dq < 0, Coulomb for dq > 0 and dq < 0",
    "springs": "of each spring: stiffness, N m/rad or N/m, and rest position, rad or m",
    "dt": "length of the step, s, positive",
    "kp": "-d tau/d q of each joint, N m/rad or N/m",
    "kd": "-d tau/d dq of each joint, N m s/rad or N s/m",
}

# quantity, or one of its results -> letter, and what it is
RESULTS = {
    "inverse_dynamics": ("tau", f"joint forces, {JOINT_FORCES}"),
    "forward_dynamics": ("ddq", "joint accelerations, units of dq per s"),
    "mass_matrix": ("M", "mass matrix, with armature and rotors; kg m^2, kg m, kg"),
    "mass_matrix_rate": ("dM", "time derivative of the mass matrix"),
    "bias_forces": ("h", f"joint forces of a motion without acceleration, {JOINT_FORCES}"),
    "gravity_forces": ("g", f"joint forces that carry the weight of the robot, {JOINT_FORCES}"),
    "coriolis_forces": ("c", f"Coriolis and centrifugal forces, {JOINT_FORCES}"),
    "coriolis_matrix": ("C", "Coriolis matrix of the Christoffel symbols, c = C dq"),
    "kinetic_energy": ("K", "kinetic energy, J"),
    "q_next": ("q_next", "joint positions after the step, as q"),
    "dq_next": ("dq_next", "joint rates after the step, as dq"),
    "potential_energy": ("U", "potential energy of gravity and springs, J"),
    "center_of_mass": ("p_com", "centre of mass in the space frame, m"),
    "momentum": ("H", "momentum (angular, linear) in the space frame, N m s and N s"),
    "centroidal_momentum": ("H_com", "the same about the centre of mass"),
    "spring_forces": ("tau_s", f"joint forces against springs, {JOINT_FORCES}"),
    "friction_forces": ("b", f"joint forces against friction, {JOINT_FORCES}"),
    "link_poses": ("T_si", "poses of the link frames in the space frame, m"),
    "pose": ("T_sb", "pose of the frame in the space frame, m"),
    "body_jacobian": ("J_b", "its twist (omega, v) in its own axes is J_b dq"),
    "space_jacobian": ("J_s", "its twist (omega, v) in the space frame is J_s dq"),
    "body_jacobian_rate": ("dJ_b", "time derivative of the body Jacobian"),
    "space_jacobian_rate": ("dJ_s", "time derivative of the space Jacobian"),
    "dtau_dq": ("dtau_dq", "derivative of tau by q, along rates of the joints"),
    "dtau_dv": ("dtau_dv", "derivative of tau by dq"),
    "da_dq": ("da_dq", "derivative of ddq by q, along rates of the joints"),
    "da_dv": ("da_dv", "derivative of ddq by dq"),
    "da_dtau": ("da_dtau", "derivative of ddq by tau, the inverse of M"),
}

CALLS = ("sin", "cos", "sqrt", "sign", "exp", "log", "tanh", "atan2", "abs", "min", "max")
COUNTED = (
    (("add", "sub"), "add or subtract"),
    (("mul",), "multiply"),
    (("fma", "fms", "fnma"), "multiply and add (two each)"),
    (("div",), "divide"),
    (("neg",), "negate"),
)

WEIGHING = {
    "inverse_dynamics", "forward_dynamics", "bias_forces", "gravity_forces", "potential_energy",
    "inverse_dynamics_derivatives", "forward_dynamics_derivatives",
}  # fmt: skip


@dataclass(frozen=True)
class About:
    """The contents of the comment besides names and units.

    title: the function and its equation. weighs: gravity is in it. layout: how the language lays
    out matrices. first: index of an array's first entry, 0 or 1. frame: the frame of the quantity,
    or None.
    """

    title: str
    weighs: bool
    layout: str
    first: int
    frame: str | None


def header(model: Model, graph: Graph, outputs: Sequence[Port], about: About) -> list[str]:
    """The lines of the comment, without the language's own sign for comments.

    `outputs` are the results under their letters.
    """
    lines = [about.title, f'Robot "{plain(model.name)}", exported by kinetree {release()}.']
    if about.frame is not None:
        lines.append(f'Frame "{plain(about.frame)}".')
    lines += ["", "Arguments"]
    lines += [f"  {_shape(port):16} {ARGUMENTS.get(port.name, port.name)}" for port in graph.inputs]
    lines.append("Result")
    words = {letter: text for letter, text in RESULTS.values()}
    lines += [f"  {_shape(port):16} {words.get(port.name, port.name)}" for port in outputs]
    if any(len(port.shape) > 1 for port in (*graph.inputs, *outputs)):
        lines.append(f"Matrices: {about.layout}.")
    lines += ["", *conventions(graph), *gravity(model, graph, about), ""]
    lines += [*joint_table(model, graph, about.first), "", operations(graph)]
    return lines


def release() -> str:
    """The version of kinetree."""
    try:
        return version("kinetree")
    except PackageNotFoundError:  # run from a folder of sources
        return "(not installed)"


def conventions(graph: Graph) -> list[str]:
    """Conventions on units, orders and signs."""
    lines = ["SI units, radians. Six-vectors are angular first: (omega, v), (moment, force)."]
    if any(port.name == "F_ext" for port in graph.inputs):
        lines.append("External wrenches act ON the links; the wrench of a tool is the opposite.")
    return lines


def gravity(model: Model, graph: Graph, about: About) -> Iterator[str]:
    """The gravity that is a constant of the code."""
    free = any(port.name == "gravity" for port in graph.inputs)
    if about.weighs and not free:
        x, y, z = (float(entry) for entry in model.gravity[3:])
        yield f"Gravity is folded in: ({x:g}, {y:g}, {z:g}) m/s^2 in the space frame."


def joint_table(model: Model, graph: Graph, first: int) -> Iterator[str]:
    """Entries of joint vectors: index, name, unit; one table if q and dq are alike."""
    own = [joint for joint in model.joints if joint.follows is None]
    named = {port.name for port in graph.inputs}
    if "q" in named:
        yield "Entries of q"
        names = [name for joint in own for name in coordinate_names(joint)]
        units = [unit for joint in own for unit in coordinate_units(joint)]
        yield from _rows(names, units, first)
    if named & {"dq", "ddq", "tau"} or model.nq != model.n:
        yield "Entries of dq, ddq and tau"
        names = [name for joint in own for name in rate_names(joint)]
        units = [unit for joint in own for unit in rate_units(joint)]
        yield from _rows(names, units, first)
    for joint in model.joints:
        if joint.follows is not None:
            rule = f"{float(joint.scale):g} q + {float(joint.offset):g}"
            yield f"Joint {plain(joint.name)} follows {plain(joint.follows)}: {rule}"


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
