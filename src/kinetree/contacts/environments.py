"""Environments of robots on the ground, in the vector interface of Gymnasium.

All robots of an environment step together in the kernels of `Robot.step`. States are arrays of
NumPy, torch, JAX or CuPy, and stay on their device: a robot whose episode ends begins anew at a
start of a table that was made before.
"""

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from kinetree.base.options import count
from kinetree.contacts.tasks import MAX_TILT, TASKS, Task
from kinetree.errors import InputError, need

__all__ = ["make"]

STARTS = 256  # random states of the table that episodes begin at
AUTORESET = ("same_step", "next_step")
MODULES = {"numpy": "numpy", "torch": "torch", "jax": "jax.numpy", "cupy": "cupy"}


def make(
    task: str | Task,
    num_envs: int = 1,
    *,
    arrays: str = "numpy",
    device: Any = None,
    autoreset: str = "same_step",
) -> Any:
    """Return a `gymnasium.vector.VectorEnv` of many robots with a task.

    Observations, of float64: the height of the base, the vertical in its axes, all joint rates, and
    the positions of the servos less those of the stance. Actions: goals of the servos, -1 to 1.

    Args:
        task: "humanoid" (stand), "monoped" (hop), "quadruped" (walk on rough ground), or a `Task`.
        num_envs: number of robots.
        arrays: "numpy", "torch", "jax" or "cupy": the kind of all arrays. JAX needs its option
            jax_enable_x64.
        device: of the arrays of torch, such as "cuda"; None: the default one.
        autoreset: "same_step": an episode that ends begins anew in the same step, and its last
            observation is in infos; "next_step": in the next one, as wrappers of observations need.

    Raises:
        MissingPackageError: Gymnasium is not installed.
    """
    if isinstance(task, str) and task not in TASKS:
        raise InputError(f"there is no task {task!r}; choose {', '.join(TASKS)}, or give a Task.")
    if arrays not in MODULES:
        raise InputError(f"arrays is {arrays!r}; expected one of {', '.join(MODULES)}.")
    if autoreset not in AUTORESET:
        raise InputError(f"autoreset is {autoreset!r}; expected {' or '.join(AUTORESET)}.")
    made = TASKS[task]() if isinstance(task, str) else task
    of = Arrays(arrays, device)
    return _vector_class()(made, count(num_envs, "num_envs"), of, autoreset == "same_step")


class Arrays:
    """The functions of one kind of array that environments use."""

    def __init__(self, name: str, device: Any) -> None:
        self.module: Any = import_module(MODULES[name])
        self.options = {} if device is None else {"device": device}

    def of(self, x: Any) -> Any:
        """The numbers of an array of NumPy, as float64, or of indices as integers."""
        return self.module.asarray(x, **self.options)


def observed(task: Task, xp: Any, q: Any, dq: Any, moved: Any) -> tuple[Any, Any, Any]:
    """Observations, (..., d), cosine of the tilt of the base, and its speed forward, (...).

    moved: positions of the servos less those of the stance, (..., u).
    """
    if task.on_plane:
        height, pitch = q[..., 1], q[..., 2]
        up = [-xp.sin(pitch), 0 * pitch, xp.cos(pitch)]
        forward = dq[..., 0]
    else:
        w, x, y, z, height = (q[..., k] for k in (0, 1, 2, 3, 6))
        up = [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]
        axis = (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y))
        forward = sum(a * dq[..., 3 + k] for k, a in enumerate(axis))
    base = xp.stack([height, *up], -1)
    return xp.concatenate([base, dq, moved], -1), up[2], forward


@cache
def _vector_class() -> Any:
    """The class of environments; Gymnasium is imported when it is first needed."""
    gym: Any = need("gymnasium", "gymnasium", "an environment")

    class GroundEnvironment(gym.vector.VectorEnv):
        """Robots on the ground; one that has ended begins anew in the same or the next step."""

        def __init__(self, task: Task, num_envs: int, arrays: Arrays, same: bool) -> None:
            self.task, self.num_envs, self.arrays, self.same = task, num_envs, arrays, same
            size = 4 + task.robot.n + len(task.servos)
            seen, acts = (len(task.servos),), np.float64
            self.single_observation_space = gym.spaces.Box(-np.inf, np.inf, (size,), acts)
            self.single_action_space = gym.spaces.Box(-1, 1, seen, acts)
            batch = gym.vector.utils.batch_space
            self.observation_space = batch(self.single_observation_space, num_envs)
            self.action_space = batch(self.single_action_space, num_envs)
            modes = gym.vector.AutoresetMode
            self.metadata = {"autoreset_mode": modes.SAME_STEP if same else modes.NEXT_STEP}
            self.servos = arrays.of(np.array(task.servos))
            self.stance = arrays.of(task.stance[task.servos])
            self.reach = arrays.of(task.reach)
            self.last = round(task.seconds / (task.dt * task.substeps))

        def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
            """Begin all episodes; the seed decides their starts."""
            super().reset(seed=seed)
            table = self.task.starts(STARTS, self.np_random)
            self.table = [self.arrays.of(x) for x in table]
            self.rows, self.drawn = np.arange(self.num_envs) % STARTS, 0
            self.q, self.dq, self.age = *self._starts(), self.arrays.of(np.zeros(self.num_envs))
            self.ended = self.age > 0  # episodes that begin anew in the next step
            return self._observed()[0], {}

        def _starts(self) -> list[Any]:
            """A start for each robot; others at the next call."""
            rows = self.arrays.of((self.rows + self.drawn) % STARTS)
            self.drawn += 1
            return [x[rows] for x in self.table]

        def _observed(self) -> tuple[Any, Any, Any]:
            moved = self.q[..., self.servos] - self.stance
            return observed(self.task, self.arrays.module, self.q, self.dq, moved)

        def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
            """Move the goals of the servos, and all robots by `substeps` steps."""
            task, xp = self.task, self.arrays.module
            actions = xp.clip(actions, -1, 1)
            goals = self.stance + self.reach * actions
            for _ in range(task.substeps):
                state = task.robot.step(
                    self.q, self.dq, None, task.dt, controls=goals, method="implicit"
                )
                self.q, self.dq = state[0], state[1]
            seen, upright, forward = self._observed()
            self.age = self.age + 1
            # comparisons with NaN are False: such a robot has fallen
            well = (seen[..., 0] > task.lowest) & (upright > MAX_TILT) | self.ended
            late = well & (self.age >= self.last) & ~self.ended
            reward = 1 - task.effort * (actions * actions).mean(-1)
            if task.speed:
                reward = reward + xp.clip(forward, -task.speed, task.speed) / task.speed
            reward = xp.where(well & ~self.ended, reward, 0 * self.age)
            done = ~well | late
            fresh = done if self.same else self.ended
            q, dq = self._starts()
            self.q = xp.where(fresh[..., None], q, self.q)
            self.dq = xp.where(fresh[..., None], dq, self.dq)
            self.age = xp.where(fresh, 0 * self.age, self.age)
            self.ended = self.ended if self.same else done
            infos = {"final_obs": seen, "_final_obs": done} if self.same else {}
            return self._observed()[0], reward, ~well, late, infos

    return GroundEnvironment
