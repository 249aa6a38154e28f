"""Program: a function to write in some language, and the lines that all languages share.

Constants are written so that every language reads them back as the same float, bit by bit.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.ops import OPERATIONS, Operation
from kinetree.errors import GraphError, InputError

WIDTH = 96  # characters of a line of parameters
DOUBLE, FLOAT = "double", "float"
DTYPES = {DOUBLE: "float64", FLOAT: "float32"}  # as C calls them -> as NumPy does


@dataclass(frozen=True, eq=False)
class Program:
    """One function: its name, the graph that it computes, and the comment before it.

    `inputs` and `outputs` are the graph's ports under the names that the code gives them.
    """

    name: str
    graph: Graph
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    header: tuple[str, ...]
    dtype: str = DOUBLE

    def __post_init__(self) -> None:
        if self.graph.repeats():
            raise GraphError(
                f"{self.name} is found by a loop that is left when nothing is open any more; only "
                "straight-line code is written in other languages. Call the kernel from Python."
            )

    @property
    def unread(self) -> list[Port]:
        """Inputs that are not read, which strict compilers warn about."""
        read = {node.value[0] for node in self.graph.nodes if node.op == "input"}  # type: ignore[index]
        return [port for k, port in enumerate(self.inputs) if k not in read]


@dataclass(frozen=True)
class Spelling:
    """How a language writes one operation.

    expression: template of an operation. literal: a constant. element: entry k of a port in
    row-major order. assign: the statement that gives a value its name. load: entries of inputs get
    names, because reading an entry is slow.
    """

    expression: Callable[[Operation], str]
    literal: Callable[[float], str]
    element: Callable[[Port, int], str]
    assign: str = "{} = {}"
    load: bool = False


def statements(program: Program, spelling: Spelling) -> tuple[list[str], list[list[str]]]:
    """One statement for each node, in the graph's order, and the name of each entry of each output.

    Constants are written where they are used.
    """
    lines: list[str] = []
    names: list[str] = []
    fresh = temporaries(program)
    for node in program.graph.nodes:
        if node.op == "const":
            literal = spelling.literal(node.value)  # type: ignore[arg-type]
            # in brackets: `a --1.0` would be a decrement
            names.append(f"({literal})" if literal.startswith("-") else literal)
            continue
        if node.op == "input":
            port, k = program.inputs[node.value[0]], node.value[1]  # type: ignore[index]
            value = spelling.element(port, k)
            name = "_".join([port.name, *map(str, indices(port, k))]) if spelling.load else value
        else:
            operation, arguments = OPERATIONS[node.op], [names[arg] for arg in node.args]
            name, text = next(fresh), spelling.expression(operation)
            if "{r}" in text:  # a statement
                lines.append("    " + text.format(*arguments, r=name))
                value = name
            else:
                value = operation.written(text, *arguments)
        names.append(name)
        if name != value:
            lines.append(spelling.assign.format(name, value))
    return lines, [[names[k] for k in result] for result in program.graph.results]


def temporaries(program: Program) -> Iterator[str]:
    """Names x0, x1, ... that no port has."""
    taken = {port.name for port in (*program.inputs, *program.outputs)}
    k = 0
    while True:
        if f"x{k}" not in taken:
            yield f"x{k}"
        k += 1


def indices(port: Port, k: int) -> list[int]:
    """The indices of entry k of a port, in row-major order."""
    reversed_indices: list[int] = []
    for length in reversed(port.shape):
        k, index = divmod(k, length)
        reversed_indices.append(index)
    return reversed_indices[::-1]


def join(parameters: list[str], used: int) -> str:
    """Join parameters with commas; one a line if they do not fit after `used` characters."""
    text = ", ".join(parameters)
    return text if used + len(text) <= WIDTH else "\n    " + ",\n    ".join(parameters)


def double_literal(value: float) -> str:
    """The shortest decimal that is this float64."""
    return repr(float(value))


def single_digits(value: float) -> str:
    """The shortest decimal that is the float32 next to `value`."""
    with np.errstate(over="ignore"):
        single = np.float32(value)
    if not np.isfinite(single):
        raise InputError(f"the constant {value!r} does not fit a float; choose the dtype double.")
    text = str(single)
    return text if set(text) & set(".e") else f"{text}.0"


def c_literal(value: float, dtype: str) -> str:
    """A literal of C."""
    return double_literal(value) if dtype == "double" else f"{single_digits(value)}f"


def library_name(dtype: str, function: str) -> str:
    """Name of a function of the C library for a type."""
    return f"{function}{'f' if dtype == FLOAT else ''}"
