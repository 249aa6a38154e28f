"""kt.export: a quantity of a robot as source code, from the graph that its kernel is made of."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kinetree.compiler.graph import Graph, Port
from kinetree.errors import InputError, NameLookupError
from kinetree.kernels.compile import trace_quantity
from kinetree.kernels.quantities import find_quantity
from kinetree.model import HasModel, Model, model_of
from kinetree.write.code import c, casadi_code, cpp, julia, matlab, numpy_code
from kinetree.write.code.driver import write_driver
from kinetree.write.code.header import WEIGHING, About, header
from kinetree.write.code.header_words import RESULTS
from kinetree.write.code.names import chosen_name, function_name
from kinetree.write.code.program import DTYPES, Program


@dataclass(frozen=True)
class Language:
    """What writes a program, how it lays out matrices, and the number of an array's first entry."""

    write: Callable[[Program], str]
    layout: str
    first: int = 0


LANGUAGES = {
    "c": Language(c.write_c, c.LAYOUT),
    "cpp": Language(cpp.write_cpp, cpp.LAYOUT),
    "numpy": Language(numpy_code.write_numpy, numpy_code.LAYOUT),
    "matlab": Language(matlab.write_matlab, matlab.LAYOUT, first=1),
    "julia": Language(julia.write_julia, julia.LAYOUT, first=1),
    "casadi": Language(casadi_code.write_casadi, casadi_code.LAYOUT),
}
ALIASES = {"c99": "c", "c++": "cpp", "python": "numpy", "octave": "matlab"}


def export(
    robot: HasModel | Model,
    quantity: str,
    language: str = "c",
    *,
    dtype: str = "double",
    name: str | None = None,
    wrenches: bool = False,
    frame: str | None = None,
    free: Sequence[str] = (),
    libm: bool = False,
    driver: bool = False,
) -> str:
    """A quantity of the robot as the text of one self-contained function.

    Args:
        robot: the robot, or its model.
        quantity: one of those that kernels are compiled of, such as "inverse_dynamics".
        language: "c" (C99), "cpp" (a header), "numpy", "matlab" (and Octave), "julia", "casadi".
        dtype: "double" or "float".
        name: of the function; the robot and the quantity when None. It must be free in every
            language: "case" or "xor" is refused.
        wrenches: with F_ext, (links, 6), as the last argument of the state.
        frame: the frame of a pose or Jacobian; the tool when None.
        free: data that become arguments; see `kinetree.kernels.compile.compile_kernel`.
        libm: call sin and cos of the C library instead of those of the kernel, which are written
            out: less code, and results that differ from the kernel's where its sines do, by an ulp.
        driver: with a `main` that compares the function with stored results of the kernel to 2 eps
            (C only, with the kernel's sines).

    Returns:
        The text, which begins with a comment on names, units, conventions and operations. It has
        no date: the same robot gives the same text.
    """
    model = model_of(robot)
    spoken = _language(language)
    if dtype not in DTYPES:
        raise InputError(f"dtype is {dtype!r}; expected one of {', '.join(map(repr, DTYPES))}.")
    if libm and spoken not in (LANGUAGES["c"], LANGUAGES["cpp"]):
        raise InputError(f"libm is a choice of C and C++; {language!r} has its own sines.")
    if driver and (spoken is not LANGUAGES["c"] or libm):
        raise InputError(
            f"a test driver exists in C and with the kernel's sines, not in {language!r} with "
            f"libm={libm}; leave driver=False."
        )
    graph = trace_quantity(model, quantity, frame=frame, wrenches=wrenches, free=free)
    program = _program(model, quantity, graph, spoken, dtype, name, frame)
    program = replace(program, libm=libm)
    text = spoken.write(program)
    return text + write_driver(program, model) if driver else text


def _program(
    model: Model,
    quantity: str,
    graph: Graph,
    language: Language,
    dtype: str,
    name: str | None,
    frame: str | None,
) -> Program:
    words = [quantity] if frame is None else [quantity, frame]
    called = function_name(model.name, *words) if name is None else chosen_name(name)
    outputs = tuple(_lettered(port, graph) for port in graph.outputs)
    found = find_quantity(quantity)
    place = (frame or model.tool) if found.framed else None
    equation = found.doc
    if all(port.name != "F_ext" for port in graph.inputs):
        equation = equation.replace(" - J^T F_ext", "").replace(" + J^T F_ext", "")
    title = f"{called}: {equation}"
    about = About(title, quantity in WEIGHING, language.layout, language.first, place)
    lines = header(model, graph, outputs, about)
    return Program(called, graph, graph.inputs, outputs, dtype, tuple(lines))


def _lettered(port: Port, graph: Graph) -> Port:
    """The output under its letter, or under its own name where an argument has that letter."""
    letter, _ = RESULTS.get(port.name, (port.name, ""))
    taken = {given.name for given in graph.inputs}
    return replace(port, name=letter if letter not in taken else port.name)


def _language(name: str) -> Language:
    found = LANGUAGES.get(ALIASES.get(name, name)) if isinstance(name, str) else None
    if found is None:
        raise NameLookupError(f"there is no language {name!r}; choose {', '.join(LANGUAGES)}.")
    return found
