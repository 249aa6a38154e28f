"""Compiled: an attribute that is a kernel, made when it is first used."""

from typing import TYPE_CHECKING, Any, overload

from kinetree.kernels.targets import unseen

if TYPE_CHECKING:
    from kinetree.backends.kernel import Kernel


class Compiled:
    """An attribute of Robot that is a kernel: compiled on first use, then kept in the robot."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        """Arguments, results and what the quantity is, looked up when asked for."""
        from kinetree.kernels.quantities import find_quantity

        quantity = find_quantity(self.name)
        given = ", ".join((*quantity.inputs, *(["F_ext"] if quantity.wrenches else [])))
        shapes = ", ".join(
            f"{name} ({', '.join(('...', *dims))})" for name, dims in quantity.outputs("result")
        )
        return f"`{self.name}({given})`: {quantity.doc}; {shapes}."

    @overload
    def __get__(self, robot: None, kind: type) -> "Compiled": ...
    @overload
    def __get__(self, robot: object, kind: type) -> "Kernel": ...
    def __get__(self, robot: Any, kind: type) -> "Kernel | Compiled":
        if robot is None:
            return self
        from kinetree.kernels.compile import compile_kernel

        kernel = unseen(compile_kernel, robot.model, self.name)
        robot.__dict__[self.name] = kernel
        return kernel
