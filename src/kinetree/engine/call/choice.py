"""A choice between kernels by one argument, made in machine code.

`robot.step(q, dq, tau, dt, method="implicit")` would spend more time in a function of Python that
finds the kernel than in the kernel, and so would `robot.pose(q, "hand")`. `Choice` is an object in
front of that function: if the argument that chooses has a value that has a kernel, the call enters
that kernel, without the argument. Values are compared by their addresses: literals in a program are
interned, as the strings here are. All other calls go on, unchanged, to the function.
"""

import ctypes
import inspect
import sys
from collections.abc import Callable
from typing import Any

from kinetree.core.system import once
from kinetree.engine.call import c_api as abi
from kinetree.engine.call import enter, vectorcall
from kinetree.engine.call.fastcall import TABLE

SLOTS = 16


class Choice:
    """A function behind which kernels are entered by the value of an argument.

    Without machine code for calls (another Python, no LLVM), everything goes to the function.

    Args:
        function: takes every other call.
        keyword: the argument that chooses; it has to be the only keyword of a call.
        place: its position, where it may also be given by position or left out, which means None;
            -1: it is a keyword only.
        reduced: how the object that is called is pickled.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        keyword: str,
        place: int = -1,
        reduced: tuple[Any, ...] | None = None,
    ) -> None:
        self.function, self.reduced = function, reduced
        self.call: Callable[..., Any] = function
        self._kept: list[object] = []  # the table has addresses alone
        if not vectorcall.usable():
            return
        self._table = (ctypes.c_ssize_t * (enter.PAIRS + 2 * SLOTS))()
        self._table[enter.CALL] = abi.python_function("PyObject_Vectorcall")
        self._table[enter.KEYWORD] = self._address(sys.intern(keyword))
        self._table[enter.PLACE], self._table[enter.NONE] = place, id(None)
        entered = _entered_choice()(self)
        vectorcall.set_entry(entered, vectorcall.shared_code().address("choose"), function, 0)
        ctypes.c_void_p.from_address(id(entered) + TABLE).value = ctypes.addressof(self._table)
        self.call = entered

    @property
    def room(self) -> int:
        """The number of values that can be added."""
        return 0 if self.call is self.function else SLOTS - self._table[enter.USED]

    def add(self, value: str | None, kernel: object) -> None:
        """Let calls with this value of the argument enter a kernel that is called in machine code.

        The kernel has to take every call that begins with its own arguments: calls that it does not
        take in machine code are for its general call.
        """
        if not self.room or self.knows(value):
            return
        if not isinstance(kernel, vectorcall.entered_in_code()):
            return
        used = self._table[enter.USED]
        place = enter.PAIRS + 2 * used
        self._table[place], self._table[place + 1] = self._address(value), self._address(kernel)
        self._table[enter.USED] = used + 1  # last: now it can be found

    def knows(self, value: str | None) -> bool:
        """Return True if calls with this very value enter a kernel."""
        return any(
            self._table[enter.PAIRS + 2 * k] == id(value) for k in range(self._table[enter.USED])
        )

    def _address(self, x: object) -> int:
        self._kept.append(x)
        return id(x)


@once
def _entered_choice() -> type:
    base: Any = vectorcall.entered_in_code()

    class EnteredChoice(base):
        """The object that is called; it keeps the choice, its table and its function alive."""

        def __init__(self, choice: Choice) -> None:
            self.choice = choice
            self.__doc__ = choice.function.__doc__
            self.__name__ = getattr(choice.function, "__name__", "choice")

        @property
        def __signature__(self) -> inspect.Signature:
            return inspect.signature(self.choice.function)

        def __reduce__(self) -> tuple[Any, ...]:
            if self.choice.reduced is None:
                raise TypeError(f"{self.__name__} cannot be pickled.")
            return self.choice.reduced

        def __copy__(self) -> "EnteredChoice":
            return self

        def __deepcopy__(self, memo: dict[int, Any]) -> "EnteredChoice":
            return self

    return vectorcall.inherit_vectorcall(EnteredChoice)
