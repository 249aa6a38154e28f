"""Write the types of Robot's quantities, src/kinetree/robot/quantities.pyi, from the declarations.

    python tools/write_stubs.py            # write the file; a test compares it

At run time the attributes are plain kernels, made by robot/quantities.py. This file is read by
editors and type checkers alone: arguments by name, results by the kind of arrays that are given
(NumPy arrays, tensors of torch and JAX, dicts, and labelled arrays of pandas, polars and xarray),
and the docstrings.
"""

import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from kinetree.dynamics.quantities import DECLARED
from kinetree.engine.kernels.help import quantity_help
from kinetree.model.quantity import Quantity

STUB = Path(__file__).resolve().parents[1] / "src/kinetree/robot/quantities.pyi"
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
    Xarray,
)
from kinetree.model import HasModel, Model
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

def framed_call(model: Model, name: str) -> Callable[..., Any]: ...
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
        ("Xarray", "Xarray", "Xarray"),
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


def stub() -> str:
    """The text of the file."""
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


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
    print(f"{STUB}: {len(stub().splitlines())} lines")
