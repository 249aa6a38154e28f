"""Program: what is to be written in some language, and the lines that all languages share."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from kinetree.compiler.graph import Graph, Node, Port

WIDTH = 96  # of a line before it is broken
DOUBLE, FLOAT = "double", "float"
DTYPES = {DOUBLE: "float64", FLOAT: "float32"}  # as C calls them -> as NumPy does


@dataclass(frozen=True, eq=False)
class Program:
    """One function: its name, what it computes, and the comment that stands before it.

    `inputs` and `outputs` are the graph's ports under the names that the code gives them.
    """

    name: str
    graph: Graph
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    dtype: str
    header: tuple[str, ...]
    libm: bool = False  # sin and cos of the language's library instead of the kernel's

    @property
    def unread(self) -> list[Port]:
        """Inputs of which nothing is read; a strict compiler wants to hear that."""
        read = {node.value[0] for node in self.graph.nodes if node.op == "input"}  # type: ignore[index]
        return [port for k, port in enumerate(self.inputs) if k not in read]


@dataclass(frozen=True)
class Spelling:
    """How a language writes one operation.

    operations: templates over the arguments; literal: a constant; element: entry k of a port in
    row-major order; assign: the statement that gives a value its name; load: whether entries of
    inputs get names of their own, because reading one costs more than a name; pair: the statement
    that gives the sine and the cosine of an angle their names at once, where there is one; select:
    the statement that names the second or third argument by the sign of the first, in languages
    without an expression for it.
    """

    operations: Mapping[str, str]
    literal: Callable[[float], str]
    element: Callable[[Port, int], str]
    assign: str = "{} = {}"
    load: bool = False
    pair: str = ""
    select: str = ""


# what most languages share; a fused operation is spelled by each
ARITHMETIC = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "div": "{} / {}",
    "neg": "-{}",
}
UNFUSED = {"fma": "{} * {} + {}", "fms": "{} * {} - {}", "fnma": "{2} - {0} * {1}"}


def statements(program: Program, spelling: Spelling) -> tuple[list[str], list[list[str]]]:
    """One statement for each node, in the graph's order, and what each entry of each output is.

    Constants are written where they are used. No statement holds more than one operation of the
    graph, so that a compiler that fuses within expressions rounds as the kernel does.
    """
    lines: list[str] = []
    names: list[str] = []
    pairs: dict[int, dict[str, str]] = {}
    fresh = temporaries(program)
    for node in program.graph.nodes:
        if node.op == "const":
            literal = spelling.literal(node.value)  # type: ignore[arg-type]
            # a sign of its own must not meet the sign of an operation
            names.append(f"({literal})" if literal.startswith("-") else literal)
            continue
        if node.op == "input":
            port, k = program.inputs[node.value[0]], node.value[1]  # type: ignore[index]
            value = spelling.element(port, k)
            name = entry_name(port, k) if spelling.load else value
        elif spelling.pair and node.op in ("sin", "cos"):
            (angle,) = node.args
            if angle not in pairs:
                pairs[angle] = {"sin": next(fresh), "cos": next(fresh)}
                lines.append(spelling.pair.format(names[angle], **pairs[angle]))
            name = value = pairs[angle][node.op]
        elif spelling.select and node.op == "select":
            name = value = next(fresh)
            lines.append(spelling.select.format(name, *(names[arg] for arg in node.args)))
        else:
            name, value = next(fresh), formula(node, [names[arg] for arg in node.args], spelling)
        names.append(name)
        if name != value:
            lines.append(spelling.assign.format(name, value))
    return lines, [[names[k] for k in result] for result in program.graph.results]


def formula(node: Node, args: list[str], spelling: Spelling) -> str:
    """The right-hand side of a statement."""
    return spelling.operations[node.op].format(*args)


def temporaries(program: Program) -> Iterator[str]:
    """Names x0, x1, ... that no port has."""
    taken = {port.name for port in (*program.inputs, *program.outputs)}
    k = 0
    while True:
        if f"x{k}" not in taken:
            yield f"x{k}"
        k += 1


def entry_name(port: Port, k: int) -> str:
    """Name of one entry of an input: q_3, F_ext_0_5."""
    return "_".join([port.name, *map(str, indices(port, k))])


def indices(port: Port, k: int) -> list[int]:
    """Where entry k of a port stands, counted in row-major order."""
    found = []
    for length in reversed(port.shape):
        k, index = divmod(k, length)
        found.append(index)
    return found[::-1]


def join(parameters: list[str], used: int) -> str:
    """Parameters with commas; one a line where they do not fit behind `used` characters."""
    text = ", ".join(parameters)
    return text if used + len(text) <= WIDTH else "\n    " + ",\n    ".join(parameters)
