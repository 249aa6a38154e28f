"""Cases of the matrix: a quantity of a robot, its options, and random states; the sample of them.

A quantity is covered by being declared: which robots have it follows from letters of its shapes.
"""

import zlib
from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations

import numpy as np
from matrix_robots import EXACT, NAMES, recipe, robot

import kinetree as kt

SEED, STATES = 1, 11  # of the sample; states of a batch: a whole vector register and a remainder
QUANTITIES = kt.testing.quantities()


@cache
def states(name: str) -> dict[str, np.ndarray]:
    """Random states of a robot by argument, (STATES, ...), moving at every joint."""
    rng, x = np.random.default_rng(zlib.crc32(name.encode())), robot(name)

    def numbers(*shape):
        return rng.choice([-1.0, 1.0], (STATES, *shape)) * rng.uniform(0.25, 1.5, (STATES, *shape))

    model, q = x.model, np.array([x.random(rng=rng) for _ in range(STATES)])
    found = {key: numbers(model.n) for key in ("dq", "ddq", "tau", "dq_r", "ddq_r", "kp", "kd")}
    found |= {"q": q, "F_ext": numbers(len(model.links), 6)}
    found["dt"] = np.full(STATES, 2.0**-9 if name == "friction" else 2.0**-7)  # no joint stops
    found["kp"], found["kd"] = np.abs(found["kp"]), np.abs(found["kd"])
    found["controls"] = numbers(len(model.actuators))
    found["activation"] = numbers(len(model.activation_names))
    if recipe(name).constraints:
        near = (x.integrate(x.neutral(), 0.25 * v) for v in found["dq"])
        found["q"] = q = np.array([kt.constraints.project(x, y) for y in near])
        found["dq"] = np.array(
            [kt.constraints.project_rates(x, *y) for y in zip(q, found["dq"], strict=True)]
        )
        motions = zip(q, found["dq"], found["ddq"], strict=True)
        found["ddq"] = np.array([kt.constraints.project_accelerations(x, *y) for y in motions])
    if recipe(name).feet:  # near rest and upright: the forces are within their cones
        found["q"] = np.array([x.integrate(x.neutral(), 0.05 * v) for v in found["dq"]])
        found |= {key: 0.1 * found[key] for key in ("dq", "ddq", "F_ext")}
        found["q"][:, 6] += 1.5
        found["touching"] = np.ones((STATES, len(recipe(name).feet)))
    return found


@dataclass(frozen=True)
class Case:
    """A quantity of a robot."""

    robot_name: str
    name: str

    def __str__(self) -> str:
        return f"{self.robot_name}-{self.name}"

    @cached_property
    def robot(self) -> kt.Robot:
        return robot(self.robot_name)

    @cached_property
    def quantity(self):
        return QUANTITIES[self.name]

    @cached_property
    def options(self) -> dict:
        """Options of the quantity: axes of a twist by turns, rows of a task far from singular."""
        axes = ("body", "space", "aligned")[NAMES.index(self.robot_name) % 3]
        values = {"expressed": axes, "rows": None}
        if "rows" in self.quantity.choices:
            J = self.robot.body_jacobian(states(self.robot_name)["q"])
            pairs = combinations(range(6), 2)
            values["rows"] = max(pairs, key=lambda x: np.linalg.svd(J[:, x])[1][:, -1].min())
        return {key: values[key] for key in self.quantity.choices}

    @property
    def compile_options(self) -> dict:
        return self.options | ({"wrenches": True} if self.quantity.wrenches else {})

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        return (*self.quantity.inputs, *(["F_ext"] if self.quantity.wrenches else []))

    @cached_property
    def arrays(self) -> list[np.ndarray]:
        """Arguments of all states."""
        return [states(self.robot_name)[key] for key in self.inputs]

    @cached_property
    def kernel(self) -> kt.kernels.Kernel:
        return self.robot.compile(self.name, **self.compile_options)

    @cached_property
    def result(self) -> list[np.ndarray]:
        """Results of the kernel for all states."""
        return listed(self.kernel(*self.arrays))

    @property
    def is_independent(self) -> bool:
        """Whether the reference has it: steps of constraints and contacts it has not."""
        made = recipe(self.robot_name)
        return not (self.name.startswith("step_") and (made.constraints or made.feet))

    @property
    def is_exact(self) -> bool:
        """Whether robot and state have no rounding: turns by right angles, and no quaternion."""
        return self.robot_name in EXACT and self.robot.model.n == self.robot.model.nq

    @property
    def in_float32(self) -> bool:
        """Rows of a step, and constraints, are solved in float64."""
        made = recipe(self.robot_name)
        solved = made.feet or made.constraints or self.robot_name == "friction"
        step = self.name.startswith("step_") and solved
        return not (step or self.name == "contact_inverse_dynamics")

    def has(self, way: str) -> bool:
        """Whether it can be computed in that way, or for the large robot, be compiled soon."""
        made, name = recipe(self.robot_name), self.name
        if way not in ("values", "functions") and self.robot_name in LARGE:
            return False
        if way in ("derivatives", "tensors", "exported") and name == "contact_inverse_dynamics":
            return False  # a loop that is left when it has converged
        if way == "functions" or way == "symbols":
            if "_with_" in name or name == "bias_forces":  # no controls, gains, wrenches on h
                return False
            if way == "symbols":  # expressions of two joints, unless they are too long
                return self.robot_name == "mimic" and not any(x in name for x in LONG)
            return not (made.constraints and name in ("inverse_dynamics_derivatives", "regressor"))
        if way == "tensors" and made.constraints and name.startswith("step_"):
            return False  # NaN beside the constraints, where differences go
        if way == "free" and (made.constraints or made.elastic):
            return False
        return self.is_independent if way in ("derivatives", "free", "tensors") else True

    @property
    def exists(self) -> bool:
        """Whether the robot has the quantity, by its letters and by what the documents exclude."""
        model, made = self.robot.model, recipe(self.robot_name)
        letters = set(" ".join(x.dims for x in self.quantity.results).split())
        letters |= set(self.quantity.inputs)
        if self.name.endswith("_with_gains") and not self.is_independent:
            return False  # nothing public to compare with
        if made.constraints and self.quantity.refused:
            return False
        if made.feet and self.name.startswith(("step_rk4", "step_euler")):
            return False
        if {"p", "n"} <= letters and any(x.damping for x in made.springs.values()):
            return False  # pi has no entry for a damper
        if "controls" in letters and bool(model.activation_names) != ("activation" in letters):
            return False
        closed = made.constraints
        has = {"m": closed, "d": closed, "c": made.feet, "controls": model.actuators}
        return all(thing for letter, thing in has.items() if letter in letters)


def listed(results) -> list:
    """Results as a list."""
    return list(results) if isinstance(results, tuple) else [results]


def everything() -> list[Case]:
    """All cases that exist, the large robot last."""
    return [x for name in NAMES for q in QUANTITIES if (x := Case(name, q)).exists]


LARGE = ("humanoid",)  # whose derivatives, regressors and steps take seconds
COSTLY = ("derivatives", "regressor", "step_", "task_space", "matrix_rate", "inverse_mass")
CORE = ("inverse_dynamics", "mass_matrix")  # of every robot, where several are taken
LONG = ("derivatives", "rk4", "implicit", "time_stepping", "forces_rate", "task_space")
LONG += ("matrix_rate",)


def sample(way: str, many: bool, count: int = 1) -> list[Case]:
    """`count` robots for each quantity by turns, so that every robot occurs; `many`: all cases."""
    cases = [x for x in everything() if x.has(way)]
    if many:
        return cases
    rng, taken, chosen = np.random.default_rng([SEED, zlib.crc32(way.encode())]), Counter(), []
    for name in QUANTITIES:
        costly = any(word in name for word in COSTLY)
        having = [x for x in cases if x.name == name and not (costly and x.robot_name in LARGE)]
        if costly and way not in ("values", "functions"):  # with few joints, if there is one
            having = [x for x in having if x.robot.model.n <= 4] or having
        having.sort(key=lambda x: (taken[x.robot_name], rng.random()))
        having = having if count > 1 and name in CORE else having[:count]
        taken.update(x.robot_name for x in having)
        chosen += having
    return chosen
