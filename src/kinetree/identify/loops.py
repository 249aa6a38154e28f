"""Mechanisms: joints without motors follow from the measured motors by closing the loops.

With an orthonormal basis S of the null space of J, dq = S z. The motors' rows S_m of S give
z = S_m^+ dq_m, and ddq = S z' + p with p = -J^+ gamma, z' = S_m^+ (ddq_m - p_m). Positions are
found by the same equations: steps v with J v = -Phi that bring the motors to their measured
positions, or closest to them if there are more motors than degrees of freedom. Joint forces r have
the effect of motor forces with S_m^T tau_m = S^T r, of which the weighted norm is least.

A mechanism may close in several ways. It is followed from its neutral position in short steps, so
that it stays assembled as described, unless the other joints are recorded, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import listing
from kinetree.dynamics.constraints.dynamics import check_sufficient
from kinetree.dynamics.natural_units import natural_units
from kinetree.errors import InputError
from kinetree.files.description.joints import SCREW_TYPES
from kinetree.model import Model
from kinetree.model.bounds import bounds_of
from kinetree.model.constrain import constraints_of, tree_of
from kinetree.model.reshape import lock
from kinetree.model.units import entry_names
from kinetree.robot import Robot

DEAD_CENTRE = 1e-4  # of S_m: motors that move the mechanism by less do not determine its motion


def motor_dofs(model: Model) -> list[int]:
    """Degrees of freedom with a measured force: those of the motors, all of a tree."""
    constraints = model.constraints
    return list(range(model.n) if constraints is None else constraints.actuated)


def without_motor(model: Model) -> tuple[str, ...]:
    """Names of the entries of q, dq and tau of a mechanism's joints that have no motor."""
    motors = motor_dofs(model)
    joints = [x for x in model.joints if x.follows is None and not set(x.dofs) & set(motors)]
    dofs = [model.dof_names[k] for x in joints for k in x.dofs]
    coordinates = [model.coordinate_names[k] for x in joints for k in x.coords]
    return tuple(dict.fromkeys(dofs + coordinates))


def forces_at_motors(robot: Robot, q: Array, r: Array) -> Array:
    """Motor forces, (T, n, ...), with the effect of joint forces r, (T, n, ...); r of a tree.

    Args:
        robot: the robot.
        q: positions on the constraints, (T, nq).
        r: joint forces of its tree.
    """
    if robot.model.constraints is None:
        return r
    constraints, motors = constraints_of(robot.model, "identify"), motor_dofs(robot.model)
    _, S = _split(robot, q)
    S_m, each = S[:, motors], r.reshape(len(r), robot.n, -1)
    weighted = S_m / np.array(constraints.weights, float)[:, None]
    z = np.linalg.solve(S_m.transpose(0, 2, 1) @ weighted, S.transpose(0, 2, 1) @ each)
    forces = np.zeros(each.shape)
    forces[:, motors] = weighted @ z
    return forces.reshape(r.shape)


@dataclass(frozen=True, eq=False)
class Measured:
    """The part of a recording that is measured at the motors.

    Args:
        model: the tree with the other joints locked.
        columns: t, q, dq, ddq and tau of the motors; None for rates that were not recorded.
        q: positions of all joints, (T, nq), where they were recorded.
    """

    model: Model
    columns: tuple[Any, ...]
    q: Array | None


def measured_at_motors(model: Model, columns: tuple[Any, ...]) -> Measured:
    """The columns t, q, dq, ddq and tau of a recording of a mechanism, sorted.

    Raises:
        InputError: a motor's column is missing, or a joint without a motor has a force.
        ModelError: the motors do not determine the motion.
    """
    check_sufficient(model, "identify")
    names = [model.dof_names[d] for d in motor_dofs(model)]
    way_out = "name the joints with motors: robot.constrained({}, actuated=[...])"
    if np.any(bounds_of(model).coords[motor_dofs(model)] < 0):
        raise InputError(
            f"motors of {model.name!r} ({listing(names, 8)}) would move joints of several degrees "
            f"of freedom; {way_out}."
        )
    given = {
        what: _by_name(model, names, what, x)
        for what, x in zip(("q", "dq", "ddq", "tau"), columns[1:], strict=True)
        if x is not None
    }
    for name, column in given["tau"].items():
        if name not in names and np.any(column):
            raise InputError(
                f"tau of {name!r} is not zero, but {model.name!r} has no motor there; its motors "
                f"are {listing(names, 8)}. Leave the column out, or {way_out}."
            )

    def stacked(what: str, labels: Sequence[str]) -> Array:
        return np.stack([given[what][name] for name in labels], axis=1)

    chosen = [stacked(x, names) if x in given else None for x in ("q", "dq", "ddq", "tau")]
    every = model.coordinate_names
    whole = stacked("q", every) if set(every) <= set(given["q"]) else None
    return Measured(motors_alone(model), (columns[0], *chosen), whole)


def motors_alone(model: Model) -> Model:
    """The tree of a mechanism with the joints without motors locked at the neutral position."""
    home, motors = np.array(Robot(model).neutral(), float), motor_dofs(model)
    held: dict[str, Array] = {
        x.name: home[list(x.coords)] if len(x.coords) > 1 else home[min(x.coords)]
        for x in model.joints
        if x.follows is None and not set(x.dofs) & set(motors)
    }
    return lock(tree_of(model), held)


def _by_name(model: Model, motors: list[str], what: str, x: Any) -> dict[str, Array]:
    """The columns of a quantity by name; those of all motors are there."""
    columns: Any = x if isinstance(x, Mapping) else getattr(x, "columns", ())
    labels = [str(name) for name in columns]
    if labels:
        found = {name: np.asarray(x[name], float) for name in labels}
    else:
        every, values = entry_names(model, what), np.asarray(x, float).T
        labels = {len(every): every, len(motors): motors}.get(len(values), ())
        found = dict(zip(labels, values, strict=False))
    if missing := [name for name in motors if name not in found]:
        raise InputError(
            f"the recording lacks {what} of {listing(missing, 8)}; expected a column for each "
            f"motor of {model.name!r}: {listing(motors, 8)}. If a joint has no motor, name those "
            "that do: robot.constrained({}, actuated=[...])."
        )
    return found


def closed_motion(
    robot: Robot, t: Array, q: Array, target: Array, dq: Array, ddq: Array
) -> tuple[Array, Array, Array]:
    """q, dq and ddq of all joints from those of the motors.

    Args:
        robot: with constraints.
        t: times, (T,), s, for messages.
        q: positions to start from, (T, nq).
        target: positions of the motors, (T, k).
        dq, ddq: (T, n); entries of the motors are used.
    """
    model, motors = robot.model, motor_dofs(robot.model)
    q, Phi = _closed(robot, q, target)
    _check_closed(model, t, Phi)
    inverse, S = _split(robot, q)
    S_m = S[:, motors]
    least = np.linalg.svd(S_m, compute_uv=False)[:, -1]
    if np.any(least < DEAD_CENTRE):
        at = int(least.argmin())
        raise InputError(
            f"at t = {t[at]:.6g} s the motors of {model.name!r} "
            f"({listing([model.dof_names[d] for d in motors], 8)}) do not determine the motion of "
            "its other joints (a dead centre). Leave these samples out."
        )
    to_z = np.linalg.pinv(S_m)
    dq = _times(S, _times(to_z, dq[:, motors]))
    p = -_times(inverse, robot.compile("constraint_bias")(q, dq))
    return q, dq, p + _times(S, _times(to_z, ddq[:, motors] - p[:, motors]))


def check_closed(robot: Robot, t: Array, q: Array) -> None:
    """Raise InputError for positions, (T, nq), at which a mechanism is not closed."""
    if robot.model.constraints is not None:
        _check_closed(robot.model, t, np.asarray(robot.compile("constraint_errors")(q)))


def _check_closed(model: Model, t: Array, Phi: Array) -> None:
    constraints = constraints_of(model, "identify")
    size = np.abs(Phi).max(axis=1, initial=0)
    if not np.all(size <= constraints.tolerance):
        at = int(np.argmax(~(size <= constraints.tolerance)))
        row = int(np.abs(Phi[at]).argmax())
        raise InputError(
            f"at t = {t[at]:.6g} s the loops of {model.name!r} cannot be closed: constraint "
            f"{constraints.owner(row)!r} stays open by {np.abs(Phi[at, row]):.3g} (rad or m). Are "
            "zeros, signs and units of the motors those of the description, and does the "
            "mechanism start in its neutral position's way of assembly?"
        )


def followed(robot: Robot, t: Array, target: Array) -> Array:
    """Positions near those of each sample, (T, nq), followed from the neutral one."""
    model, motors = robot.model, motor_dofs(robot.model)
    coords = bounds_of(model).coords[motors]
    q = np.array(robot.neutral(), float)
    unit = np.where(natural_units(model).sliding[motors], natural_units(model).length, 1.0)
    path = np.concatenate([q[None, coords], target])
    way = np.r_[0, np.cumsum((np.abs(np.diff(path, axis=0)) / unit).max(axis=1))]
    knots = np.linspace(0, way[-1], int(np.ceil(way[-1] / 0.05)) + 1)
    wanted = np.stack([np.interp(knots, way, x) for x in path.T], axis=1)
    found = [q]
    for s, x in zip(knots[1:], wanted[1:], strict=True):
        q, Phi = (part[0] for part in _closed(robot, found[-1][None], x[None]))
        at = min(int(np.searchsorted(way, s)), len(t)) - 1
        _check_closed(model, t[at : at + 1] if at >= 0 else t[:1], Phi[None])
        found.append(q)
    between = [np.interp(way[1:], knots, x) for x in np.array(found).T]
    return np.stack(between, axis=1)


def reached(robot: Robot, start: Array, target: Array, least: float) -> Array | None:
    """Closed positions with the motors at targets, (T, nq), each on a straight way from one.

    Args:
        robot: with constraints.
        start: a closed position, (nq,).
        target: positions of the motors, (T, k).
        least: share of the start's distance from dead centres and singular positions that is kept.

    Returns:
        None if a target cannot be reached.
    """
    model, motors = robot.model, motor_dofs(robot.model)
    units, begin = natural_units(model), start[bounds_of(model).coords[motors]]
    way = (target - begin) / np.where(units.sliding[motors], units.length, 1.0)
    count = int(np.ceil(np.abs(way).max(initial=0) / 0.2))
    q, tolerance = start[None], constraints_of(model, "excite").tolerance
    room = _distances(robot, q)
    for share in np.linspace(0, 1, count + 1)[1:]:
        q, Phi = _closed(robot, np.broadcast_to(q, (len(target), len(start))),
                         begin + share * (target - begin))  # fmt: skip
        if not (np.all(np.abs(Phi) <= tolerance) and np.all(_distances(robot, q) >= least * room)):
            return None
    return np.array(np.broadcast_to(q, (len(target), len(start))))


def _distances(robot: Robot, q: Array) -> Array:
    """Smallest singular values of J and of S_m, (T, 2): zero where positions are singular."""
    inverse, S = _split(robot, q)
    S_m = S[:, motor_dofs(robot.model)]
    J = 1 / np.linalg.norm(inverse, 2, axis=(1, 2))
    return np.stack([J, np.linalg.svd(S_m, compute_uv=False)[:, -1]], axis=1)


def _closed(robot: Robot, q: Array, target: Array) -> tuple[Array, Array]:
    """Positions near q, (T, nq), with the motors at their targets, and what stays open, (T, m)."""
    motors = motor_dofs(robot.model)
    coords = bounds_of(robot.model).coords[motors]
    Phi = np.asarray(robot.compile("constraint_errors")(q))
    for _ in range(30):
        inverse, S = _split(robot, q)
        p = -_times(inverse, Phi)
        v = p + _times(
            S, _times(np.linalg.pinv(S[:, motors]), target - q[:, coords] - p[:, motors])
        )
        longest = np.abs(v).max(axis=1, initial=0, keepdims=True)
        q = _moved(robot, q, v * np.minimum(1, 0.5 / np.maximum(longest, 1e-300)))
        Phi = np.asarray(robot.compile("constraint_errors")(q))
        if longest.max(initial=0) < 1e-9:
            break
    return q, Phi


def _moved(robot: Robot, q: Array, v: Array) -> Array:
    """Positions after steps v, (T, n)."""
    if all(x.type in SCREW_TYPES for x in robot.model.joints):
        return q + v
    return np.array([robot.integrate(a, b) for a, b in zip(q, v, strict=True)])


def _split(robot: Robot, q: Array) -> tuple[Array, Array]:
    """J^+, (T, n, m), and an orthonormal basis S of the null space of J, (T, n, d)."""
    rank = len(constraints_of(robot.model, "identify").basis)
    U, s, V = np.linalg.svd(np.asarray(robot.compile("constraint_jacobian")(q)))
    V = V.transpose(0, 2, 1)
    near = np.maximum(s[:, None, :rank], 1e-12)
    return (V[:, :, :rank] / near) @ U[:, :, :rank].transpose(0, 2, 1), V[:, :, rank:]


def _times(A: Array, x: Array) -> Array:
    return np.einsum("tij,tj->ti", A, x)
