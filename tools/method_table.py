"""Store what is public: every callable with its signature, attributes of classes, and errors.

    python tools/method_table.py            write tests/interfaces/public_members.txt
    python tools/method_table.py --check    exit with 1 if it is not up to date

`tests/interfaces/test_help.py` compares the file with the code, so that no change of what is public
(docs/install.md) goes unseen. The page of all methods is made from `public` by
docs/extension/methods.py.
"""

import dataclasses
import importlib
import inspect
import sys
import typing
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any

import kinetree as kt
from kinetree import errors

ROOT = Path(__file__).parents[1]
MEMBERS = ROOT / "tests" / "interfaces" / "public_members.txt"

# classes of results that no public module lists
RESULTS = {
    "Animation": "kinetree.motion.animation",
    "Explanation": "kinetree.explain",
    "GpuTrajectory": "kinetree.simulate.gpu",
    "Model": "kinetree.model",
    "Report": "kinetree.files.report",
    "SparseBlock": "kinetree.engine.compiler.sparse",
    "SparsePattern": "kinetree.engine.compiler.sparse",
    "SymbolicRobot": "kinetree.symbols.robot",
}


@cache
def public() -> dict[str, Callable[..., Any]]:
    """Public callables by their names: functions, classes, and the methods of classes."""
    found: dict[str, Callable[..., Any]] = {}

    def add(path: str, thing: Any) -> None:
        if isinstance(thing, ModuleType):
            for name in thing.__all__:
                add(f"{path}.{name}", getattr(thing, name))
        elif inspect.isclass(thing):
            is_known = any(x is thing for x in found.values())
            if is_known or issubclass(thing, BaseException) or typing.is_typeddict(thing):
                return
            found[path] = thing
            for name in dir(thing):
                getattr(thing, name, None)  # imports functions that are methods
                member = inspect.getattr_static(thing, name)
                if not name.startswith("_") and not isinstance(member, property):
                    if callable(method := getattr(thing, name, None)):
                        if isinstance(member, FunctionType) and "self" not in parameters_of(member):
                            method = MethodType(member, thing)  # a function of a module, too
                        found[f"{path}.{name}"] = method
        elif callable(thing):
            found[path] = thing

    for name in kt.__all__:
        add(f"kt.{name}", getattr(kt, name))
    for name, module in RESULTS.items():
        add(name, getattr(importlib.import_module(module), name))
    own = {id(thing): path for path, thing in reversed(found.items())}  # each of them once
    return {path: thing for path, thing in found.items() if own[id(thing)] == path}


def parameters_of(function: Callable[..., Any]) -> list[str]:
    """Names of all parameters of a function, that of a bound object included."""
    return list(inspect.signature(getattr(function, "__func__", function)).parameters)


def parameters(thing: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Arguments that a caller gives, by name."""
    if thing is kt.kernels.Kernel:  # its signature belongs to instances
        thing = kt.kernels.Kernel.__init__
    if getattr(thing, "_is_protocol", False):  # it has no instances of its own
        return {}
    found = inspect.signature(thing).parameters
    return {x: p for x, p in found.items() if x not in ("self", "cls") and not x.startswith("_")}


def short_signature(thing: Callable[..., Any]) -> str:
    """The signature without types; long defaults are shortened."""
    plain = [_without_type(x) for x in parameters(thing).values()]
    return str(inspect.Signature(plain))


def _without_type(parameter: inspect.Parameter) -> inspect.Parameter:
    bare = parameter.replace(annotation=inspect.Parameter.empty)
    if bare.default is not bare.empty and len(repr(bare.default)) > 24:
        bare = bare.replace(default=...)
    return bare


def first_line(thing: Callable[..., Any]) -> str:
    """The first line of the help of a callable."""
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def members() -> str:
    """Callables with signatures, the other attributes of classes, and errors with their bases."""
    lines = [f"{path}{short_signature(thing)}" for path, thing in public().items()]
    for path, thing in public().items():
        if inspect.isclass(thing):
            fields = (
                [x.name for x in dataclasses.fields(thing)]
                if dataclasses.is_dataclass(thing)
                else []
            )
            names = [x for x in dir(thing) if not callable(getattr(thing, x, None))]
            found = {x for x in (*fields, *names) if not x.startswith("_")}
            lines += [f"{path}.{name}" for name in found]
    for name, error in inspect.getmembers(errors, inspect.isclass):
        if issubclass(error, Exception) and error.__module__ == errors.__name__:
            lines.append(
                f"kinetree.errors.{name}({', '.join(x.__name__ for x in error.__bases__)})"
            )
    return "\n".join(sorted(lines)) + "\n"


def main() -> int:
    """Write the file, or compare it with the code."""
    if set(sys.argv[1:]) - {"--check"}:
        sys.exit("usage: python tools/method_table.py [--check]")
    text = members()
    if "--check" not in sys.argv[1:]:
        MEMBERS.write_text(text, encoding="utf-8")
    elif not MEMBERS.exists() or MEMBERS.read_text(encoding="utf-8") != text:
        print(f"{MEMBERS.name} is not up to date: run python tools/method_table.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
