"""Sweeps: any quantity of a robot over random or systematic arguments and data."""

from collections.abc import Mapping
from itertools import product
from typing import Unpack

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.tables import listing
from kinetree.dynamics.constraints.quantities import honours
from kinetree.dynamics.quantities import DECLARED
from kinetree.engine.kernels.free import free_ports
from kinetree.engine.kernels.memo import kernel
from kinetree.engine.kernels.quantities import find_quantity
from kinetree.errors import InputError
from kinetree.model import Model, model_of
from kinetree.parallel.results import Results
from kinetree.parallel.run import Options, named, run_study
from kinetree.parallel.sampling import Arguments, Draw, by_joint
from kinetree.robot import Robot

# quantities of a robot with constraints that have a meaning only for states that these allow
OF_ALLOWED_STATES = (
    "constrained_forward_dynamics", "constrained_inverse_dynamics", "constraint_impulse",
    "reduced_dynamics",
)  # fmt: skip


def sweep(
    robot: Robot,
    quantity: str,
    arguments: Mapping[str, ArrayLike | Draw],
    n: int = 1,
    *,
    frame: str | None = None,
    parameters: Mapping[str, ArrayLike | Draw] | None = None,
    **options: Unpack[Options],
) -> Results:
    """Any quantity of a robot over random or systematic arguments.

    Args:
        robot: the robot.
        quantity: as for `Robot.compile`: "inverse_dynamics", "mass_matrix", "pose", ...
        arguments: {argument of the quantity: a number, an array or a distribution}, with the shapes
            and units that `help` of the quantity shows.
        n: samples for every point of the grids.
        frame: of a pose or Jacobian; the tool when None.
        parameters: robot data that vary, as in `rollouts`.
        options: see `kinetree.parallel.Options`.
    """
    model = model_of(robot)
    values, data = named(arguments, "arguments"), named(parameters, "parameters")
    _refuse_open_states(model, quantity, values)
    settings = {
        "quantity": quantity, "frame": frame,
        "arguments": {name: by_joint(model, name, x) for name, x in values.items()},
        "parameters": {name: by_joint(model, name, x) for name, x in data.items()},
    }  # fmt: skip
    return run_study("sweep", SweepStudy, robot, n, settings, options)


def _refuse_open_states(
    model: Model, quantity: str, arguments: Mapping[str, ArrayLike | Draw]
) -> None:
    """Raise InputError if states that are drawn would have to satisfy constraints."""
    restricted = quantity in OF_ALLOWED_STATES or (
        quantity in DECLARED and honours(DECLARED[quantity])
    )
    if model.constraints is None or not restricted:
        return
    drawn = [name for name in ("q", "dq", "ddq") if isinstance(arguments.get(name), Draw)]
    if drawn:
        names = listing(list(model.constraints.given), 5)
        raise InputError(
            f"{' and '.join(drawn)} of a sweep of {quantity} would be drawn without regard to the "
            f"constraints of {model.name!r}, {names}; expected states that these allow. Make some "
            "with robot.project and robot.project_rates and give them to "
            f"robot.{quantity} as arrays, which are batches; forces and parameters can be drawn."
        )


class SweepStudy:
    """One row for each sample: the drawn values, and the quantity there."""

    rows = 1

    def __init__(
        self,
        model: Model,
        seed: int,
        repeats: int,
        *,
        quantity: str,
        arguments: Mapping[str, ArrayLike | Draw],
        frame: str | None,
        parameters: Mapping[str, ArrayLike | Draw],
    ) -> None:
        find_quantity(quantity)  # an unknown one is reported before anything is compiled
        free = [port.name for port in free_ports(model, tuple(parameters))]
        self.kernel = kernel(model, quantity, frame=frame, wrenches="F_ext" in arguments, free=free)
        ports = self.kernel.graph.inputs
        self.names = [port.name for port in ports]
        expected = [x for x in self.names if x not in free]
        if set(arguments) != set(expected):
            names = ", ".join(arguments) or "nothing"
            raise InputError(f"{quantity} was given {names}; expected {', '.join(expected)}.")
        shapes = {port.name: port.shape for port in ports}
        self.arguments = Arguments(model, seed, repeats, arguments, shapes, parameters)
        results = [
            x
            for port in self.kernel.graph.outputs
            for x in result_columns(model, port.name, port.dims, port.shape)
        ]
        self.columns = (*self.arguments.columns, *results)
        self.seconds = 1e-7 * len(self.columns)  # drawing takes longer than the kernel
        self.size = 8 * (2 * len(self.columns) + sum(port.size for port in ports))

    def warm(self) -> None:
        """Compile with one sample."""
        self.compute(np.arange(1))

    def compute(self, samples: Array) -> Array:
        """Rows of the samples, (S, 1, columns)."""
        S = len(samples)
        values = {name: self.arguments(name, samples) for name in self.names}
        result = self.kernel(*values.values())
        results = result if isinstance(result, tuple) else (result,)
        drawn = [values[name].reshape(S, -1) for name in self.arguments.drawn]
        return np.concatenate([*drawn, *(x.reshape(S, -1) for x in results)], -1)[:, None]


def result_columns(
    model: Model, name: str, dims: tuple[str, ...], shape: tuple[int, ...]
) -> list[str]:
    """Column names of a result; axes of the letter n have the names of joints, others numbers."""
    axes = [model.dof_names if d == "n" else range(k) for d, k in zip(dims, shape, strict=True)]
    if dims == ("n",):
        return [f"{name}:{x}" for x in model.dof_names]
    if not shape:
        return [name]
    return [f"{name}[{','.join(map(str, index))}]" for index in product(*axes)]
