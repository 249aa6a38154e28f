"""A step of an environment as one compiled function: steps of the robot, reward, and resets.

The steps of the robot are a loop in the kernel, with the graph of `Robot.step` in it, so that the
states have the bits that calls of `Robot.step` give. Then follow, traced once for a task, the
observation, the reward, the end of the episode, and the choice between the next state and a start
that is an argument. No number depends on the batch, and robots on a GPU are not looked at from
Python.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ground.tasks import MAX_TILT, Task
from kinetree.core.arrays import Array
from kinetree.engine.compiler.graph import Graph, Node, Port, Sweep
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.stepping import Composition
from kinetree.engine.compiler.trace import trace
from kinetree.engine.kernel import Kernel
from kinetree.engine.kernels.compile import traced_graph
from kinetree.engine.kernels.free import free_ports
from kinetree.engine.kernels.request import Request
from kinetree.scalars import Scalar, clip, cos, sin, where

STEP = "step_implicit_with_controls"
STATE = ("q_next", "dq_next", "age_next", "ended_next")
RESULTS = (*STATE, "seen", "reward", "fallen", "late", "last_seen")
SIZES = {"q_next": ("nq",), "dq_next": ("n",), "seen": ("o",), "last_seen": ("o",)}  # in letters


def episode_kernel(task: Task, last: int, same: bool, free: Sequence[str] = ()) -> Kernel:
    """The kernel of a step of an environment, of any leading axes.

    Arguments: q, dq; age, steps since the start; ended, 1 for episodes that begin anew in this
    step; actions, (..., u); q_start, dq_start; and robot data by the names of `free`. Results:
    RESULTS; flags are 0 or 1; last_seen is the observation before a reset.

    Args:
        task: the robot, its servos and rewards.
        last: steps of an episode at most.
        same: an episode that ends begins anew in the same step; otherwise in the next one.
        free: robot data that differ between environments, as in `Robot.compile`.
    """
    graph = episode_graph(task, last, same, free)
    doc = f"A step of an environment of {task.robot.name}."
    return Kernel(graph, "environment_step", doc, dtypes=("float64",))


def observation_kernel(task: Task) -> Kernel:
    """The kernel of observations, (..., o), of states q and dq."""
    ports = _state_ports(task)
    graph = trace(lambda q, dq: observed(task, q, dq)[0], ports, [("seen", ("o",))])
    return Kernel(optimise(graph), "observation", f"What a task of {task.robot.name} observes.")


def _state_ports(task: Task) -> list[Port]:
    return [Port("q", (task.robot.nq,), ("nq",)), Port("dq", (task.robot.n,), ("n",))]


def episode_graph(task: Task, last: int, same: bool, free: Sequence[str]) -> Graph:
    """The graph of `episode_kernel`."""
    model, (q, dq) = task.robot.model, _state_ports(task)
    nq, n = model.nq, model.n
    actions = Port("actions", (len(task.servos),), ("u",))
    starts = replace(q, name="q_start"), replace(dq, name="dq_start")
    ending = [q, dq, Port("age", ()), Port("ended", ()), actions, *starts]
    data = free_ports(model, free)
    whole = Composition([*ending, *data])
    at = whole.places
    (goals,) = whole.place(_goals_graph(task), at["actions"])
    step = traced_graph(model, Request(STEP, free=tuple(free)))
    sweep = Sweep(task.substeps, _round(task, step, len(goals)))
    one = whole.add(Node("const", (), 1.0))
    fixed = [node for port in data for node in at[port.name]]
    loop = whole.add(Node("repeat", (one, *at["q"], *at["dq"], *goals, *fixed), sweep))
    moved = [whole.add(Node("carried", (loop,), (0, k))) for k in range(1, 1 + nq + n)]
    function = ending_function(task, last, same)
    outputs = [(name, SIZES.get(name, ())) for name in RESULTS]
    rest = optimise(trace(function, ending, outputs))
    parts = [moved[:nq], moved[nq:], *(at[port.name] for port in ending[2:])]
    return whole.graph(rest.outputs, whole.place(rest, *parts))


def _goals_graph(task: Task) -> Graph:
    """Goals of the servos from actions, (u,)."""
    stance = task.stance[task.servos]

    def goals(actions: Array) -> Array:
        return stance + task.reach * clip(actions, -1, 1)

    return optimise(trace(goals, [Port("actions", (len(stance),))], [("goals", ())]))


def _round(task: Task, step: Graph, goals: int) -> Graph:
    """One step of the robot as the round of a loop that is open to its end."""
    nq, n = task.robot.model.nq, task.robot.model.n
    data = [port.size for port in step.inputs[5:]]
    body = Composition([Port("carried", (1 + nq + n,)), Port("fixed", (goals + sum(data),))])
    state, fixed = body.places["carried"], body.places["fixed"]
    zero, dt = (body.add(Node("const", (), x)) for x in (0.0, task.dt))
    borders = np.cumsum([goals, *data]).tolist()
    parts = [fixed[a:b] for a, b in zip([0, *borders], borders, strict=False)]
    moved = body.place(step, state[1 : 1 + nq], state[1 + nq :], [zero] * n, [dt], *parts)
    return body.graph([Port("next", (1 + nq + n,))], [[state[0], *moved[0], *moved[1]]])


def ending_function(task: Task, last: int, same: bool) -> Callable[..., tuple[Any, ...]]:
    """What follows the steps of the robot: RESULTS from the state reached and the arguments.

    A robot has fallen where a comparison fails, also with NaN.
    """

    def ending(
        q: Array, dq: Array, age: Scalar, ended: Scalar, actions: Array, q0: Array, dq0: Array
    ) -> tuple[Any, ...]:
        last_seen, upright, forward = observed(task, q, dq)
        stands = where(last_seen[0] - task.lowest, where(upright - MAX_TILT, 1, 0), 0)
        well = where(ended, 1, stands)
        age = age + 1
        late = where(ended, 0, where(age - last + 0.5, well, 0))
        used = clip(actions, -1, 1)
        reward = 1 - task.effort / len(used) * (used @ used)
        if task.speed:
            reward = reward + clip(forward, -task.speed, task.speed) / task.speed
        reward = where(ended, 0, where(well, reward, 0))
        done = where(late, 1, 1 - well)
        fresh = done if same else ended
        q, dq = where(fresh, q0, q), where(fresh, dq0, dq)
        age = where(fresh, 0, age)
        seen = observed(task, q, dq)[0]
        return q, dq, age, ended if same else done, seen, reward, 1 - well, late, last_seen

    return ending


def observed(task: Task, q: Array, dq: Array) -> tuple[Array, Scalar, Scalar]:
    """Observation, (o,), cosine of the tilt of the base, and its speed forward, m/s.

    Args:
        task: of the robot.
        q: joint positions, (nq,), rad or m.
        dq: joint rates, (n,), rad/s or m/s.
    """
    if task.on_plane:
        height, pitch = q[1], q[2]
        up = [-sin(pitch), 0 * pitch, cos(pitch)]
        forward = dq[0]
    else:
        w, x, y, z, height = (q[k] for k in (0, 1, 2, 3, 6))
        up = [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]
        axis = (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y))
        forward = sum(a * dq[3 + k] for k, a in enumerate(axis))
    moved = q[task.servos] - task.stance[task.servos]
    return np.concatenate([[height, *up], dq, moved]), up[2], forward
