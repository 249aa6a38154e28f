"""Motions to watch: what a robot does when let go, held, or driven by a controller."""

from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree import controllers
from kinetree.algorithms import forward_kinematics
from kinetree.base.arrays import Array
from kinetree.errors import InputError
from kinetree.simulate.trajectory import Trajectory
from kinetree.spatial import cross
from kinetree.views.workbench.state import State, home

LONGEST = 60.0  # s
FREQUENCY = 8.0  # of the controlled joints, rad/s


def nothing(state: State) -> None:
    """No forces at all: the robot falls."""
    return None


def floating(state: State) -> Any:
    """Gravity is carried, a little damping takes the speed out."""
    return controllers.GravityCompensation(kd=0.3 * stiffness(state) / FREQUENCY)


def holding(state: State) -> Any:
    """A spring and a damper at every joint, with gravity carried, hold the present position."""
    kp = stiffness(state)
    return controllers.PD(state.q, kp=kp, kd=2 * kp / FREQUENCY, gravity=True)


def homing(state: State) -> Any:
    """Computed torque brings the robot home."""
    return controllers.ComputedTorque(home(state.robot), kp=FREQUENCY**2, kd=2 * FREQUENCY)


MOTIONS: dict[str, Callable[[State], Any]] = {
    "fall: no forces": nothing,
    "float: gravity compensation": floating,
    "hold: PD with gravity": holding,
    "go home: computed torque": homing,
}


def stiffness(state: State) -> Array:
    """kp, (n,): each joint alone would swing at FREQUENCY."""
    return np.diag(state.robot.mass_matrix(state.q)) * FREQUENCY**2


def simulated(state: State, motion: str, duration: float) -> Trajectory:
    """The motion from the state on; the push, if there is one, keeps its direction in {s}."""
    if motion not in MOTIONS:
        raise InputError(f"motion is {motion!r}; expected one of {', '.join(MOTIONS)}.")
    if not 0.1 <= duration <= LONGEST:
        raise InputError(f"duration is {duration} s; expected 0.1 to {LONGEST:g} s.")
    return state.robot.simulate(
        state.q,
        state.dq,
        duration=duration,
        dt=0.01,
        controller=MOTIONS[motion](state),
        F_ext=steady(state),
        limits="record",
        progress=False,
    )


def steady(state: State) -> Any:
    """F_ext of a push that goes on: its force stays as it is in {s}, however the link turns."""
    push, model = state.push, state.robot.model
    if push is None:
        return None

    def law(t: Any, q: Array, dq: Array) -> Array:
        R_is = forward_kinematics(model, q)[push.link][:3, :3].T
        f, n = R_is @ push.force, R_is @ push.moment
        F = np.zeros((len(model.links), 6), int).astype(object)
        F[push.link] = np.concatenate([n + cross(push.point, f), f])
        return F

    return law


def sample(trajectory: Trajectory, time: float) -> tuple[Array, Array, Array]:
    """q, dq and ddq of the sample nearest to a time."""
    k = int(np.clip(np.searchsorted(trajectory.t, time), 0, len(trajectory) - 1))
    if k > 0 and time - trajectory.t[k - 1] < trajectory.t[k] - time:
        k -= 1
    return trajectory.q[k], trajectory.dq[k], trajectory.ddq[k]


def remark(trajectory: Trajectory) -> str:
    """What is to be said about a motion: limits that it passed."""
    violations = trajectory.meta.get("violations", ())
    if not violations:
        return ""
    joints = sorted({str(x.joint) for x in violations})
    more = f" and {len(joints) - 4} more" if len(joints) > 4 else ""
    return f"Limits are passed by {', '.join(joints[:4])}{more}."
