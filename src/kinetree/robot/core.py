"""RobotCore: the model of a robot, its names and sizes, and its positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kinetree import dynamics
from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.options import count, generator
from kinetree.dynamics.joints.configuration import random_positions
from kinetree.errors import InputError
from kinetree.model import Model, model_of
from kinetree.model.inputs import frame_wrenches

if TYPE_CHECKING:
    from kinetree.files.report import Report


class RobotCore:
    """The model of a robot, its names and sizes, and its positions."""

    def __init__(self, model: Model, report: Report | None = None) -> None:
        self.model = model_of(model)
        self.report = report

    def _with_model(self, model: Model) -> Self:
        """The robot with another model, and the report of the same file."""
        report = None if self.report is None else replace(self.report, model=model)
        return type(self)(model, report)

    if not TYPE_CHECKING:  # type checkers report unknown attributes themselves

        def __getattr__(self, name: str) -> Any:
            """Raise an error that names ours for an attribute that another library has."""
            from kinetree.core.foreign_names import UnknownAttributeError

            model = self.__dict__.get("model")  # not there while a copy is being made
            owner = "a robot" if model is None else f"robot {model.name!r}"
            raise UnknownAttributeError(owner, name, self.__dir__)

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.model.name

    @property
    def n(self) -> int:
        """Degrees of freedom."""
        return self.model.n

    @property
    def nq(self) -> int:
        """Length of q: n, plus one for each quaternion."""
        return self.model.nq

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints that move by themselves, in the order of q and dq."""
        return self.model.joint_names

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the entries of q, (nq,)."""
        return self.model.coordinate_names

    @property
    def dof_names(self) -> tuple[str, ...]:
        """Names of the entries of dq, ddq and tau, (n,)."""
        return self.model.dof_names

    @property
    def parameters(self) -> Array:
        """Parameters of the dynamics, shape (p,), that `regressor` is multiplied with.

        `kt.dynamics.parameter_list(robot)` names them.
        """
        return dynamics.parameters(self.model)

    def neutral(self) -> Array:
        """The position in which every joint is at zero, shape (nq,), rad or m.

        For a robot with constraints it is a closed position away from singular ones, so that a
        simulation can start there: the zero position if the constraints allow it, else a position
        near the one that the robot was constrained at, or near rest. It is the same on every
        machine. `kt.dynamics.neutral(robot)` returns the zero position of the tree.
        """
        constraints = self.model.constraints
        return dynamics.neutral(self.model) if constraints is None else np.array(constraints.home)

    def random(
        self,
        size: int | Sequence[int] | None = None,
        *,
        rng: np.random.Generator | int | None = None,
    ) -> Array:
        """Random positions within the limits, shape (nq,), or (*size, nq), rad or m.

        They are positions of the tree: `project` closes the constraints of a robot that has some.

        Args:
            size: number of positions, or the shape of a batch; None: one position.
            rng: a NumPy generator, or a seed; None: a new random generator.

        Example:
            >>> kt.robots.panda().random(4096, rng=0).shape
            (4096, 7)
        """
        if isinstance(size, np.random.Generator):
            raise InputError("size is a generator; expected a number of positions. Pass rng=...")
        sizes = () if size is None else size if isinstance(size, list | tuple) else (size,)
        shape = tuple(count(x, "size") for x in sizes)
        flat = random_positions(self.model, generator(rng), prod(shape))
        return flat.reshape(*shape, self.model.nq)

    def wrenches(self, onto: Mapping[str, ArrayLike]) -> Array:
        """F_ext, shape (l, 6), N m and N, of wrenches from the world onto named frames.

        Args:
            onto: {frame name: wrench (moment, force) onto it, in the axes of the frame, shape (6,),
                N m and N}.

        Example:
            >>> robot = kt.robots.planar_2r()
            >>> robot.wrenches({"tool": [0, 0, 0, 0, -10, 0]}).shape
            (2, 6)
        """
        return frame_wrenches(self.model, onto)
