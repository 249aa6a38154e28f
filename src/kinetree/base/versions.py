"""The version of kinetree, and the public names that a later version removes.

`__version__` stands here alone: the build reads it from this file, `kinetree.__version__`, exported
code, studies and the workbench read it from this module.

A name that is replaced stays for at least one minor version and warns. Its line in `OLD_NAMES`
has the name in use and the version that removes it; a test fails when that version is reached, so
that the name, its line and its tests go together. docs/versions.md is the policy for users.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from kinetree.errors import InputError, KinetreeDeprecationWarning, warn

__version__ = "0.2.0"

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class OldName:
    """A public name that will be removed, and the version that removes it.

    use: the name in use, as the caller writes it.
    since: the first version that warns.
    gone: the version that no longer has the old name.
    """

    use: str
    since: str
    gone: str


# old name: the name in use, the first version that warns, the version that removes the old name
OLD_NAMES: dict[str, OldName] = {
    "column F_ext.mx": OldName("F_ext.nx", "0.2.0", "0.3.0"),
    "column F_ext.my": OldName("F_ext.ny", "0.2.0", "0.3.0"),
    "column F_ext.mz": OldName("F_ext.nz", "0.2.0", "0.3.0"),
}


def warn_old(name: str, table: Mapping[str, OldName] = OLD_NAMES) -> None:
    """Warn, at the user's line, that a name of `OLD_NAMES` is old: when it goes, and what to use.

    Args:
        name: the old name, as it stands in the table.
        table: the names that will be removed.
    """
    old_name = table[name]
    warn(
        f"{name} goes in kinetree {old_name.gone}; use {old_name.use} instead.",
        KinetreeDeprecationWarning,
    )


def renamed(
    name: str, function: Callable[P, R], table: Mapping[str, OldName] = OLD_NAMES
) -> Callable[P, R]:
    """A function under its old name: it warns and calls the one in use.

        gravity_torques = renamed("gravity_torques", gravity_forces)

    Args:
        name: the old name, as it stands in the table.
        function: the function in use.
        table: the names that will be removed.
    """
    old_name = table[name]

    @functools.wraps(function)
    def old(*args: P.args, **kwargs: P.kwargs) -> R:
        warn_old(name, table)
        return function(*args, **kwargs)

    old.__name__ = old.__qualname__ = name
    old.__doc__ = f"The old name of {old_name.use}, which goes in kinetree {old_name.gone}."
    return old


def renamed_arguments(
    table: Mapping[str, OldName] = OLD_NAMES, **names: str
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: keyword arguments are also taken under their old names, with a warning.

        @renamed_arguments(torque="tau")     # OLD_NAMES has a line "argument torque of step"
        def step(q, *, tau): ...

    The signature shows the names in use alone. Both names in one call are an InputError.

    Args:
        table: the names that go; an argument's line is "argument OLD of FUNCTION".
        names: the name in use of each old one.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        lines = {old: f"argument {old} of {function.__name__}" for old in names}
        known = inspect.signature(function).parameters
        for old, new in names.items():
            if old in known or new not in known or lines[old] not in table:
                raise InputError(
                    f"{function.__name__} cannot take {old!r} for {new!r}; expected an argument "
                    f"{new!r}, no argument {old!r}, and a line {lines[old]!r} in the table."
                )

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for old in names.keys() & kwargs.keys():
                new = names[old]
                if new in kwargs:
                    raise InputError(
                        f"{function.__name__} got {old!r} and {new!r}, the old and the new name of "
                        f"one argument; leave out {old!r}."
                    )
                warn_old(lines[old], table)
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate
