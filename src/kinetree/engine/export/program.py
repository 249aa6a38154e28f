"""Program: a function to write in some language, and the lines that all languages share.

Constants are written so that every language reads them back as the same float, bit by bit.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from kinetree.engine.compiler.graph import Graph, Port, Sweep
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
        self.graph.check_type(DTYPES[self.dtype], self.name)

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
    names, because reading an entry is slow. number: the type of numbers in C, in whose words loops
    are written; "": in a language without them.
    """

    expression: Callable[[Operation], str]
    literal: Callable[[float], str]
    element: Callable[[Port, int], str]
    assign: str = "{} = {}"
    load: bool = False
    number: str = ""


Read = Callable[[int, int], tuple[str, str]]


def statements(program: Program, spelling: Spelling) -> tuple[list[str], list[list[str]]]:
    """One statement for each node, in the graph's order, and the name of each entry of each output.

    Constants are written where they are used.
    """

    def read(port: int, k: int) -> tuple[str, str]:
        value = spelling.element(program.inputs[port], k)
        parts = [program.inputs[port].name, *map(str, indices(program.inputs[port], k))]
        return "_".join(parts) if spelling.load else value, value

    if program.graph.repeats() and not spelling.number:
        raise GraphError(
            f"{program.name} has a loop that is left when nothing is open any more, which is "
            "written in C only. Export it with language='c', or call the kernel from Python."
        )
    lines, names = body(program.graph, spelling, read, temporaries(program))
    return lines, [[names[k] for k in result] for result in program.graph.results]


def body(
    graph: Graph, spelling: Spelling, read: Read, fresh: Iterator[str]
) -> tuple[list[str], list[str]]:
    """The statements of a graph, and the names of its nodes; read: name and value of an input."""
    lines: list[str] = []
    names: list[str] = []
    for op, args, value in graph.nodes:
        arguments = [names[arg] for arg in args]
        if op == "const":
            literal = spelling.literal(value)  # type: ignore[arg-type]
            # in brackets: `a --1.0` would be a decrement
            names.append(f"({literal})" if literal.startswith("-") else literal)
            continue
        if op == "repeat":
            names.append(next(fresh))
            lines += loop(value, names[-1], arguments, spelling, fresh)  # type: ignore[arg-type]
            continue
        if op == "carried":
            names.append(f"{arguments[0]}[{value[1]}]")  # type: ignore[index]
            continue
        if op == "input":
            name, text = read(*value)  # type: ignore[misc]
        else:
            name, text = next(fresh), spelling.expression(OPERATIONS[op])
            if "{r}" in text:  # a statement
                lines.append("    " + text.format(*arguments, r=name))
                text = name
            else:
                text = OPERATIONS[op].written(text, *arguments)
        names.append(name)
        if name != text:
            lines.append(spelling.assign.format(name, text))
    return lines, names


def loop(
    sweep: Sweep, name: str, arguments: list[str], spelling: Spelling, fresh: Iterator[str]
) -> list[str]:
    """A loop in C; `name`: array of what it carries, behind which are the results of a scan."""
    ends = (sweep.carried, sweep.carried + sweep.fixed, sweep.size)
    start, fixed, rows = (arguments[a:b] for a, b in zip((0, *ends), ends, strict=False))
    lines = [f"    {spelling.number} {name}[{sweep.made}];"]
    lines += [f"    {name}[{k}] = {x};" for k, x in enumerate(start)]
    for part, values in (("fixed", fixed), ("rows", rows)):
        if values:
            array = f"    const {spelling.number} {name}_{part}[{len(values)}] = {{"
            lines.append(f"{array}{join(values, len(array))}}};")

    def read(port: int, k: int) -> tuple[str, str]:
        array = (name, f"{name}_fixed", f"{name}_rows")[port]
        return (
            f"{array}_{k}",
            f"{array}[{name}_k * {sweep.row} + {k}]" if port == 2 else f"{array}[{k}]",
        )

    inner, names = body(sweep.graph, spelling, read, fresh)
    test = "" if sweep.scans else f" && {name}[0] > 0"
    lines.append(f"    for (long {name}_k = 0; {name}_k < {sweep.rounds}{test}; {name}_k++) {{")
    lines += [f"    {line}" for line in inner]
    for k, node in enumerate(sweep.graph.results[0]):
        lines.append(f"        {name}[{k}] = {names[node]};")
    for k, node in enumerate(sweep.graph.results[1] if sweep.scans else ()):
        place = f"{sweep.carried} + {name}_k * {sweep.result} + {k}"
        lines.append(f"        {name}[{place}] = {names[node]};")
    return [*lines, "    }"]


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
