"""Readings of a state: joint forces by parts, mass matrix, energy, and the ellipsoids of a frame.

They answer within milliseconds, so that a slider can be dragged (see quantities.py). Those of a
large robot have no matrix and no ellipsoids, whose work grows with n^2 and n^3.
"""

from typing import Any

import numpy as np

from kinetree import dynamics
from kinetree.core.arrays import Array
from kinetree.dynamics import Ellipsoid, inverse_dynamics, pose
from kinetree.dynamics.joints.friction import frictionless
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
    name = robot.model.frame_name(frame)
    M = None if large else np.asarray(quantity(robot, "mass_matrix")(q), float)
    values = np.zeros(1) if M is None or not len(M) else np.linalg.eigvalsh(M)
    return {
        **torques(state),
        "M": M,
        "eigenvalues": None if large else [values[0], values[-1]],
        "left_out": left_out(robot.model) if large else None,
        "energy": {
            "kinetic": float(quantity(robot, "kinetic_energy")(q, dq)),
            "potential": float(quantity(robot, "potential_energy")(q)),
        },
        "frame": {"name": name, "T": np.asarray(pose(robot.model, q, name), float).ravel()},
        "ellipsoids": {} if large else frame_ellipsoids(state, name, size),
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


def torques(state: State) -> dict[str, Any]:
    """Joint forces tau of the state, (n,), N m or N, the parts that add up to them, and limits.

    tau = M ddq + c + g + springs + b + external. A robot with constraints has one more part, and
    tau of joints without motors is zero.
    """
    robot, q, dq, ddq = state.robot, state.q, state.dq, state.ddq
    model = robot.model
    if model.constraints is not None:
        return constrained_torques(state)
    tau = free = quantity(robot, "inverse_dynamics")(q, dq, ddq)
    if state.push is not None:
        F_ext = external_wrenches(state, quantity(robot, "link_poses")(q))
        tau = quantity(robot, "loaded_inverse_dynamics")(q, dq, ddq, F_ext)
    parts = motion_parts(state) | {"external": tau - free}
    return {"tau": tau, "parts": parts, "limits": effort_limits(model, dq, tau)}


def constrained_torques(state: State) -> dict[str, Any]:
    """The forces of the motors, with the part that the constraints carry."""
    robot, q, dq, ddq = state.robot, state.q, state.dq, state.ddq
    JT = np.asarray(quantity(robot, "constraint_jacobian")(q), float).T

    def loads(name: str, *F_ext: Array) -> tuple[Array, Array, Array]:
        try:
            tau, lam, left, _ = quantity(robot, name)(q, dq, ddq, *F_ext)
        except InputError:  # the plain function refuses motions that the kernel answers
            tau, lam, left, _ = robot.compile("constrained_inverse_dynamics")(q, dq, ddq, *F_ext)
        return tau, JT @ lam, tau + JT @ lam + left  # the last are the joint forces of the tree

    tau, carried, tree = free = loads("constrained_inverse_dynamics")
    if state.push is not None:
        F_ext = external_wrenches(state, quantity(robot, "link_poses")(q))
        tau, carried, tree = loads("loaded_constrained_inverse_dynamics", F_ext)
    parts = motion_parts(state) | {"external": tree - free[2], "constraints": -carried}
    return {"tau": tau, "parts": parts, "limits": effort_limits(robot.model, dq, tau)}


def motion_parts(state: State) -> dict[str, Array]:
    """Parts of the joint forces that do not depend on the push."""
    robot, q, dq, ddq = state.robot, state.q, state.dq, state.ddq
    if is_large(robot.model):  # M ddq and c as differences of joint forces, without matrices
        bare, zero = frictionless(robot.model), np.zeros(robot.n)
        still = inverse_dynamics(bare, q, zero, zero)
        coasting = inverse_dynamics(bare, q, dq, zero) if dq.any() else still
        moving = inverse_dynamics(bare, q, dq, ddq) if ddq.any() else coasting
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


def frame_ellipsoids(state: State, frame: str | None, size: float) -> dict[str, dict[str, Array]]:
    """Mass and force ellipsoid at a frame, the longest finite axis of each `size` long.

    They are not computed for robots with constraints.
    """
    ellipsoids: dict[str, dict[str, Array]] = {}
    for kind in ELLIPSOIDS if state.robot.model.constraints is None and state.robot.n else ():
        try:
            ellipsoid = getattr(dynamics, f"{kind}_ellipsoid")(state.robot, state.q, frame)
        except SingularityError:
            continue  # a link without mass: M has no inverse, and there is no ellipsoid
        ellipsoids[kind] = drawn(ellipsoid, size)
    return ellipsoids


def drawn(ellipsoid: Ellipsoid, size: float) -> dict[str, Array]:
    """An ellipsoid as drawn: R (9,), semi-axes in m, and `lengths`, the values that they show.

    Its longest finite axis is `size`; an infinite one, without mobility, is 1.5 as long.
    """
    lengths = np.asarray(ellipsoid.lengths, float)
    finite = lengths[np.isfinite(lengths)]
    scale = size / max(float(np.max(finite, initial=0.0)), 1e-12)
    radii = np.where(np.isfinite(lengths), lengths * scale, 1.5 * size)
    R = np.array(ellipsoid.axes, float)
    if np.linalg.det(R) < 0:
        R[:, 0] = -R[:, 0]
    return {"R": R.ravel(), "radii": np.maximum(radii, 0.01 * size), "lengths": lengths}
