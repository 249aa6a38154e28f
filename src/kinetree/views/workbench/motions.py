"""Motions to play: simulated from the present state, or recorded from the sliders."""

from collections.abc import Callable, Sequence

import numpy as np

from kinetree import controllers
from kinetree.algorithms import forward_kinematics
from kinetree.algorithms.tangents import tangent_map
from kinetree.base.arrays import Array
from kinetree.description.joints import FREE, SPHERICAL
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.motion.files import from_columns
from kinetree.robot import Robot
from kinetree.samples.between import curved
from kinetree.samples.splines import cubic_spline
from kinetree.scalars import Scalar
from kinetree.spatial import cross
from kinetree.trajectory import Trajectory
from kinetree.views.workbench.state import State, at_rest

LONGEST = 60.0  # s
FREQUENCY = 8.0  # of the controlled joints, rad/s
SAMPLE, SMOOTH = 0.02, 0.1  # s between samples of a recording; standard deviation of its average
REACH = 3 * SMOOTH  # s on both sides that the average takes values from
SHORTEST = 0.1  # length of an averaged quaternion; a shorter one has no reliable direction


def nothing(state: State) -> None:
    """No joint forces: the robot falls."""
    return None


def floating(state: State) -> controllers.Controller:
    """Gravity compensation with a little damping, which lets the robot come to rest."""
    return controllers.GravityCompensation(kd=0.3 * stiffness(state) / FREQUENCY)


def holding(state: State) -> controllers.Controller:
    """PD control with gravity compensation, which holds the present position."""
    kp = stiffness(state)
    return controllers.PD(state.q, kp=kp, kd=2 * kp / FREQUENCY, gravity=True)


def homing(state: State) -> controllers.Controller:
    """Computed torque control, which brings the robot to its position of rest."""
    q = at_rest(state.robot).q
    return controllers.ComputedTorque(q, kp=FREQUENCY**2, kd=2 * FREQUENCY)


MOTIONS: dict[str, Callable[[State], controllers.Controller | None]] = {
    "fall: no forces": nothing,
    "float: gravity compensation": floating,
    "hold: PD with gravity": holding,
    "go home: computed torque": homing,
}


def stiffness(state: State) -> Array:
    """kp, (n,), with which each joint alone would swing at FREQUENCY."""
    return np.diag(state.robot.mass_matrix(state.q)) * FREQUENCY**2


def simulated(state: State, motion: str, duration: float) -> Trajectory:
    """Simulate a motion from the state; a push keeps its direction in {s}."""
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


def steady(state: State) -> Callable[[Scalar, Array, Array], Array] | None:
    """F_ext(t, q, dq) of the push: constant in {s}, however the link turns; None without a push."""
    push, model = state.push, state.robot.model
    if push is None:
        return None

    def law(t: Scalar, q: Array, dq: Array) -> Array:
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
    """Sentences on joints that exceed their limits, and on how a file was read; or empty."""
    notes = trajectory.meta.get("notes", ())
    found = [f"Notes of the reader: {'; '.join(notes)}."] if notes else []
    violations = trajectory.meta.get("violations", ())
    if violations:
        joints = sorted({str(x.joint) for x in violations})
        more = f" and {len(joints) - 4} more" if len(joints) > 4 else ""
        found.append(f"Limits are exceeded by {', '.join(joints[:4])}{more}.")
    return " ".join(found)


def recorded(robot: Robot, kept: Sequence[tuple[float, Array]]) -> Trajectory:
    """The motion of the sliders, from the times and positions at which they were moved.

    Positions are constant between these times. Jumps are made smooth by a moving average over about
    a quarter of a second. The motion rests for REACH before and after, so that the average starts
    and ends at the first and last positions.
    """
    model = robot.model
    if model.constraints is not None:
        raise InputError(
            f"{robot.name!r} has constraints, and a recording of sliders would not satisfy them "
            "between its samples. Simulate a motion instead."
        )
    t, q = np.array([time for time, _ in kept]), np.array([q for _, q in kept])
    if len(t) < 2 or not np.ptp(q := aligned(model, q), axis=0).any():
        raise InputError("Nothing moved while recording; move a slider before finishing it.")
    grid = np.arange(0.0, t[-1] - t[0] + 2 * (REACH + SAMPLE), SAMPLE)
    q = np.stack([smoothed(held(t - t[0] + REACH, x, grid)) for x in q.T], axis=1)
    q = of_length_one(model, q)
    columns = {("q", name): q[:, k] for k, name in enumerate(model.coordinate_names)}
    if curved(model):
        dq = rates(model, grid, q)
        columns |= {("dq", name): dq[:, k] for k, name in enumerate(model.dof_names)}
    return from_columns(grid, columns, robot, "recording", "the recording")


def held(t: Array, x: Array, grid: Array) -> Array:
    """Values (T,) at the times of a grid: the value that was set last."""
    return x[np.clip(np.searchsorted(t, grid, side="right") - 1, 0, len(x) - 1)]


def smoothed(x: Array) -> Array:
    """Moving average with Gaussian weights; the ends are continued as constants."""
    reach = round(REACH / SAMPLE)
    bell = np.exp(-0.5 * (np.arange(-reach, reach + 1) * SAMPLE / SMOOTH) ** 2)
    return np.convolve(np.pad(x, reach, mode="edge"), bell / bell.sum(), mode="valid")


def quaternions(model: Model) -> dict[str, list[int]]:
    """Entries of q that are quaternions, by joint."""
    turning = (x for x in model.joints if x.type in (SPHERICAL, FREE) and x.follows is None)
    return {joint.name: list(joint.coords[:4]) for joint in turning}


def aligned(model: Model, q: Array) -> Array:
    """Positions (T, nq) with the signs of quaternions chosen for the shorter way between samples.

    x and -x are the same rotation, but their average is zero.
    """
    q = q.copy()
    for own in quaternions(model).values():
        cosines = np.einsum("tk,tk->t", q[:-1, own], q[1:, own])
        q[1:, own] *= np.cumprod(np.where(cosines < 0, -1.0, 1.0))[:, None]
    return q


def of_length_one(model: Model, q: Array) -> Array:
    """Averages (T, nq) with their quaternions scaled back to length 1.

    Of all rotations x, the scaled average has the least mean of |x - x_k|^2 to the samples x_k: it
    is the unit vector with the largest x . (mean of x_k).
    """
    q = q.copy()
    for joint, own in quaternions(model).items():
        length = np.linalg.norm(q[:, own], axis=1, keepdims=True)
        if length.min() < SHORTEST:
            raise InputError(
                f"joint {joint!r} made half turns back and forth within {2 * REACH:g} s, which "
                "have no average. Record it again and turn it more slowly."
            )
        q[:, own] /= length
    return q


def rates(model: Model, t: Array, q: Array) -> Array:
    """dq, (T, n), of a smooth motion q, (T, nq): the rate of q is N dq with N of `tangent_map`.

    The columns of N are orthogonal, so each entry of dq is found by a projection onto its column.
    """
    N = np.array([tangent_map(model, x) for x in q], float)
    _, slope, _ = cubic_spline(t, q)(t)
    return np.einsum("tkn,tk->tn", N, slope) / np.einsum("tkn,tkn->tn", N, N)
