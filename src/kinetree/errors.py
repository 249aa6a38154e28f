"""The errors of kinetree: each names the element, the expected, the found and the remedy.

`need` imports an optional package, and raises the error that says how to install it. Names from
files of others are shown with escapes in errors and warnings (`visible`).
"""

import re
import sys
import warnings
from importlib import import_module
from typing import Any
from unicodedata import category

__all__ = [
    "ArgumentError",
    "CompileError",
    "GraphError",
    "InertiaError",
    "InputError",
    "KinetreeDeprecationWarning",
    "KinetreeError",
    "KinetreeWarning",
    "MissingPackageError",
    "ModelError",
    "NameLookupError",
    "ParseError",
    "ShapeError",
    "SingularityError",
]

# signs that show nothing though Unicode calls them printable (Default_Ignorable_Code_Point), the
# blank of Braille, and ends of lines
BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2028\u2029\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)


def visible(text: str, kept: str = "\n\t") -> str:
    r"""`text` with escapes such as \x1b for characters that a terminal obeys or does not show.

    Those are control characters, changes of the direction of writing, and other characters without
    a picture. `kept` are control characters that stay as they are.
    """
    if text.isprintable() and (text.isascii() or not BLANK.search(text)):
        return text
    return "".join(
        ascii(c)[1:-1] if (category(c)[0] == "C" and c not in kept) or BLANK.match(c) else c
        for c in text
    )


options: set[str] = set()  # of the running command, such as --limits; empty in Python


def argument(name: str, value: object = ...) -> str:
    """An argument as the user passes it: `limits="record"`, in the shell `--limits record`."""
    option = f"--{name}".replace("_", "-")
    if option not in options:
        return f"{name}=..." if value is ... else f"{name}={value!r}"
    if isinstance(value, bool):
        return option if value else f"--no-{option[2:]}"
    return option if value is ... else f"{option} {value}"


class KinetreeError(Exception):
    """Root of every error that kinetree raises on purpose."""

    def __str__(self) -> str:
        return visible(super().__str__())


class InputError(KinetreeError, ValueError):
    """A value that cannot be used: NaN, a zero axis, a matrix that is not a rotation."""


class ArgumentError(KinetreeError, TypeError):
    """A call with a wrong number of arguments, or an argument by a name that is not there."""


class ParseError(InputError):
    """A file or text that is not of its format; the message has file, line and column.

    code, fields: what is wrong, and the numbers and names in it, for programs; the code is empty
    where no program asks. faults, warnings: of several errors in the file, all, this one first;
    and the notes on what else is odd in it.
    """

    def __init__(self, text: str = "", *, code: str = "", **fields: Any) -> None:
        super().__init__(text)
        self.code, self.fields = code, fields
        self.faults: tuple[ParseError, ...] = ()
        self.warnings: tuple[Any, ...] = ()


class ShapeError(InputError):
    """An array of the wrong shape or length."""


class ModelError(InputError):
    """Links and joints that do not form a tree, or have impossible data."""


class InertiaError(ModelError):
    """A mass distribution that no physical body has."""


class NameLookupError(KinetreeError, LookupError):
    """A link, joint or frame that the model does not have."""


class SingularityError(KinetreeError, ArithmeticError):
    """A matrix that has no inverse: a singular Jacobian or mass matrix."""


class GraphError(KinetreeError, ValueError):
    """A traced function or graph that breaks the rules of the compiler."""


class CompileError(KinetreeError, RuntimeError):
    """Code that could not be compiled or loaded."""


class MissingPackageError(KinetreeError, ImportError):
    """An optional package that is needed and not installed."""


class KinetreeWarning(UserWarning):
    """Something a user should know about their robot or their machine."""


class KinetreeDeprecationWarning(KinetreeWarning, FutureWarning):
    """A name that a later version no longer has; the message has the version and the new name."""


def warn(message: str, kind: type[Warning] = KinetreeWarning) -> None:
    """Warn at the line of the user's code that called kinetree, however deep the call is."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "kinetree":
        frame, level = frame.f_back, level + 1
    warnings.warn(visible(message), kind, stacklevel=level)


def need(module: str, extra: str, purpose: str) -> Any:
    """Import a module; if it is missing, the error has its purpose and how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingPackageError(
            f"{purpose} needs {module.split('.')[0]}, which cannot be imported ({error}). "
            f"Install it with: pip install 'kinetree[{extra}]'."
        ) from error
