"""Damped Gauss-Newton steps within limits: the loop that inverse kinematics are compiled from.

Each task has an error e in the axes of its frame {b}, which its rows of J_b reduce:

    pose       e = (w_R log(R^T R_d), w_p R^T (p_d - p))     position   e = w_p R^T (p_d - p)

A round looks at a trial position. If e^2 is smaller there, it is taken, and the next step solves

    (J J^T + d 1) y = e,   s = J^T y,   d = mu e^2

without the joints that stand at a limit and would leave it. If not, the last step is divided by
four. d shrinks with e^2, so that the steps become those of Newton's method (Levenberg-Marquardt
with the damping of Yamashita and Fukushima). Positions are clipped to the limits.

With a gain above 0, joints also move towards a posture, as far as the tasks leave them free:
s = z + J^T (J J^T + d 1)^-1 (e - J z), z = gain (posture - q). The error may then grow up to TUBE.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.repeat import repeat
from kinetree.dynamics.constraints.closures import lean_items, tree_constraints
from kinetree.dynamics.energy import center_of_mass
from kinetree.dynamics.frames import body_walk
from kinetree.dynamics.joints.tangents import integrate
from kinetree.dynamics.lean import lean_frame, lean_model, lean_tree
from kinetree.dynamics.momentum import center_of_mass_jacobian
from kinetree.engine.compiler.graph import Port
from kinetree.engine.cuda.kernel import CudaKernel
from kinetree.engine.kernel import Kernel
from kinetree.engine.kernels.compile import variant
from kinetree.engine.kernels.memo import remembered
from kinetree.engine.kernels.ports import argument_port
from kinetree.model import Model
from kinetree.model.bounds import bounds_of
from kinetree.scalars import atan2, clip, maximum, sqrt, where
from kinetree.spatial.matrices import factor, solve
from kinetree.spatial.so3 import unskew

POSE, POSITION, CENTER = "pose", "position", "center of mass"
ROUNDS = 400  # at most; `left` counts those that a call may take
LEAST_DAMPING = 1e-12  # (rad or m)^2, so that a singular J J^T has a factor
SMALLEST_SINE = 1e-8  # below it an angle is its sine, or nearly half a turn
SHORTER, GENTLER, STIFFER = 0.25, 0.25, 4.0  # of a step that fails; damping after good, bad steps
TUBE = 1e-4  # e^2 up to which a posture may disturb a task, (rad or m)^2
RESTING = 1e-16  # s^2 at which a posture is reached, (rad or m)^2
PATIENCE = 6  # 1 and the rounds in a row that reduce e^2 too little before a start is given up


@dataclass(frozen=True)
class Task:
    """What reaches a target: the pose or position of a frame, or the centre of mass."""

    kind: str
    frame: str | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the target."""
        return (4, 4) if self.kind == POSE else (3,)


def state_ports(model: Model) -> list[Port]:
    """Ports of what a call carries on.

    The position that was taken, the step from it, e^2, mu, 1 and the rounds without progress, the
    rounds that are left, and the squares of the largest angle and distance, rad and m.
    """
    numbers = [Port(x, ()) for x in ("cost", "mu", "slow", "left", "angle", "distance")]
    return [argument_port(model, "q"), Port("s", (model.n,), ("n",)), *numbers]


def descent_kernel(model: Model, tasks: tuple[Task, ...], target: str = "llvm") -> Any:
    """The kernel of a robot and its tasks: rounds from a state, which it returns.

    Its arguments are q, s, cost, mu, slow, left, angle, distance; lower, upper, (n,); weights of
    angles and distances, (tasks, 2); tolerance, rad and m; progress, the share of e^2 that a round
    must fall below; 1 and the gain; the posture; the targets. No number is 0: calls with positive
    numbers enter machine code directly.
    """
    if target == "cuda":
        return remembered(model, ("descent", tasks, target), lambda: _on_gpu(model, tasks))
    return remembered(model, ("descent", tasks), lambda: _compiled(model, tasks))


def _on_gpu(model: Model, tasks: tuple[Task, ...]) -> CudaKernel:
    return CudaKernel(descent_kernel(model, tasks).graph, "descent")


def _compiled(model: Model, tasks: tuple[Task, ...]) -> Kernel:
    n = model.n
    ports = [
        *state_ports(model),
        *(Port(x, (n,), ("n",)) for x in ("lower", "upper")),
        Port("weights", (len(tasks), 2)),
        *(Port(x, ()) for x in ("tolerance", "progress", "gain")),
        Port("posture", (n,), ("n",)),
        *(Port(f"target{k}", task.shape) for k, task in enumerate(tasks)),
    ]
    outputs = [(f"{port.name}_end", port.dims) for port in state_ports(model)]
    doc = f"inverse kinematics of {model.name}"
    return variant(model, "descent", (tasks,), lambda: _descent(model, tasks), ports, outputs, doc)


def _descent(model: Model, tasks: Sequence[Task]) -> Callable[..., Any]:
    """The function that is traced."""
    lean = lean_model(model, regrouped=False)
    places = [None if x.kind == CENTER else lean_frame(lean, x.frame) for x in tasks]
    items = lean_items(lean)
    coords = [int(x) for x in bounds_of(model).coords]

    def rows(q: Array, given: dict[str, Array]) -> tuple[Array, Array, Any, Any]:
        """e, J, and the largest angle and distance, squared."""
        tree = lean_tree(lean, q)
        e, J, angle, distance = [], [], 0, 0
        for k, (task, place) in enumerate(zip(tasks, places, strict=True)):
            w_R, w_p = given["weights"][k]
            target = given[f"target{k}"]
            if place is None:
                p, J_p, R = center_of_mass(tree), center_of_mass_jacobian(tree), None
                away = target - p
            else:
                walk = body_walk(tree, place)
                R, J_p = walk.T_sb[:3, :3], walk.J[3:]
                goal = target[:3, 3] if task.kind == POSE else target
                away = R.T @ (goal - walk.T_sb[:3, 3])
                if task.kind == POSE:
                    turn, size = _rotation_vector(R.T @ target[:3, :3])
                    e += [*(turn * w_R)]
                    J += [*(walk.J[:3] * w_R)]
                    angle = maximum(angle, size * size)
            e += [*(away * w_p)]
            J += [*(J_p * w_p)]
            distance = maximum(distance, away @ away)
        if items:
            closed = tree_constraints(tree, items, q)
            e += [-x for x in closed.Phi]
            J += [*closed.J]
            for x in closed.Phi:
                distance = maximum(distance, x * x)
        return np.array(e), np.array(J), angle, distance

    def round_(now: dict[str, Array], given: dict[str, Array]) -> dict[str, Any]:
        q_trial = _clipped(coords, integrate(model, now["q"], now["s"]), given)
        e, J, angle, distance = rows(q_trial, given)
        cost = e @ e
        gain = given["gain"]
        better = where(gain, TUBE - cost, now["cost"] - cost)
        mu = now["mu"] * where(better, GENTLER, STIFFER)
        s = _within(coords, q_trial, e, J, mu * cost + LEAST_DAMPING, given)
        slow = where(given["progress"] * now["cost"] - cost, 1, now["slow"] + 1)
        left = now["left"] - 1
        angle, distance = (
            where(better, x, now[name]) for name, x in (("angle", angle), ("distance", distance))
        )
        far = maximum(angle, distance) - given["tolerance"] * given["tolerance"]
        far = where(gain, s @ s - RESTING, far)
        return {
            "open": where(far, where(PATIENCE - slow, where(left, 1, 0), 0), 0),
            "q": where(better, q_trial, now["q"]),
            "s": where(better, s, now["s"] * SHORTER),
            "cost": where(better, cost, now["cost"]),
            "mu": mu,
            "slow": slow,
            "left": left,
            "angle": angle,
            "distance": distance,
        }

    names = [port.name for port in state_ports(model)]

    def function(*arrays: Array) -> tuple[Array, ...]:
        state = dict(zip(names, arrays, strict=False))
        more = ("lower", "upper", "weights", "tolerance", "progress", "gain", "posture")
        more += tuple(f"target{k}" for k in range(len(tasks)))
        given = dict(zip(more, arrays[len(names) :], strict=True))
        given["gain"] = given["gain"] - 1
        start = {"open": where(state["left"], 1, 0), **state}
        end = repeat(round_, ROUNDS, start, given)
        return tuple(end[name] for name in names)

    return function


def _rotation_vector(R: Array) -> tuple[Array, Any]:
    """log(R), (3,), and its length, rad; where R is half a turn, its direction is not known."""
    v = unskew(R - R.T) / 2
    sine = sqrt(v @ v)
    angle = atan2(sine, (R[0, 0] + R[1, 1] + R[2, 2] - 1) / 2)
    large = sine - SMALLEST_SINE
    return v * where(large, angle / where(large, sine, 1), 1), angle


def _clipped(coords: Sequence[int], q: Array, given: dict[str, Array]) -> Array:
    out = list(q)
    for k, c in enumerate(coords):
        if c >= 0:
            out[c] = clip(q[c], given["lower"][k], given["upper"][k])
    return np.array(out)


def _within(
    coords: Sequence[int], q: Array, e: Array, J: Array, damping: Any, given: dict[str, Array]
) -> Array:
    """The step from q that stays within the limits.

    Joints that stand at a limit and that e would move beyond it are left out. Those that the step
    then moves beyond a limit go to it, and the step of the others is computed again.
    """
    n = len(coords)
    low, high = (
        np.array([x[k] - q[c] if c >= 0 else 0 for k, c in enumerate(coords)])
        for x in (given["lower"], given["upper"])
    )
    own = [k for k in range(n) if coords[k] >= 0]
    gradient, free, z = e @ J, np.ones(n, dtype=object), np.zeros(n, dtype=object)
    for k in own:
        room = where(gradient[k], where(high[k], 1, 0), where(-low[k], 1, 0))
        free[k] = room
        z[k] = given["gain"] * (given["posture"][k] - q[coords[k]]) * room
    s = z + _step(J * free, e - J @ z, damping)
    held = np.zeros(n, dtype=object)
    for k in own:
        beyond = where(low[k] - s[k], 1, where(s[k] - high[k], 1, 0))
        held[k] = where(beyond, clip(s[k], low[k], high[k]), 0)
        free[k] = where(beyond, 0, free[k])
    z = z * free + held
    return z + _step(J * free, e - J @ z, damping)


def _step(J: Array, e: Array, damping: Any) -> Array:
    """s of least |e - J s|^2 + d |s|^2, by the smaller one of J J^T and J^T J."""
    m, n = J.shape
    if m <= n:
        return solve(factor(_damped(J @ J.T, damping), None), e) @ J
    return solve(factor(_damped(J.T @ J, damping), None), e @ J)


def _damped(A: Array, damping: Any) -> Array:
    return np.array([[x + damping if i == j else x for j, x in enumerate(row)]
                     for i, row in enumerate(A)])  # fmt: skip
