"""Write the types of quantities for editors and type checkers, from the declarations.

    python tools/write_stubs.py

The files are `robot/quantities.pyi`, the attributes of Robot (at run time plain kernels, made by
robot/quantities.py), and `dynamics/__init__.pyi`, the functions of a model. They have arguments by
name, results by the kind of arrays that are given (NumPy arrays, tensors of torch and JAX, dicts,
and tables of pandas and polars), and the docstrings. Git ignores them: the make targets and the
build of the wheel (`[tool.hatch.build.targets.wheel.hooks.custom]` of pyproject.toml) write them.
"""

import inspect
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # not in a build
    BuildHookInterface = object

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from kinetree import dynamics
from kinetree.dynamics.quantities import DECLARED
from kinetree.engine.kernels.help import quantity_help
from kinetree.model.quantity import AT_STATE, Quantity

SOURCE = Path(__file__).resolve().parents[1] / "src" / "kinetree"
ROBOT, DYNAMICS = SOURCE / "robot/quantities.pyi", SOURCE / "dynamics/__init__.pyi"
HEAD = '''"""Types of the quantities of Robot, for editors and type checkers.

Written by tools/write_stubs.py from the declarations of the quantities; do not edit.
"""

# ruff: noqa: E501
# pyright: reportIncompatibleMethodOverride=false, reportOverlappingOverload=false
from collections.abc import Callable
from typing import Any, Generic, Literal, TypeVar, Unpack, overload

from kinetree.core.arrays import Array, ArrayLike
from kinetree.engine.kernel import Kernel
from kinetree.engine.kernels.signatures import (
    Beside,
    Frame,
    Labelled,
    Named,
    PandasFrame,
    PandasSeries,
    PolarsFrame,
    Rows,
    Series,
    Tensor,
    UfuncOptions,
)
from kinetree.model import HasModel
from kinetree.robot.core import RobotCore

Form = TypeVar("Form")

class Compiled(Generic[Form]):
    """An attribute of Robot that is a kernel of its model, compiled at the first access."""

    def __init__(self, declared: Callable[[Any], Form]) -> None: ...
    @overload
    def __get__(self, robot: None, kind: type) -> Compiled[Form]: ...
    @overload
    def __get__(self, robot: HasModel, kind: type) -> Form: ...
    def __call__(self, robot: HasModel, *arrays: object, **options: object) -> Any: ...

def of_robots(name: str, path: str) -> Callable[..., Any]: ...
'''
# kind of a result -> (type of the first argument, type of the others, type of the result)
FORMS = {
    "joints": (("Named", "Beside", "dict[str, Any]"), ("Labelled", "Labelled", "Labelled")),
    "matrix": (
        ("Named", "Beside", "dict[str, Any]"),
        ("PandasSeries[Frame]", "PandasSeries[Frame]", "Frame"),
        ("Rows", "Rows", "Rows"),
    ),
    "number": (
        ("Named", "Beside", "Array"),
        ("PandasSeries[Any]", "PandasSeries[Any]", "float"),
        ("PandasFrame[Series]", "PandasFrame[Series]", "Series"),
        ("PolarsFrame[Series]", "PolarsFrame[Series]", "Series"),
    ),
    "vector": (("Named", "Beside", "Array"), ("Labelled", "Labelled", "Labelled")),
    "pose": (
        ("Named", "Beside", "Array"),
        ("PandasSeries[Frame]", "PandasSeries[Frame]", "Frame"),
        ("Rows", "Rows", "Rows"),
    ),
}


def kind(axes: Sequence[str]) -> str:
    """The kind of a result: a number, a vector in space or of joints, a matrix, or a pose."""
    if not axes:
        return "number"
    if all(axis.isdigit() for axis in axes):
        return "vector" if len(axes) == 1 else "pose"
    return "joints" if len(axes) == 1 else "matrix"


def calls(quantity: Quantity) -> Iterator[tuple[str, str]]:
    """Arguments and result of every overload."""
    first, *others = quantity.inputs
    count = len(quantity.results)
    forms = FORMS[kind(quantity.results[0].axes)]
    more = ["F_ext: ArrayLike | None = None"] if quantity.wrenches else []
    if quantity.framed:
        more.append("frame: str | None = None")
        if quantity.choices:
            more += ["*", 'expressed: Literal["body", "space", "aligned"] = "body"']

    def several(one: str) -> str:
        return one if count == 1 else f"tuple[{', '.join([one] * count)}]"

    def arguments(one: str, other: str, *rest: str) -> str:
        named = [f"{first}: {one}", *(f"{name}: {other}" for name in others)]
        return ", ".join(["self", *named, *more, *rest])

    def ufunc(one: str) -> list[str]:
        if quantity.framed:
            return []
        return ["*", f"out: {several(one)} | None = None", "**options: Unpack[UfuncOptions]"]

    yield arguments("Tensor", "ArrayLike", *ufunc("Tensor")), several("Tensor")
    for one, other, result in forms:
        beside = other if other == "Beside" else f"{other} | Beside"
        yield arguments(one, beside), several(result)
    yield arguments("ArrayLike", "ArrayLike", *ufunc("Array")), several("Array")


def class_name(quantity: Quantity) -> str:
    """The name of the class of a kernel."""
    return f"{''.join(word.capitalize() for word in quantity.name.split('_'))}Kernel"


def docstring(quantity: Quantity, indent: str) -> str:
    """The help of a quantity as a docstring."""
    text = textwrap.indent(quantity_help(quantity), indent).lstrip()
    return f'{indent}r"""{text}\n{indent}"""'


def robot_stub() -> str:
    """The text of robot/quantities.pyi."""
    attributes = [DECLARED[x] for x in DECLARED.methods]
    parts = [HEAD]
    for quantity in attributes:
        if not quantity.framed:
            parts.append(f"class {class_name(quantity)}(Kernel):")
            for arguments, result in calls(quantity):
                parts.append(f"    @overload\n    def __call__({arguments}) -> {result}: ...")
            parts.append("")
    parts.append(
        'class Quantities(RobotCore):\n    """Quantities of a robot at a state, or at many."""\n'
    )
    for quantity in attributes:
        if quantity.framed:
            text = f"\n{docstring(quantity, ' ' * 8)}"  # editors show that of the first overload
            for arguments, result in calls(quantity):
                signature = f"    def {quantity.name}({arguments}) -> {result}:"
                parts.append(f"    @overload\n{signature}{text}")
                text = " ..."
        else:
            parts.append(
                f"    @Compiled\n    def {quantity.name}(self) -> {class_name(quantity)}:\n"
                f"{docstring(quantity, ' ' * 8)}"
            )
    return "\n".join(parts) + "\n"


DYNAMICS_HEAD = '''"""Functions of a model and one state, for editors and type checkers.

Written by tools/write_stubs.py from the declarations of the quantities; do not edit.
"""

# ruff: noqa: E501
from typing import Any

from kinetree.core.arrays import Array, StateLike
from kinetree.model import HasModel, Model
from kinetree.model.inputs import TipWrench, Wrenches
'''
ARGUMENTS = {
    "model": "Model | HasModel",
    "F_ext": "Wrenches = None",
    "F_tip": "TipWrench = None",
    "frame": "str | None = None",
    "expressed": 'str = "body"',
}


def dynamics_stub() -> str:
    """The text of dynamics/__init__.pyi."""
    imports, functions = [], []
    files = {name: file for file, names in dynamics.OTHERS.items() for name in names.split()}
    for name, file in files.items():
        imports.append(f"from kinetree.dynamics.{file} import {name}")
    for name, quantity in DECLARED.items():
        by_hand = AT_STATE.get(name)
        if by_hand is not None:
            source = f"from {by_hand.__module__} import {by_hand.__name__}"
            imports.append(f"{source} as {name}")
            continue
        returned = inspect.signature(quantity.function).return_annotation
        if isinstance(returned, type) and hasattr(returned, "_fields"):
            imports.append(f"from {returned.__module__} import {returned.__name__}")
        result = returned.__name__ if hasattr(returned, "_fields") else plain_result(quantity)
        function = getattr(dynamics, name)
        arguments = plain_arguments(inspect.signature(function))
        text = textwrap.indent(inspect.getdoc(function) or "", "    ").lstrip()
        functions.append(f'def {name}({arguments}) -> {result}:\n    r"""{text}\n    """\n')
    names = f"__all__ = {sorted(dynamics.__all__)}"
    return "\n".join([DYNAMICS_HEAD, *sorted({*imports}), "", names, "", *functions])


def plain_result(quantity: Quantity) -> str:
    """The type of the result of a function of a model."""
    types = ["Array" if result.axes else "Any" for result in quantity.results]
    return types[0] if len(types) == 1 else f"tuple[{', '.join(types)}]"


def plain_arguments(signature: inspect.Signature) -> str:
    """The arguments of a function of a model, with their types."""
    parts: list[str] = []
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        parts.append(f"{name}: {ARGUMENTS.get(name, 'StateLike')}")
    return ", ".join(parts)


def write() -> None:
    """Write both files."""
    for path, text in ((ROBOT, robot_stub()), (DYNAMICS, dynamics_stub())):
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


class Stubs(BuildHookInterface):
    """The hook of the build of the wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict) -> None:
        """Write both files before the wheel is packed or an editable one is made."""
        write()


if __name__ == "__main__":
    write()
