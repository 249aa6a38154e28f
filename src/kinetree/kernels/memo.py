"""The one memo of compiled forms: a kernel is made once for a model and a request.

The entries belong to the model and are freed with it. They cannot live in a dictionary with weak
keys: a kernel may refer to its model (to compile the variant with external wrenches on demand), and
would keep its own key alive.

The compiler is imported at the first request, not with this module: `import kinetree` stays light.
"""

import inspect
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast, overload

from kinetree.model import HasModel, Model

if TYPE_CHECKING:
    from kinetree.backends.cuda.kernel import CudaKernel
    from kinetree.backends.kernel import Kernel

Form = TypeVar("Form")
Quantity = TypeVar("Quantity", bound="Kernel")  # with its arguments by name, see signatures.py


def remembered(model: Model, request: Hashable, make: Callable[[], Form]) -> Form:
    """Return the form of the model that was made for `request` before, or make it now.

    Two threads may both make it; the first one is kept and returned to both.

    Args:
        model: the robot.
        request: everything that the form depends on apart from the model. It begins with the name
            of the form, so that two callers cannot mean different things by one request.
        make: makes the form.
    """
    memo = model.memo
    if request not in memo:
        memo.setdefault(request, make())
    return memo[request]


@overload
def kernel(
    model: Model,
    quantity: str,
    *,
    frame: str | None = ...,
    wrenches: bool = ...,
    free: Sequence[str] = ...,
    target: Literal["cpu"] = ...,
) -> "Kernel": ...
@overload
def kernel(
    model: Model,
    quantity: str,
    *,
    frame: str | None = ...,
    wrenches: bool = ...,
    free: Sequence[str] = ...,
    target: str,
) -> "Kernel | CudaKernel": ...
def kernel(
    model: Model,
    quantity: str,
    *,
    frame: str | None = None,
    wrenches: bool = False,
    free: Sequence[str] = (),
    target: str = "cpu",
) -> Any:
    """Return the kernel of a quantity, compiled at the first request.

    Arguments as in `kinetree.kernels.compile.compile_kernel`.
    """
    request = "kernel", quantity, frame, wrenches, tuple(free), target
    memo = model.memo
    found = memo.get(request)
    if found is None:  # `remembered` written out: poses and Jacobians come here on every call
        from kinetree.kernels.compile import compile_kernel

        made = compile_kernel(
            model, quantity, frame=frame, wrenches=wrenches, free=free, target=target
        )
        found = memo.setdefault(request, made)
    return found


def derivative_kernel(
    model: Model,
    quantity: str,
    wrt: str | tuple[str, ...] = "q",
    *,
    frame: str | None = None,
    wrenches: bool = False,
    free: Sequence[str] = (),
) -> "Kernel":
    """Return the kernel of d quantity/d arguments on the CPU, compiled at the first request.

    Arguments as in `kinetree.kernels.compile.compile_derivative`.
    """

    def make() -> "Kernel":
        from kinetree.kernels.compile import compile_derivative

        made = compile_derivative(model, quantity, wrt, frame=frame, wrenches=wrenches, free=free)
        return cast("Kernel", made)

    return remembered(model, ("derivative", quantity, wrt, frame, wrenches, tuple(free)), make)


def frame_kernel(model: Model, quantity: str, frame: str | None) -> "Kernel":
    """Return the kernel of a pose or Jacobian of a frame, compiled at the first request.

    Robot looks it up at every call, so the key is shorter than that of `kernel`.
    """
    found = model.memo.get((quantity, frame))
    if found is None:
        found = model.memo.setdefault((quantity, frame), kernel(model, quantity, frame=frame))
    return found


class Compiled(Generic[Quantity]):
    """A method of Robot that is a kernel of its model, compiled at the first access.

    The kernel is then stored in the instance under the same name, so that later accesses do not
    come here (this descriptor defines no `__set__`) and cost no more than any attribute.

    Args:
        declared: a method whose name is that of a quantity, whose docstring is its documentation,
            and whose result is the type of its kernel. It is never called.
    """

    def __init__(self, declared: Callable[[Any], Quantity]) -> None:
        self.__name__ = self.name = declared.__name__
        self.__qualname__ = declared.__qualname__
        self.__module__ = declared.__module__
        self.__doc__ = declared.__doc__

    @overload
    def __get__(self, robot: None, kind: type) -> "Compiled[Quantity]": ...
    @overload
    def __get__(self, robot: HasModel, kind: type) -> Quantity: ...
    def __get__(self, robot: HasModel | None, kind: type) -> "Quantity | Compiled[Quantity]":
        if robot is None:
            return self
        found = kernel(robot.model, self.name)
        robot.__dict__[self.name] = found
        return cast("Quantity", found)

    def __call__(self, robot: HasModel, *arrays: object, **options: object) -> Any:
        """Evaluate the kernel of a robot: `Robot.mass_matrix(robot, q)`."""
        return getattr(robot, self.name)(*arrays, **options)

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature that `help(Robot)` shows."""
        from kinetree.backends.kernel import signature_of
        from kinetree.kernels.quantities import find_quantity

        quantity = find_quantity(self.name)
        return signature_of("self", *quantity.inputs, extra="F_ext" if quantity.wrenches else None)
