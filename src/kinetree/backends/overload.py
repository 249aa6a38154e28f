"""A kernel that is called with one argument more: another kernel, made when first needed."""

from collections.abc import Callable
from typing import Any


class Overload:
    """Sends calls with a further argument to the kernel that takes it.

    `call` is the general call of the smaller kernel, `inputs` the number of its arguments, `extra`
    the name of the further one, and `make` makes the larger kernel.
    """

    __slots__ = ("_call", "_extra", "_inputs", "_larger", "_make")

    def __init__(
        self, call: Callable[..., Any], inputs: int, extra: str, make: Callable[[], Any]
    ) -> None:
        self._call, self._inputs, self._extra, self._make = call, inputs, extra, make
        self._larger: Any = None

    @property
    def larger(self) -> Any:
        """The kernel with the further argument."""
        if self._larger is None:
            self._larger = self._make()
        return self._larger

    def call(self, *arrays: Any, **options: Any) -> Any:
        """Evaluate with or without the further argument; None stands for none."""
        if self._extra in options and options[self._extra] is None:
            options = {key: value for key, value in options.items() if key != self._extra}
        if len(arrays) == self._inputs + 1 and arrays[-1] is None:
            arrays = arrays[:-1]
        if len(arrays) > self._inputs or self._extra in options:
            return self.larger(*arrays, **options)
        return self._call(*arrays, **options)
