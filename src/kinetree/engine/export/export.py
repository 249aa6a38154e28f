"""kt.export: a quantity of a robot as source code, written from the graph of its kernel."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Unpack, overload

from kinetree.core.options import is_one_of, switch
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.export.c import write_c, write_cpp
from kinetree.engine.export.firmware import ExportedCode, write_target
from kinetree.engine.export.header import HONOURING, About, header
from kinetree.engine.export.names import chosen_name, function_name, short_name
from kinetree.engine.export.plans import HasIteration, write_iteration
from kinetree.engine.export.program import DTYPES, Program
from kinetree.engine.export.scripts import write_casadi, write_julia, write_matlab, write_numpy
from kinetree.engine.export.self_test import write_driver
from kinetree.engine.export.targets import find_target
from kinetree.engine.kernels.compile import traced_graph
from kinetree.engine.kernels.request import Request
from kinetree.engine.kernels.signatures import CodeOptions
from kinetree.errors import InputError, NameLookupError
from kinetree.model import HasModel, Model, model_of
from kinetree.model.quantity import EXPRESSED

LanguageName = Literal[
    "c", "cpp", "numpy", "matlab", "julia", "casadi", "c99", "c++", "python", "octave"
]
TargetName = Literal["cortex-m4f", "cortex-m7", "aarch64", "x86-64-v3", "c99"]
Dtype = Literal["double", "float"]
Expressed = Literal["body", "space", "aligned"]


@dataclass(frozen=True)
class Language:
    """The writer of a language, its layout of matrices, and the index of an array's first entry."""

    write: Callable[[Program], str]
    layout: str
    first: int = 0


FLAT = "row by row in flat arrays"
LANGUAGES = {
    "c": Language(write_c, FLAT),
    "cpp": Language(write_cpp, FLAT),
    "numpy": Language(write_numpy, "the last two axes; any axes of states stand before"),
    "matlab": Language(write_matlab, "of their shapes; vectors are columns", first=1),
    "julia": Language(write_julia, "of their shapes", first=1),
    "casadi": Language(
        write_casadi, "of their shapes; of more than two dimensions, one below the other"
    ),
}
ALIASES = {"c99": "c", "c++": "cpp", "python": "numpy", "octave": "matlab"}


@overload
def export(
    robot: HasModel | Model,
    quantity: str,
    language: LanguageName = "c",
    *,
    target: None = None,
    dtype: Dtype | None = None,
    name: str | None = None,
    libm: bool = False,
    driver: bool = False,
    **options: Unpack[CodeOptions],
) -> str: ...


@overload
def export(
    robot: HasModel | Model,
    quantity: str,
    language: Literal["c", "c99"] = "c",
    *,
    target: TargetName,
    dtype: Dtype | None = None,
    name: str | None = None,
    **options: Unpack[CodeOptions],
) -> ExportedCode: ...


@overload
def export(
    robot: HasIteration,
    quantity: Literal["c", "c99"],
    *,
    target: TargetName | None = None,
    dtype: Dtype | None = None,
    name: str | None = None,
) -> ExportedCode: ...


def export(
    robot: HasModel | Model | HasIteration,
    quantity: str,
    language: LanguageName = "c",
    *,
    target: TargetName | None = None,
    dtype: Dtype | None = None,
    name: str | None = None,
    wrenches: bool = False,
    frame: str | None = None,
    expressed: Expressed | None = None,
    rows: Sequence[int] | None = None,
    free: Sequence[str] = (),
    libm: bool = False,
    driver: bool = False,
) -> str | ExportedCode:
    """Write a quantity of the robot as the text of one self-contained function.

    Args:
        robot: the robot, or its model. Or a `kinetree.optimal.Problem`, with "c" in the place of a
            quantity: one iteration of iLQR, for the target "c99" unless another one is named.
        quantity: a quantity that has kernels, such as "inverse_dynamics".
        language: "c" or "c99", "cpp" or "c++" (a header), "numpy" or "python", "matlab" or
            "octave", "julia", "casadi".
        target: None for code with the bits of the kernel. In C, "cortex-m4f", "cortex-m7",
            "aarch64", "x86-64-v3" or "c99" for firmware: a source file, a header and a self-test,
            in the arithmetic that the target has.
        dtype: "double" or "float"; if None "double", or the usual type of the target.
        name: name of the function; made from the robot and the quantity if None. It must be free in
            every language: "case" or "xor" is refused.
        wrenches, frame, expressed, rows, free: as in `Robot.compile`.
        libm: call sin and cos of the C library instead of writing out those of the kernel: less
            code, and results that may differ from the kernel's by an ulp of the sines.
        driver: adds a `main` that compares the function with stored results of the kernel to 2 eps
            (C only, with the kernel's sines).

    Returns:
        The text, which begins with a comment on names, units, conventions and operations. It has
        no date: the same robot gives the same text. For a target the texts of three files, with
        estimates of cycles and stack: `ExportedCode`.
    """
    if isinstance(robot, HasIteration):
        options = (
            _language(language) is not LANGUAGES["c"],
            wrenches,
            frame,
            expressed,
            rows,
            free,
            libm,
            driver,
        )
        return _iteration(robot, quantity, target or "c99", dtype, name, options)
    model = model_of(robot)
    request = Request(
        quantity, frame=frame, expressed=expressed, rows=rows, wrenches=wrenches, free=free
    )
    switch(libm, "libm")
    switch(driver, "driver")
    spoken = _language(language)
    if dtype is not None and not is_one_of(dtype, DTYPES):
        raise InputError(f"dtype is {dtype!r}; expected one of {', '.join(map(repr, DTYPES))}.")
    if libm and spoken not in (LANGUAGES["c"], LANGUAGES["cpp"]):
        raise InputError(f"libm applies to C and C++ only, not to {language!r}; leave it out.")
    if driver and (spoken is not LANGUAGES["c"] or libm):
        raise InputError(
            f"a test driver exists in C and with the kernel's sines, not in {language!r}"
            f"{' with libm' if libm else ''}; leave driver out."
        )
    if target is not None:
        _check_target(target, language, dtype, libm=libm, driver=driver)
    program = _program(model, request, traced_graph(model, request), spoken, name)
    if target is not None:
        target_facts = find_target(target)
        if name is None:
            program = renamed(program, short_name(program.name))
        program = replace(program, dtype=dtype or target_facts.dtypes[0])
        return write_target(program, model, target_facts, target)
    program = replace(program, dtype=dtype or "double", libm=libm)
    text = spoken.write(program)
    return text + write_driver(program, model) if driver else text


def _iteration(
    problem: HasIteration, language: str, target: str, dtype: str | None, name: str | None,
    options: tuple[object, ...],
) -> ExportedCode:  # fmt: skip
    """One iteration of a problem; the options are those of quantities."""
    if ALIASES.get(language, language) != "c" or any(options):
        raise InputError(
            f"a problem of optimal control is written as kt.export(problem, 'c', target=..., "
            f"dtype=..., name=...); expected 'c', not {language!r}, and no option of a quantity."
        )
    _check_target(target, "c", dtype, libm=False, driver=False)
    this, facts = problem.iteration(), find_target(target)
    called = short_name(function_name(this.model.name, "ilqr"))
    called = called if name is None else chosen_name(name, ())
    return write_iteration(this, called, facts, target, dtype or facts.dtypes[0])


def _check_target(
    target: str, language: str, dtype: str | None, *, libm: bool, driver: bool
) -> None:
    """Raise an error if a target does not go with the other arguments."""
    target_facts = find_target(target)
    if ALIASES.get(language, language) != "c":
        raise InputError(
            f"targets are written in C only, not in {language!r}; leave out the language or the "
            f"target {target!r}."
        )
    if libm or driver:
        raise InputError(
            f"{'libm' if libm else 'driver'} does not apply to the target {target!r}, which has "
            "functions and a self-test of its own; leave it out."
        )
    if dtype is not None and dtype not in target_facts.dtypes:
        raise InputError(
            f"dtype is {dtype!r}, but {target!r} is the {target_facts.about}; "
            f"expected {' or '.join(map(repr, target_facts.dtypes))}."
        )


def renamed(program: Program, name: str) -> Program:
    """The program under another name, also in the first line of its comment."""
    title, *lines = program.header
    return replace(program, name=name, header=(title.replace(program.name, name, 1), *lines))


def _program(
    model: Model, request: Request, graph: Graph, language: Language, name: str | None
) -> Program:
    quantity, frame, axes = request.quantity, request.frame, request.expressed
    words = [
        quantity.name,
        *([] if frame is None else [frame]),
        *([] if axes in (None, EXPRESSED[0]) else [axes]),
    ]
    letters = [result.letter for result in quantity.results]
    called = function_name(model.name, *words) if name is None else chosen_name(name, letters)
    outputs = tuple(
        _lettered(port, result.letter, graph)
        for port, result in zip(graph.outputs, quantity.results, strict=True)
    )
    place = model.frame_name(frame) if quantity.framed else None
    equation = quantity.equation
    if all(port.name != "F_ext" for port in graph.inputs):
        equation = equation.replace(" - J^T F_ext", "").replace(" + J^T F_ext", "")
    if model.constraints is not None:
        equation = HONOURING.get(quantity.name, equation)
    about = About(
        f"{called}: {equation}", quantity, language.layout, language.first, place,
        **request.choices,
    )  # fmt: skip
    lines = header(model, graph, outputs, about)
    return Program(called, graph, graph.inputs, outputs, tuple(lines))


def _lettered(port: Port, letter: str, graph: Graph) -> Port:
    """Name the output by its letter, or keep its name if an argument has that letter."""
    taken = {argument.name for argument in graph.inputs}
    return replace(port, name=letter if letter not in taken else port.name)


def _language(name: str) -> Language:
    language = LANGUAGES.get(ALIASES.get(name, name)) if isinstance(name, str) else None
    if language is None:
        raise NameLookupError(
            f"there is no language {name!r}; expected one of {', '.join(LANGUAGES)}."
        )
    return language
