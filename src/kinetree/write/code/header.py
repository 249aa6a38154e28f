"""The comment before exported code: what it computes, names, units, conventions, operations."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kinetree.base.versions import __version__
from kinetree.compiler.graph import Graph, Port
from kinetree.description.joints import PRISMATIC
from kinetree.kernels.constrained import HONOURED
from kinetree.kernels.quantities import CONSTRAINED, STEPS
from kinetree.model import Joint, Model
from kinetree.model.constraints import Closure, Constraints, Coupling
from kinetree.model.joint import coordinate_names, rate_names
from kinetree.model.labelled import DIRECTIONS

JOINT_FORCES = "N m or N"

# argument -> what it is, with its unit
ARGUMENTS = {
    "q": "joint positions, see below",
    "dq": "joint rates, see below",
    "ddq": "joint accelerations, units of dq per s",
    "dq_r": "reference rates, units of dq",
    "ddq_r": "rate of dq_r, units of dq per s",
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
    "inverse_mass_matrix": ("M_inv", "inverse of the mass matrix"),
    "transposed_coriolis_forces": ("c_T", f"C^T dq, C of the Christoffel symbols, {JOINT_FORCES}"),
    "center_of_mass_jacobian": ("J_com", "velocity of the centre of mass is J_com dq"),
    "centroidal_momentum_matrix": ("A_G", "momentum about the centre of mass is A_G dq"),
    "centroidal_momentum_matrix_rate": ("dA_G", "time derivative of A_G"),
    "reference_regressor": ("Y", "joint forces of the reference are Y pi"),
    "frame_velocity": ("V", "twist (omega, v) of the frame, rad/s and m/s"),
    "frame_acceleration": ("dV", "time derivative of the twist (omega, v), rad/s^2 and m/s^2"),
    "dtau_dq": ("dtau_dq", "derivative of tau by q, along rates of the joints"),
    "dtau_dv": ("dtau_dv", "derivative of tau by dq"),
    "da_dq": ("da_dq", "derivative of ddq by q, along rates of the joints"),
    "da_dv": ("da_dv", "derivative of ddq by dq"),
    "da_dtau": ("da_dtau", "derivative of ddq by tau, the inverse of M"),
    "lam": ("lam", "lambda, forces of the constraints, see below"),
    "residual": ("residual", "motion that breaks the constraints, see below"),
    "force_residual": ("force_residual", "M ddq + h - tau - J^T lambda, see below"),
    "motion_residual": ("motion_residual", "J ddq + gamma, see below"),
    "constraint_errors": ("Phi", "Phi(q): zero where the constraints are satisfied"),
    "constraint_jacobian": ("J", "derivative of Phi, dPhi/dt = J dq"),
    "constraint_bias": ("bias", "gamma = dJ/dt dq, so that d2Phi/dt2 = J ddq + gamma"),
    "dq_after": ("dq_after", "joint rates after the constraints close, as dq"),
    "impulse": ("impulse", "impulses of the constraints, N m s or N s, see below"),
    "M_r": ("M_r", "mass matrix of the independent rates, N^T M N"),
    "h_r": ("h_r", "forces of the independent rates without acceleration, N^T (M nu + h)"),
    "N": ("N", "rates of all joints for a unit of each independent rate, dq = N dy"),
}

# results whose letters mean something else in another quantity
OWN_RESULTS = {
    "task_space": {
        "J": "Jacobian of the task", "dJ": "time derivative of J",
        "Lambda": "inertia of the task, kg m^2, kg m and kg",
        "eta": "bias wrench, F = Lambda dV + eta, N m and N",
        "mu": "part of eta by Coriolis and centrifugal forces", "p": "part of eta by gravity",
        "J_bar": "M^-1 J^T Lambda, dynamically consistent inverse of J",
        "N": "1 - J_bar J: N^T tau does not act on the task",
    },
}  # fmt: skip

# meaning of a residual, by the quantity that has it
RESIDUALS = {
    "constrained_forward_dynamics": (
        "residual = J ddq + gamma is zero up to rounding. Larger entries mean that the position is",
        "singular, or very near: the constraints are then missed by this acceleration, and lam is",
        "damped instead of growing without bound. Small entries do not prove the opposite.",
    ),
    "constrained_inverse_dynamics": (
        "motion_residual is not zero if the constraints forbid ddq; force_residual is not zero if",
        "the motors cannot make the motion. tau and lam are an answer only where both are zero.",
    ),
    "constraint_impulse": (
        "residual = J dq_after is zero up to rounding, except at singular positions.",
    ),
}  # fmt: skip
UNDEFINED = {
    "inverse_dynamics": "tau is NaN where the motors cannot make the motion, as at a dead centre.",
    "reduced_dynamics":
        "M_r, h_r and N are NaN where dy does not determine all rates, as at a dead centre.",
}  # fmt: skip
CONSTRAINED_EQUATIONS = {
    "forward_dynamics": "ddq of M ddq + h = tau + J^T lambda, J ddq + gamma = 0",
    "constrained_forward_dynamics":
        "ddq and lambda of M ddq + h = tau + J^T lambda, J ddq + gamma = 0",
    "inverse_dynamics": "tau of the motors with tau + J^T lambda = M ddq + h",
    "constrained_inverse_dynamics": "tau and lambda with tau + J^T lambda = M ddq + h",
}  # fmt: skip

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

WEIGHING = {
    "inverse_dynamics", "forward_dynamics", "bias_forces", "gravity_forces", "potential_energy",
    "inverse_dynamics_derivatives", "forward_dynamics_derivatives",
    "constrained_forward_dynamics", "constrained_inverse_dynamics", "reduced_dynamics",
    "task_space", "reference_regressor",
}  # fmt: skip


@dataclass(frozen=True)
class About:
    """The contents of the comment besides names and units.

    title: the function and its equation. quantity: its name. layout: how the language lays out
    matrices. first: index of an array's first entry, 0 or 1. frame: the frame of the quantity, or
    None. expressed, rows: axes of a twist, and the rows of it that make a task, or None.
    """

    title: str
    quantity: str
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
    if about.quantity == "task_space":
        lines.append("All but J and dJ are NaN where a singular value of J is not above 1e-6.")
    lines += ["", "Arguments"]
    lines += [f"  {_shape(port):16} {ARGUMENTS.get(port.name, port.name)}" for port in graph.inputs]
    lines.append("Result")
    words = dict(RESULTS.values()) | OWN_RESULTS.get(about.quantity, {})
    lines += [f"  {_shape(port):16} {words.get(port.name, port.name)}" for port in outputs]
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
    if about.quantity in WEIGHING and not free:
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
    if named & {"dq", "ddq", "tau", "dq_r", "ddq_r"} or model.nq != model.n:
        yield "Entries of dq, ddq and tau"
        names = [name for joint in own for name in rate_names(joint)]
        units = [unit for joint in own for unit in rate_units(joint)]
        yield from _rows(names, units, first)
    for joint in model.joints:
        if joint.follows is not None:
            rule = f"{float(joint.scale):g} q + {float(joint.offset):g}"
            yield f"Joint {plain(joint.name)} follows {plain(joint.follows)}: {rule}"


def constraint_table(model: Model, given: Constraints, graph: Graph, about: About) -> Iterator[str]:
    """Names of the constraints, entries of their vectors, motors, and the meaning of residuals."""
    names = ", ".join(plain(name) for name in given.given)
    if about.quantity not in {*HONOURED, *CONSTRAINED, *STEPS}:
        yield f"Of the tree of joints; the constraints ({names}) are not part of it."
        return
    yield f"Constraints Phi(q) = 0 ({names}): equations, units of Phi and of forces"
    units = [unit for item in given.items for unit in row_units(model, item)]
    loose = [row not in given.basis for row in range(len(units))]
    units = [f"{x}, redundant" if y else x for x, y in zip(units, loose, strict=True)]
    yield from _rows(list(given.row_names), units, about.first)
    if about.quantity in ("inverse_dynamics", "constrained_inverse_dynamics"):
        yield f"Motors: {_dofs(model, given.actuated)}; tau of other joints is zero."
    if about.quantity == "reduced_dynamics":
        yield f"Independent rates dy: {_dofs(model, given.independent)}"
    if any(isinstance(item, Closure) for item in given.items) and about.quantity in RESIDUALS:
        yield "Forces of a loop are in the axes of its first frame and act on the second one."
    if about.quantity in CONSTRAINED_EQUATIONS:
        yield "h has the forces of velocities, gravity, springs and friction" + (
            ", and those against F_ext."
            if any(port.name == "F_ext" for port in graph.inputs)
            else "."
        )
    yield from RESIDUALS.get(about.quantity, ())
    if about.quantity in UNDEFINED:
        yield UNDEFINED[about.quantity]
    if about.quantity in STEPS:
        yield "The results are NaN if q and dq do not satisfy Phi(q) = 0 and J dq = 0."
    if about.quantity in CONSTRAINED_EQUATIONS:
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
