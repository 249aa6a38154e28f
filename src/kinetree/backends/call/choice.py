"""A choice between kernels by one keyword, made in machine code.

`robot.step(q, dq, tau, dt, method="implicit")` would spend more time in a function of Python that
finds the kernel than in the kernel. `Choice` is an object in front of that function: if its keyword
is the only one of a call, and its value one of the strings that have a kernel, the call enters that
kernel, without the keyword. Strings are compared by their addresses: literals in a program are
interned, as the strings here are. All other calls go on, unchanged, to the function.
"""

import ctypes
import functools
import sys
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from kinetree.backends.call import c_api as abi
from kinetree.backends.call import vectorcall
from kinetree.backends.call.fastcall import COUNT, GENERAL, PROTOCOL, TABLE, field

CALL, KEYWORD, FIRST = 0, 1, 2  # rows of the table; pairs of a string and a kernel follow
SLOTS = 8


class Choice:
    """A function behind which kernels are entered by the value of a keyword.

    Without machine code for calls (another Python, no LLVM), everything goes to the function.
    """

    def __init__(self, function: Callable[..., Any], keyword: str) -> None:
        self.function = function
        self.call: Callable[..., Any] = function
        self._kept: list[object] = []  # the table has addresses alone
        if not vectorcall.available() or choice_code() is None:
            return
        self._table = (ctypes.c_void_p * (FIRST + 2 * SLOTS))()
        self._table[CALL] = abi.python_function("PyObject_Vectorcall")
        self._table[KEYWORD] = self._address(sys.intern(keyword))
        entered = _entered_choice()(self)
        vectorcall.set_entry(entered, choice_code().address("choose"), function, 0)
        ctypes.c_void_p.from_address(id(entered) + TABLE).value = ctypes.addressof(self._table)
        self.call = entered

    def add(self, value: str, kernel: object) -> None:
        """Let calls with this value of the keyword enter a kernel that is called in machine code.

        The kernel has to take every call that begins with its own arguments: calls that it does not
        take in machine code are for its general call.
        """
        used = len(self._kept) - 1
        if self.call is self.function or not isinstance(kernel, vectorcall.entered_in_code()):
            return
        if used >= 2 * SLOTS:
            return
        place = FIRST + used
        self._table[place + 1] = self._address(kernel)
        self._table[place] = self._address(sys.intern(value))  # last: now it can be found

    def _address(self, x: object) -> int:
        self._kept.append(x)
        return id(x)


@functools.cache
def _entered_choice() -> type:
    base: Any = vectorcall.entered_in_code()

    class EnteredChoice(base):
        """The object that is called; it keeps the choice, its table and its function alive."""

        def __init__(self, choice: Choice) -> None:
            self.choice = choice

    return vectorcall.inherit_vectorcall(EnteredChoice)


@functools.cache
def choice_code() -> Any:
    """Return the machine code of `choose`, the same for all choices; None without LLVM."""
    try:
        from kinetree.backends.llvm.programs import load_or_compile
        from kinetree.backends.llvm.target import host_target

        text = emit_choice()
        key = ["choice", sha256(text.encode()).hexdigest()]
        return load_or_compile(key, host_target(), lambda: text, ["choose"])
    except (ImportError, OSError):
        return None


def emit_choice() -> str:
    """LLVM IR of `@choose`, with Python's call protocol."""
    lines = [
        f"define ptr @choose({PROTOCOL}) {{",
        "entry:",
        *field("%table", "ptr", "%self", TABLE),
        "%bare = icmp eq ptr %kwnames, null",
        "br i1 %bare, label %general, label %named",
        "named:",
        *field("%length", "i64", "%kwnames", abi.LENGTH),
        *field("%name", "ptr", "%kwnames", abi.ITEMS),
        *field("%keyword", "ptr", "%table", 8 * KEYWORD),
        "%single = icmp eq i64 %length, 1",
        "%same = icmp eq ptr %name, %keyword",
        "%known = and i1 %single, %same",
        "br i1 %known, label %look, label %general",
        "look:",
        f"%nargs = and i64 %nargsf, {COUNT}",
        "%value.at = getelementptr ptr, ptr %args, i64 %nargs",
        "%value = load ptr, ptr %value.at",
        "br label %slot0",
    ]
    for k in range(SLOTS):
        after = f"slot{k + 1}" if k + 1 < SLOTS else "general"
        lines += [
            f"slot{k}:",
            *field(f"%string{k}", "ptr", "%table", 8 * (FIRST + 2 * k)),
            f"%is{k} = icmp eq ptr %value, %string{k}",
            f"br i1 %is{k}, label %enter{k}, label %{after}",
            f"enter{k}:",
            *field(f"%kernel{k}", "ptr", "%table", 8 * (FIRST + 2 * k + 1)),
            *field(f"%code{k}", "ptr", f"%kernel{k}", vectorcall.ENTRY),
            f"%made{k} = tail call ptr %code{k}(ptr %kernel{k}, ptr %args, i64 %nargs, ptr null)",
            f"ret ptr %made{k}",
        ]
    lines += [
        "general:",
        *field("%function", "ptr", "%self", GENERAL),
        *field("%call", "ptr", "%table", 8 * CALL),
        "%answer = tail call ptr %call(ptr %function, ptr %args, i64 %nargsf, ptr %kwnames)",
        "ret ptr %answer",
        "}",
    ]
    return "\n".join(lines) + "\n"
