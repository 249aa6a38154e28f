"""States of a robot with constraints: moved onto them, with the slider that was moved kept.

A slider moves one entry of q, dq or ddq. The other entries change as little as possible so that
Phi(q) = 0, J dq = 0 and J ddq + gamma = 0. If there is no such state near, the state is shown as it
is and a sentence names the constraint that is open.
"""

import numpy as np

from kinetree.constraints import project
from kinetree.core.arrays import Array
from kinetree.errors import InputError
from kinetree.robot import Robot
from kinetree.views.loops import openness, wrapped
from kinetree.views.workbench.quantities import quantity
from kinetree.views.workbench.state import State

CUTOFF = 1e-9  # singular values of J below this part of the largest one are left out
FORBIDDEN = 1e-6  # rad/s or m/s, and per s: rates that are reported
ATTEMPTS = 20  # random positions that are tried


def closed_state(state: State, kept: tuple[str, int] | None = None) -> State:
    """The state on the constraints of its robot; the same state without constraints.

    kept: the quantity, "q", "dq" or "ddq", and the degree of freedom that the user has set.
    """
    robot = state.robot
    if robot.model.constraints is None:
        return state
    q = _positions(robot, state.q, _entry(kept, "q"))
    return allowed_motion(state.replace(q=q), kept)


def allowed_motion(state: State, kept: tuple[str, int] | None = None) -> State:
    """The state at the same position, with rates and accelerations that its constraints allow.

    kept: as in `closed_state`.
    """
    robot, q = state.robot, state.q
    if robot.model.constraints is None:
        return state
    J = np.asarray(quantity(robot, "constraint_jacobian")(q), float)
    if not np.isfinite(J).all():
        return state
    dq = _corrected(J, state.dq, np.zeros(len(J)), _entry(kept, "dq"))
    gamma = np.asarray(quantity(robot, "constraint_bias")(q, dq), float)
    return state.replace(dq=dq, ddq=_corrected(J, state.ddq, gamma, _entry(kept, "ddq")))


def _entry(kept: tuple[str, int] | None, name: str) -> int | None:
    """The entry that is kept, if it is one of the quantity `name`."""
    return kept[1] if kept is not None and kept[0] == name else None


def _positions(robot: Robot, q: Array, kept: int | None) -> Array:
    joints = (x for x in robot.model.joints if x.follows is None)
    keep = [x.name for x in joints if kept is not None and kept in x.dofs]
    try:
        return wrapped(robot.model, np.asarray(project(robot, q, keep=keep), float))
    except InputError:  # shown open, and reported by `closure_words`
        return q


def _corrected(J: Array, x: Array, bias: Array, kept: int | None) -> Array:
    """Rates or accelerations x with J x + bias = 0, changed as little as possible."""
    free = [d for d in range(len(x)) if d != kept]
    x = np.array(x, float)
    missing = J @ x + bias
    if np.abs(missing).max(initial=0.0) > 0:
        x[free] -= np.linalg.pinv(J[:, free], rcond=CUTOFF) @ missing
    return x


def random_state(state: State) -> State:
    """The state at a random position within the limits, on the constraints if there are any."""
    robot = state.robot
    if robot.model.constraints is None:
        return state.replace(q=robot.random())
    for _ in range(ATTEMPTS):
        try:
            q = np.asarray(project(robot, robot.random()), float)
        except InputError:
            continue
        return closed_state(state.replace(q=wrapped(robot.model, q)))
    raise InputError(
        f"no closed position of {robot.name!r} was found from {ATTEMPTS} random ones. Move the "
        "sliders, or press random again."
    )


def closure_words(state: State) -> str:
    """A sentence on the constraints at a state; empty for a robot without constraints."""
    robot = state.robot
    if robot.model.constraints is None:
        return ""
    open_by = openness(robot, state.q)
    if not open_by.closed:
        name = max(open_by.errors, key=lambda x: open_by.errors[x])
        return (
            f"Constraint {name} is open by {open_by.errors[name]:.3g} (rad or m): no closed "
            "position is found near these sliders. Forces are those of the open mechanism."
        )
    J = np.asarray(quantity(robot, "constraint_jacobian")(state.q), float)
    rates = np.abs(J @ state.dq).max(initial=0.0)
    change = J @ state.ddq + np.asarray(quantity(robot, "constraint_bias")(state.q, state.dq))
    if max(rates, np.abs(change).max(initial=0.0)) > FORBIDDEN:
        return "The constraints are closed, but they do not allow these rates or accelerations."
    return "All constraints are closed; the other sliders follow the one that is moved."
