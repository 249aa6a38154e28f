"""List the public callables of kinetree with their signatures and the first line of their help.

    python tools/method_table.py            write docs/api/methods.md, tests/unit/public_members.txt
    python tools/method_table.py --check    exit with 1 if one of them is not up to date

Both are the stored list of what is public (docs/versions.md): the page has every callable with its
signature, the text has the attributes of public classes, and the errors with the errors that they
refine. `tests/unit/test_help.py` compares both, so that no change of them goes unseen.
"""

import dataclasses
import importlib
import inspect
import re
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
PAGE = ROOT / "docs" / "api" / "methods.md"
MEMBERS = ROOT / "tests" / "unit" / "public_members.txt"
HEAD = """# All methods

After this page you can find any function by its name. It lists every public function, class and
method, with its signature and the first line that `help` shows.
`help(robot.inverse_dynamics)` shows all of it.
`python tools/method_table.py` writes this page from the code.

```{drawing} quantities
Arguments of the main quantities of a robot.
```
"""

# classes of results that no public module lists
RESULTS = {
    "Animation": "kinetree.motion.animation",
    "Explanation": "kinetree.explain",
    "Figure": "kinetree.base.figure",
    "GpuTrajectory": "kinetree.simulate.gpu.rollouts",
    "Report": "kinetree.files.report",
    "SymbolicRobot": "kinetree.symbols.robot",
}
COLUMNS = "| name | signature | help begins with |\n|---|---|---|"


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
    if thing is kt.Kernel:  # its signature belongs to instances
        thing = kt.Kernel.__init__
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


def _as_markdown(line: str) -> str:
    """Text outside of `code` with the characters escaped that Markdown or a table would read."""
    parts = line.split("`")
    return "`".join(
        part if k % 2 else re.sub(r"([*_|<\[$])", r"\\\1", part) for k, part in enumerate(parts)
    )


def page() -> str:
    """The text of the page, a table for each class or module."""
    tables: dict[str, list[str]] = {}
    for path, thing in public().items():
        parts = path.split(".")
        group = ".".join(parts[:2]) if len(parts) > 2 else parts[0]
        row = f"| `{path}` | `{short_signature(thing)}` | {_as_markdown(first_line(thing))} |"
        tables.setdefault(group, []).append(row)
    parts = [HEAD]
    for group in sorted(tables, key=lambda name: (name != "kt", name.lower())):
        rows = "\n".join(tables[group])
        parts.append(
            f"## {group}\n\n| name | signature | help begins with |\n|---|---|---|\n{rows}\n"
        )
    return "\n".join(parts)


def members() -> str:
    """Attributes of the public classes that are not callables, and errors with their bases."""
    lines = list[str]()
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
    """Write both files, or compare them with the code."""
    if set(sys.argv[1:]) - {"--check"}:
        sys.exit("usage: python tools/method_table.py [--check]")
    code = 0
    for path, text in ((PAGE, page()), (MEMBERS, members())):
        if "--check" not in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"{path.name} is not up to date: run python tools/method_table.py")
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
