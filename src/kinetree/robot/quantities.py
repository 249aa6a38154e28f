"""Quantities of a robot: kernels of a state, compiled at their first use, from the declarations.

Every quantity of `kinetree.dynamics.quantities` becomes an attribute of Robot. Editors and type
checkers read quantities.pyi, which `tools/write_stubs.py` writes from the same declarations.
"""

import inspect
from collections.abc import Callable
from types import MethodType
from typing import Any

from kinetree.dynamics.quantities import DECLARED
from kinetree.engine.kernels.memo import frame_kernel, kernel
from kinetree.errors import KinetreeError
from kinetree.model import HasModel, Model
from kinetree.model.quantity import EXPRESSED, Quantity
from kinetree.robot.core import RobotCore

Parameter = inspect.Parameter


class Compiled:
    """An attribute of Robot that is a kernel of its model, compiled at the first access.

    The kernel is then stored in the instance under the same name, so that later accesses do not
    come here (this descriptor defines no `__set__`) and cost no more than any attribute. A quantity
    of a frame is a function that takes the name of the frame and chooses the kernel by it.
    """

    def __init__(self, name: str, first: str = "self") -> None:
        self.__name__ = self.name = name
        self.first = first  # of its arguments, in its signature
        self.__qualname__ = f"Quantities.{name}"
        self.__module__ = __name__

    @property
    def quantity(self) -> Quantity:
        """The declaration."""
        return DECLARED[self.name]

    @property
    def __doc__(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The help of the quantity."""
        from kinetree.engine.kernels.help import quantity_help

        return quantity_help(self.quantity)

    def __get__(self, robot: HasModel | None, kind: type) -> Any:
        if robot is None:
            return self
        try:
            callable_of_robot = self._of(robot)
        except KinetreeError:
            return MethodType(self, robot)  # the error comes when it is called
        robot.__dict__[self.name] = callable_of_robot
        return callable_of_robot

    def __call__(self, robot: HasModel, *arrays: object, **options: object) -> Any:
        """Evaluate the quantity of a robot: `Robot.mass_matrix(robot, q)`."""
        return self._of(robot)(*arrays, **options)

    def _of(self, robot: HasModel) -> Callable[..., Any]:
        make = FramedCall if self.quantity.framed else kernel
        return make(robot.model, self.name)

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature that `help(Robot)` shows."""
        from kinetree.engine.kernel import signature_of

        if self.quantity.framed:
            return frame_signature(self.quantity, self.first)
        extra = "F_ext" if self.quantity.wrenches else None
        return signature_of(self.first, *self.quantity.inputs, extra=extra)


def of_robots(name: str, path: str) -> Callable[..., Any]:
    """A quantity as a public function of a robot and the arguments of its kernel.

    path: where the function is found, such as "kinetree.constraints.errors".
    """
    quantity = Compiled(name, "robot")

    def function(robot: HasModel, *arrays: object, **options: object) -> Any:
        return quantity(robot, *arrays, **options)

    function.__module__, _, function.__name__ = path.rpartition(".")
    function.__qualname__, function.__doc__ = function.__name__, quantity.__doc__
    function.__signature__ = quantity.__signature__  # type: ignore[attr-defined]
    return function


class Quantities(RobotCore):
    """Quantities of a robot at a state, or at many."""


for _name in DECLARED.methods:
    setattr(Quantities, _name, Compiled(_name))


def frame_signature(quantity: Quantity, *first: str) -> inspect.Signature:
    """The signature of a quantity of a frame."""
    names = (*first, *quantity.inputs)
    parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    parameters.append(Parameter("frame", Parameter.POSITIONAL_OR_KEYWORD, default=None))
    if quantity.choices:
        axes = Parameter("expressed", Parameter.KEYWORD_ONLY, default=EXPRESSED[0])
        parameters.append(axes)
    return inspect.Signature(parameters)


class FramedCall:
    """What `robot.pose` and the like are: a call that chooses the kernel by the frame."""

    def __init__(self, model: Model, name: str) -> None:
        self._model, self.__name__ = model, name
        attribute = getattr(Quantities, name)
        self.__doc__, self.__qualname__ = attribute.__doc__, attribute.__qualname__
        self.__signature__ = frame_signature(attribute.quantity)
        self._count = len(attribute.quantity.inputs)

    def __call__(self, *arrays: Any, frame: str | None = None, **options: Any) -> Any:
        """Evaluate the quantity of a frame."""
        if len(arrays) == self._count and not options:
            return frame_kernel(self._model, self.__name__, frame)(*arrays)
        options |= {} if frame is None else {"frame": frame}
        bound = {"frame": None} | self.__signature__.bind(*arrays, **options).arguments
        chosen = {key: bound.pop(key) for key in ("frame", "expressed") if key in bound}
        return frame_kernel(self._model, self.__name__, **chosen)(*bound.values())

    def __reduce__(self) -> tuple[Any, ...]:
        return FramedCall, (self._model, self.__name__)
