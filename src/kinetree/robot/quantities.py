"""Quantities of a robot: kernels of a state, compiled at their first use, from the declarations.

Every quantity of `kinetree.dynamics.quantities` becomes an attribute of Robot. Editors and type
checkers read quantities.pyi, which `tools/write_stubs.py` writes from the same declarations.
"""

import inspect
import sys
from collections.abc import Callable
from types import MethodType
from typing import TYPE_CHECKING, Any

from kinetree.dynamics.quantities import DECLARED
from kinetree.engine.kernels.memo import frame_kernel, kernel, remembered
from kinetree.errors import KinetreeError
from kinetree.model import HasModel, Model
from kinetree.model.quantity import EXPRESSED, Quantity
from kinetree.robot.core import RobotCore

if TYPE_CHECKING:
    from kinetree.engine.call.choice import Choice
    from kinetree.engine.kernel import Kernel

Parameter = inspect.Parameter


class Compiled:
    """An attribute of Robot that is a kernel of its model, compiled at the first access.

    The kernel is then stored in the instance under the same name, so that later accesses do not
    come here (this descriptor defines no `__set__`) and cost no more than any attribute. A quantity
    of a frame is a function that takes the name of the frame and chooses the kernel by it.
    """

    def __init__(self, name: str) -> None:
        self.__name__ = self.name = name
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
        make = framed_call if self.quantity.framed else kernel
        return make(robot.model, self.name)

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature that `help(Robot)` shows."""
        from kinetree.engine.kernel import signature_of

        if self.quantity.framed:
            return frame_signature(self.quantity, "self")
        extra = "F_ext" if self.quantity.wrenches else None
        return signature_of("self", *self.quantity.inputs, extra=extra)


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


def framed_call(model: Model, name: str) -> Callable[..., Any]:
    """Return what `robot.pose` and the like are for a robot with this model.

    A frame that was asked for before enters its kernel in machine code.
    """
    return remembered(model, ("call with a frame", name), lambda: framed(model, name)).call


def framed(model: Model, name: str) -> "Choice":
    """Make the call of a quantity of a frame, which chooses the kernel by the frame."""
    from kinetree.engine.call.choice import SLOTS, Choice

    quantity = DECLARED[name]
    count, signature = len(quantity.inputs), frame_signature(quantity)
    keywords = {"frame", *quantity.choices}

    def kernel_of(frame: str | None) -> "Kernel":
        compiled = frame_kernel(model, name, frame)
        if frame is None or (type(frame) is str and sys.intern(frame) is frame):
            choice.add(frame, compiled)
        elif choice.room > SLOTS // 2:  # a name that is not a literal: this very object
            choice.add(frame, compiled)
        return compiled

    def function(*args: Any, **options: Any) -> Any:
        if len(args) != count or not options.keys() <= keywords:
            bound = signature.bind(*args, **options)
            options = {key: bound.arguments.pop(key) for key in keywords & {*bound.arguments}}
            args = tuple(bound.arguments.values())
        frame = options.get("frame")
        if "expressed" in options:
            return frame_kernel(model, name, frame, options["expressed"])(*args)
        return kernel_of(frame)(*args)

    attribute = getattr(Quantities, name)
    function.__doc__, function.__name__ = attribute.__doc__, name
    function.__qualname__ = attribute.__qualname__
    function.__dict__["__signature__"] = signature
    choice = Choice(function, "frame", count, (framed_call, (model, name)))
    return choice
