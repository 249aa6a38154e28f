"""List the public callables of kinetree with their signatures and the first line of their help.

    python tools/method_table.py            write docs/api/methods.md
    python tools/method_table.py --check    exit with 1 if the page is not up to date

`tests/unit/test_help.py` walks the same callables.
"""

import importlib
import inspect
import re
import sys
import typing
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import kinetree as kt

PAGE = Path(__file__).parent.parent / "docs" / "api" / "methods.md"
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
    "Animation": "kinetree.samples.animation",
    "Explanation": "kinetree.explain",
    "Figure": "kinetree.base.figure",
    "GpuTrajectory": "kinetree.simulate.gpu.rollouts",
    "Report": "kinetree.report",
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
            if issubclass(thing, BaseException) or typing.is_typeddict(thing):
                return
            found[path] = thing
            for name in dir(thing):
                member = inspect.getattr_static(thing, name)
                if not name.startswith("_") and not isinstance(member, property):
                    if callable(method := getattr(thing, name, None)):
                        found[f"{path}.{name}"] = method
        elif callable(thing):
            found[path] = thing

    for name in kt.__all__:
        add(f"kt.{name}", getattr(kt, name))
    for name, module in RESULTS.items():
        add(name, getattr(importlib.import_module(module), name))
    own = {id(thing): path for path, thing in reversed(found.items())}  # each of them once
    return {path: thing for path, thing in found.items() if own[id(thing)] == path}


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


def main() -> int:
    """Write the page, or compare it with the code."""
    if set(sys.argv[1:]) - {"--check"}:
        sys.exit("usage: python tools/method_table.py [--check]")
    text = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{PAGE.name} is not up to date: run python tools/method_table.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
