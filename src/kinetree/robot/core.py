"""RobotCore: the model of a robot, its names and sizes, and its positions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from kinetree import algorithms
from kinetree.base.arrays import Array, ArrayLike
from kinetree.base.foreign_names import UnknownAttributeError
from kinetree.model import Model, model_of
from kinetree.model.inputs import frame_wrenches

if TYPE_CHECKING:
    from kinetree.report import Report


class RobotCore:
    """The model of a robot, its names and sizes, and its positions."""

    def __init__(self, model: Model, report: Report | None = None) -> None:
        self.model = model_of(model)
        self.report = report

    if not TYPE_CHECKING:  # type checkers report unknown attributes themselves

        def __getattr__(self, name: str) -> NoReturn:
            """Raise an error that names ours for an attribute that another library has."""
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
        """Pi, (p,): what `regressor` is multiplied with; see `algorithms.parameter_list`."""
        return algorithms.parameters(self.model)

    def neutral(self) -> Array:
        """The position in which every joint stands at zero, (nq,)."""
        return algorithms.neutral(self.model)

    def random(self, rng: np.random.Generator | int | None = None) -> Array:
        """A random position within the limits, (nq,); `rng` is a generator or a seed."""
        return algorithms.random(self.model, np.random.default_rng(rng))

    def integrate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """The position reached from q, (nq,), along a tangent vector v, (n,)."""
        return algorithms.integrate(self.model, q, v)

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """The tangent vector, (n,), that leads from q0 to q1."""
        return algorithms.difference(self.model, q0, q1)

    def wrenches(self, onto: Mapping[str, ArrayLike]) -> Array:
        """F_ext, (links, 6), of wrenches (6,) from the world onto named frames, in these frames."""
        return frame_wrenches(self.model, onto)
