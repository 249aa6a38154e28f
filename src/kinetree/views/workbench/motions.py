"""Motions to watch: what a robot does when let go, held, or driven by a controller."""

# TODO merge docstring of kinetree.views.workbench.motions:
# Recordings by hand: what sliders stood at, and when, as a smooth motion.

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinetree import controllers
from kinetree.algorithms import forward_kinematics
from kinetree.algorithms.derivatives.tangent import tangent_map
from kinetree.base.arrays import Array
from kinetree.description.joints import FREE, SPHERICAL
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.robot import Robot
from kinetree.samples.files import from_columns
from kinetree.samples.splines import cubic_spline
from kinetree.simulate.core.state import plain
from kinetree.spatial import cross
from kinetree.trajectory import Trajectory
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


SAMPLE, SMOOTH = 0.02, 0.1  # s between samples of a recording, width of its average
REACH = 3 * SMOOTH  # s before and after, from where the average takes values
SHORTEST = 0.1  # of an average of quaternions: below, it says little about a direction


def recorded(robot: Robot, kept: Sequence[tuple[float, Array]]) -> Trajectory:
    """The motion of a hand on sliders: what they stood at, and when they were moved.

    A slider tells of its movements only, so that it is held in between. Jumps are made smooth, as
    a robot would have to: the positions are averaged over about a quarter of a second. The motion
    rests as long before and after it, so that it begins and ends where the hand did.
    """
    model = robot.model
    t, q = np.array([time for time, _ in kept]), np.array([q for _, q in kept])
    if len(t) < 2 or not np.ptp(q := aligned(model, q), axis=0).any():
        raise InputError("Nothing moved while recording; move a slider before finishing it.")
    grid = np.arange(0.0, t[-1] - t[0] + 2 * (REACH + SAMPLE), SAMPLE)
    q = np.stack([smoothed(held(t - t[0] + REACH, x, grid)) for x in q.T], axis=1)
    q = of_length_one(model, q)
    columns = {("q", name): q[:, k] for k, name in enumerate(model.coordinate_names)}
    if not plain(model):
        dq = rates(model, grid, q)
        columns |= {("dq", name): dq[:, k] for k, name in enumerate(model.dof_names)}
    return from_columns(grid, columns, robot, "recording", "the recording")


def held(t: Array, x: Array, grid: Array) -> Array:
    """Values (T,) at the times of a grid: what was set last."""
    return x[np.clip(np.searchsorted(t, grid, side="right") - 1, 0, len(x) - 1)]


def smoothed(x: Array) -> Array:
    """A bell-shaped average over time; before and after, the ends go on."""
    reach = round(REACH / SAMPLE)
    bell = np.exp(-0.5 * (np.arange(-reach, reach + 1) * SAMPLE / SMOOTH) ** 2)
    return np.convolve(np.pad(x, reach, mode="edge"), bell / bell.sum(), mode="valid")


def quaternions(model: Model) -> dict[str, list[int]]:
    """The entries of q that are quaternions, by joint."""
    turning = (x for x in model.joints if x.type in (SPHERICAL, FREE) and x.follows is None)
    return {joint.name: list(joint.coords[:4]) for joint in turning}


def aligned(model: Model, q: Array) -> Array:
    """Positions (T, nq) whose quaternions go the shorter way from sample to sample.

    x and -x are the same rotation; their average is none.
    """
    q = q.copy()
    for own in quaternions(model).values():
        cosines = np.einsum("tk,tk->t", q[:-1, own], q[1:, own])
        q[1:, own] *= np.cumprod(np.where(cosines < 0, -1.0, 1.0))[:, None]
    return q


def of_length_one(model: Model, q: Array) -> Array:
    """Averages (T, nq) with their quaternions brought back to length 1.

    Of all rotations x that one has the least mean of |x - x_k|^2 to the averaged x_k: the largest
    x . (mean of x_k).
    """
    q = q.copy()
    for joint, own in quaternions(model).items():
        length = np.linalg.norm(q[:, own], axis=1, keepdims=True)
        if length.min() < SHORTEST:
            raise InputError(
                f"joint {joint!r} turned to and fro by half turns within {2 * REACH:g} s, between "
                "which there is no average; record it again and turn it more slowly."
            )
        q[:, own] /= length
    return q


def rates(model: Model, t: Array, q: Array) -> Array:
    """dq, (T, n), of a smooth motion q, (T, nq): the rate of q is N dq with N of tangent.py.

    The columns of N are orthogonal to each other, so that each entry of dq is found by itself.
    """
    N = np.array([tangent_map(model, x) for x in q], float)
    _, slope, _ = cubic_spline(t, q)(t)
    return np.einsum("tkn,tk->tn", N, slope) / np.einsum("tkn,tkn->tn", N, N)
