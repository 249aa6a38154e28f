"""kt.export: a quantity of a robot as source code, written from the graph of its kernel."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kinetree.core.options import is_one_of
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.export.c import header_text, source_text
from kinetree.engine.export.code import ExportedCode, chosen_name, function_name
from kinetree.engine.export.header import HONOURING, header
from kinetree.engine.export.program import DOUBLE, DTYPES, Program
from kinetree.engine.export.scripts import write_casadi, write_matlab
from kinetree.engine.export.self_test import self_test_text
from kinetree.engine.kernels.compile import traced_graph
from kinetree.engine.kernels.request import Request
from kinetree.errors import InputError, NameLookupError
from kinetree.model import HasModel, Model, model_of
from kinetree.model.quantity import EXPRESSED

LanguageName = Literal["c", "casadi", "matlab"]
Dtype = Literal["double", "float"]
Expressed = Literal["body", "space", "aligned"]


@dataclass(frozen=True)
class Language:
    """The writer of the files, the layout of matrices, and the index of an array's first entry."""

    write: Callable[[Program, Model], Mapping[str, str]]
    layout: str
    first: int = 0


def _c_files(program: Program, model: Model) -> dict[str, str]:
    return {
        ".c": source_text(program),
        ".h": header_text(program),
        "_test.c": self_test_text(program, model),
    }


LANGUAGES = {
    "c": Language(_c_files, "row by row in flat arrays"),
    "casadi": Language(
        lambda program, _: {".py": write_casadi(program)},
        "of their shapes; of more than two dimensions, one below the other",
    ),
    "matlab": Language(
        lambda program, _: {".m": write_matlab(program)},
        "of their shapes; vectors are columns",
        first=1,
    ),
}


def export(
    robot: HasModel | Model,
    quantity: str,
    language: LanguageName = "c",
    *,
    dtype: Dtype = "double",
    name: str | None = None,
    wrenches: bool = False,
    frame: str | None = None,
    expressed: Expressed | None = None,
    rows: Sequence[int] | None = None,
    free: Sequence[str] = (),
) -> ExportedCode:
    """Write a quantity of the robot as one self-contained function.

    Args:
        robot: the robot, or its model.
        quantity: a quantity that has kernels, such as "inverse_dynamics".
        language: "c" (C99 with a header for C and C++, and a self-test), "casadi" (a Python
            function that returns a `casadi.Function`) or "matlab" (also for Octave).
        dtype: "double" or "float", the type of the numbers.
        name: name of the function, not a word of the language; made from the robot and the quantity
            if None.
        wrenches, frame, expressed, rows, free: as in `Robot.compile`.

    Returns:
        The texts of the files, which begin with a comment on names, units, conventions and
        operations. They have no date: the same robot gives the same text. `save(path)` writes them.

    Example:
        >>> code = kt.export(kt.robots.planar_2r(), "gravity_forces", name="arm_gravity")
        >>> list(code.files())
        ['arm_gravity.c', 'arm_gravity.h', 'arm_gravity_test.c']
    """
    if not is_one_of(dtype, DTYPES):
        raise InputError(f"dtype is {dtype!r}; expected one of {', '.join(map(repr, DTYPES))}.")
    model = model_of(robot)
    request = Request(
        quantity, frame=frame, expressed=expressed, rows=rows, wrenches=wrenches, free=free
    )
    spoken = _language(language)
    if language == "casadi" and dtype != DOUBLE:
        raise InputError("CasADi computes in double only; leave dtype at double.")
    program = _program(model, request, spoken, dtype, name)
    return ExportedCode(program.name, spoken.write(program, model))


def _program(
    model: Model, request: Request, language: Language, dtype: str, name: str | None
) -> Program:
    graph = traced_graph(model, request)
    quantity, frame, axes = request.quantity, request.frame, request.expressed
    words = [
        quantity.name,
        *([] if frame is None else [frame]),
        *([] if axes in (None, EXPRESSED[0]) else [axes]),
    ]
    called = function_name(model.name, *words) if name is None else chosen_name(name)
    outputs = tuple(
        _lettered(port, result.letter, graph)
        for port, result in zip(graph.outputs, quantity.results, strict=True)
    )
    equation = quantity.title.rstrip(".")
    if not request.wrenches:
        equation = equation.replace(" - J^T F_ext", "").replace(" + J^T F_ext", "")
    if model.constraints is not None:
        equation = HONOURING.get(quantity.name, equation)
    about = f"{called}: {equation}", model, request, graph, outputs
    lines = header(*about, language.layout, language.first)
    return Program(called, graph, graph.inputs, outputs, tuple(lines), dtype)


def _lettered(port: Port, letter: str, graph: Graph) -> Port:
    """Name the output by its letter, or keep its name if an argument has that letter."""
    taken = {argument.name for argument in graph.inputs}
    return replace(port, name=letter if letter not in taken else port.name)


def _language(name: str) -> Language:
    language = LANGUAGES.get(name) if isinstance(name, str) else None
    if language is None:
        raise NameLookupError(
            f"there is no language {name!r}; expected one of {', '.join(LANGUAGES)}."
        )
    return language
