"""Environments of robots on the ground, in the vector interface of Gymnasium.

All robots of an environment step together in one kernel (contacts/episodes.py). States are arrays
of NumPy, torch, JAX or CuPy, and stay on their device: in the same kernel, a robot whose episode
ends begins anew at a start of a table that was made before.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from ground.episodes import episode_kernel, observation_kernel
from ground.tasks import TASKS, Task
from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.options import count
from kinetree.engine.kernels.free import check_free, free_ports, owners
from kinetree.errors import InputError, ShapeError, need
from kinetree.model import Model
from kinetree.simulate.inputs import constant

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
    parameters: Mapping[str, ArrayLike] | None = None,
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
        parameters: robot data of each environment, such as {"mass": (num_envs, links),
            "contact_friction": (num_envs, c), "ground": (num_envs, g)}, names as in
            `Robot.compile(free=...)`; an array without the first axis serves all.

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
    of, number = Arrays(arrays, device), count(num_envs, "num_envs")
    data = environment_data(made.robot.model, number, parameters or {})
    return _vector_class()(made, number, of, autoreset == "same_step", data)


def environment_data(
    model: Model, num_envs: int, parameters: Mapping[str, ArrayLike]
) -> dict[str, Array]:
    """Robot data by name, (num_envs, ...) or of all; raise if no robot has such numbers."""
    data: dict[str, Array] = {}
    for port in free_ports(model, list(parameters)):
        listed = ", ".join(owners(model, port.name))
        value = constant(parameters[port.name], port.shape, f"parameter {port.name}", listed)
        check_free(model, port.name, value)
        if value.shape[: value.ndim - len(port.shape)] not in ((), (num_envs,)):
            raise ShapeError(
                f"parameter {port.name} has shape {value.shape}; expected {port.shape} for all "
                f"environments, or {(num_envs, *port.shape)}."
            )
        data[port.name] = value
    return data


class Arrays:
    """The functions of one kind of array that environments use."""

    def __init__(self, name: str, device: Any) -> None:
        self.module: Any = import_module(MODULES[name])
        self.options = {} if device is None else {"device": device}

    def of(self, x: Any) -> Any:
        """The numbers of an array of NumPy, as float64, or of indices as integers."""
        return self.module.asarray(x, **self.options)


@cache
def _vector_class() -> Any:
    """The class of environments; Gymnasium is imported when it is first needed."""
    gym: Any = need("gymnasium", "gymnasium", "an environment")

    class GroundEnvironment(gym.vector.VectorEnv):
        """Robots on the ground; one that has ended begins anew in the same or the next step."""

        def __init__(
            self, task: Task, num_envs: int, arrays: Arrays, same: bool, data: dict[str, Array]
        ) -> None:
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
            self.last = round(task.seconds / (task.dt * task.substeps))
            self.kernel = episode_kernel(task, self.last, same, tuple(data))
            self.observe = observation_kernel(task)
            self.data = [arrays.of(x) for x in data.values()]

        def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
            """Begin all episodes; the seed decides their starts."""
            super().reset(seed=seed)
            table = self.task.starts(STARTS, self.np_random)
            self.table = [self.arrays.of(x) for x in table]
            self.rows, self.drawn = np.arange(self.num_envs) % STARTS, 0
            self.q, self.dq, self.age = *self._starts(), self.arrays.of(np.zeros(self.num_envs))
            self.ended = self.age  # 1 for episodes that begin anew in the next step
            return self.observe(self.q, self.dq), {}

        def _starts(self) -> list[Any]:
            """A start for each robot; others at the next call."""
            rows = self.arrays.of((self.rows + self.drawn) % STARTS)
            self.drawn += 1
            return [x[rows] for x in self.table]

        def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
            """Move the goals of the servos, and all robots by `substeps` steps."""
            state = self.q, self.dq, self.age, self.ended
            found = self.kernel(*state, actions, *self._starts(), *self.data)
            self.q, self.dq, self.age, self.ended, seen, reward, fallen, late, last_seen = found
            fallen, late = fallen > 0, late > 0
            infos = {"final_obs": last_seen, "_final_obs": fallen | late} if self.same else {}
            return seen, reward, fallen, late, infos

    return GroundEnvironment
