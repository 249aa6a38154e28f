"""Readings of a state: joint forces by parts, mass matrix, energy, and the ellipsoids of a frame.

They answer within milliseconds, so that a slider can be dragged (see quantities.py). Those of a
large robot have no matrix and no ellipsoids, whose work grows with n^2 and n^3.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kinetree.algorithms import Ellipsoid, inverse_dynamics, pose
from kinetree.algorithms.joints.friction import frictionless, load_coefficients
from kinetree.base.arrays import Array
from kinetree.errors import InputError, SingularityError
from kinetree.model import Model
from kinetree.model.bounds import bounds_of
from kinetree.views.workbench.closing import allowed_motion, closure_words
from kinetree.views.workbench.quantities import MAX_FULL, has_mass, is_large, quantity
from kinetree.views.workbench.state import State, external_wrenches

ELLIPSOIDS = {"mass": ("effective mass", "kg"), "force": ("force", "N per N m of torque")}


def readings(
    state: State, frame: str | None, size: float, kept: tuple[str, int] | None = None
) -> dict[str, object]:
    """All readings of a state, as the page shows them.

    Rates and accelerations that the constraints of the robot do not allow are changed first; the
    readings have those that are used.

    frame: frame whose pose and ellipsoids are shown; None means the tool. size: longest finite axis
    of a drawn ellipsoid, m. kept: as in `allowed_motion`.
    """
    large = is_large(state.robot.model)
    if large and state.robot.model.constraints is not None:
        raise InputError(f"{left_out(state.robot.model)} Joint forces with constraints need them.")
    state = allowed_motion(state, kept)
    robot, q, dq = state.robot, state.q, state.dq
    name = robot.model.tool if frame is None else frame
    found = torques(state)
    M = None if large else np.asarray(quantity(robot, "mass_matrix")(q), float)
    values = np.zeros(1) if M is None or not len(M) else np.linalg.eigvalsh(M)
    ellipsoids = {} if large else frame_ellipsoids(state, name, size)
    return {
        "tau": found.tau,
        "parts": found.parts,
        "limits": found.limits,
        "M": M,
        "eigenvalues": None if large else [values[0], values[-1]],
        "left_out": left_out(robot.model) if large else None,
        "energy": {
            "kinetic": float(quantity(robot, "kinetic_energy")(q, dq)),
            "potential": float(quantity(robot, "potential_energy")(q)),
        },
        "frame": {"name": name, "T": np.asarray(pose(robot.model, q, name), float).ravel()},
        "ellipsoids": {kind: vars(x) for kind, x in ellipsoids.items()},
        "com": quantity(robot, "center_of_mass")(q) if has_mass(robot.model) else None,
        "dq": dq,
        "ddq": state.ddq,
        "closure": closure_words(state),
    }


def left_out(model: Model) -> str:
    """The sentence for a large robot."""
    return (
        f"The robot has {model.n} degrees of freedom and {len(model.links)} links: from more than "
        f"{MAX_FULL} on, the workbench computes no mass matrix and no ellipsoids. Use Python."
    )


@dataclass(frozen=True, eq=False)
class Torques:
    """tau = M ddq + c + g + springs + b + external, (n,) each, N m or N; no limit is infinite.

    A robot with constraints has one more part, and tau of joints without motors is zero.
    """

    parts: Mapping[str, Array]
    tau: Array
    limits: Array


def torques(state: State) -> Torques:
    """The joint forces of the state."""
    robot, q, dq, ddq = state.robot, state.q, state.dq, state.ddq
    model = robot.model
    if model.constraints is not None:
        return constrained_torques(state)
    F_ext = external_wrenches(state, quantity(robot, "link_poses")(q))
    tau = free = quantity(robot, "inverse_dynamics")(q, dq, ddq)
    if state.push is not None:
        tau = quantity(robot, "loaded_inverse_dynamics")(q, dq, ddq, F_ext)
    parts = motion_parts(state) | {"external": tau - free}
    if load_coefficients(model):  # friction depends on all other forces
        bare = frictionless(model)
        loaded = inverse_dynamics(bare, q, dq, ddq, F_ext)
        parts["friction"] = tau - loaded
        parts["external"] = loaded - inverse_dynamics(bare, q, dq, ddq)
    return Torques(parts, tau, effort_limits(model, dq, tau))


def constrained_torques(state: State) -> Torques:
    """The forces of the motors, with the part that the constraints carry."""
    robot, q, dq, ddq = state.robot, state.q, state.dq, state.ddq
    JT = np.asarray(quantity(robot, "constraint_jacobian")(q), float).T

    def loads(name: str, *F_ext: Array) -> tuple[Array, Array, Array]:
        try:
            tau, lam, left, _ = quantity(robot, name)(q, dq, ddq, *F_ext)
        except InputError:  # the plain function refuses motions that the kernel answers
            tau, lam, left, _ = robot.constrained_inverse_dynamics(q, dq, ddq, *F_ext)
        return tau, JT @ lam, tau + JT @ lam + left  # the last are the joint forces of the tree

    tau, carried, tree = free = loads("constrained_inverse_dynamics")
    if state.push is not None:
        F_ext = external_wrenches(state, quantity(robot, "link_poses")(q))
        tau, carried, tree = loads("loaded_constrained_inverse_dynamics", F_ext)
    parts = motion_parts(state) | {"external": tree - free[2], "constraints": -carried}
    return Torques(parts, tau, effort_limits(robot.model, dq, tau))


def motion_parts(state: State) -> dict[str, Array]:
    """Parts of the joint forces that do not depend on the push."""
    robot, q, dq, ddq = state.robot, state.q, state.dq, state.ddq
    if is_large(robot.model):  # M ddq and c as differences of joint forces, without matrices
        bare, zero = frictionless(robot.model), np.zeros(robot.n)
        still, coasting, moving = (
            inverse_dynamics(bare, q, *rates) for rates in ((zero, zero), (dq, zero), (dq, ddq))
        )
        inertia, coriolis = moving - coasting, coasting - still
    else:
        inertia = quantity(robot, "mass_matrix")(q) @ ddq
        coriolis = quantity(robot, "coriolis_forces")(q, dq)
    return {
        "inertia": inertia,
        "Coriolis": coriolis,
        "gravity": quantity(robot, "gravity_forces")(q),
        **({"spring": quantity(robot, "spring_forces")(q)} if robot.model.springs else {}),
        "friction": quantity(robot, "friction_forces")(dq),
    }


def effort_limits(model: Model, dq: Array, tau: Array) -> Array:
    """The largest |tau| of every degree of freedom at rates dq, in the direction of tau, (n,)."""
    least, most = bounds_of(model).forces(np.asarray(dq, float))
    return np.where(tau >= 0, most, -least)


@dataclass(frozen=True, eq=False)
class Drawn:
    """An ellipsoid as drawn: R (9,) and semi-axes in m; `lengths` are the values that they show."""

    R: Array
    radii: Array
    lengths: Array


def frame_ellipsoids(state: State, frame: str | None, size: float) -> dict[str, Drawn]:
    """Mass and force ellipsoid at a frame, the longest finite axis of each `size` long.

    They are not computed for robots with constraints.
    """
    found: dict[str, Drawn] = {}
    for kind in ELLIPSOIDS if state.robot.model.constraints is None and state.robot.n else ():
        try:
            ellipsoid = getattr(state.robot, f"{kind}_ellipsoid")(state.q, frame)
        except SingularityError:
            continue  # a link without mass: M has no inverse, and there is no ellipsoid
        found[kind] = drawn(ellipsoid, size)
    return found


def drawn(ellipsoid: Ellipsoid, size: float) -> Drawn:
    """Scale an ellipsoid to `size`; an infinite axis, without mobility, is drawn 1.5 as long."""
    lengths = np.asarray(ellipsoid.lengths, float)
    finite = lengths[np.isfinite(lengths)]
    scale = size / max(float(np.max(finite, initial=0.0)), 1e-12)
    radii = np.where(np.isfinite(lengths), lengths * scale, 1.5 * size)
    R = np.array(ellipsoid.axes, float)
    if np.linalg.det(R) < 0:
        R[:, 0] = -R[:, 0]
    return Drawn(R.ravel(), np.maximum(radii, 0.01 * size), lengths)
