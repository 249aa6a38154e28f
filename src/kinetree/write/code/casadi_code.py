"""CasADi: a Python function that builds a casadi.Function, for derivatives and optimisation."""

from kinetree.compiler.graph import Port
from kinetree.errors import InputError
from kinetree.write.code.numbers import double_literal
from kinetree.write.code.program import (
    ARITHMETIC,
    UNFUSED,
    Program,
    Spelling,
    statements,
)

LAYOUT = "of their shapes; of more than two dimensions, one below the other"

CALLS = {name: f"ca.{name}({{}})" for name in ("sin", "cos", "sqrt", "sign")}
CALLS["select"] = "ca.if_else({} > 0, {}, {})"


def write_casadi(program: Program) -> str:
    """The text of a Python module whose function returns a casadi.Function of the same name."""
    if program.dtype != "double":
        raise InputError("CasADi computes in double only; leave dtype='double'.")
    spelling = Spelling(
        operations=ARITHMETIC | UNFUSED | CALLS,
        literal=double_literal,
        element=_element,
        assign="    {} = {}",
        load=True,
    )
    body, results = statements(program, spelling)
    lines = [f"# {line}".rstrip() for line in program.header]
    lines += ["", "import casadi as ca", "", "", f"def {program.name}():"]
    lines += [f"    {p.name} = ca.SX.sym({p.name!r}, {_size(p)})" for p in program.inputs]
    lines += body
    for port, result in zip(program.outputs, results, strict=True):
        lines.append(f"    {port.name} = ca.SX({_size(port)})")
        lines += [f"    {_element(port, k)} = {name}" for k, name in enumerate(result)]
    given, found = ([port.name for port in ports] for ports in (program.inputs, program.outputs))
    lines.append("    return ca.Function(")
    lines.append(f"        {program.name!r}, {_list(given)}, {_list(found)}, {given!r}, {found!r}")
    return "\n".join([*lines, "    )"]) + "\n"


def _size(port: Port) -> str:
    rows, columns = _matrix(port)
    return f"{rows}, {columns}"


def _matrix(port: Port) -> tuple[int, int]:
    """Rows and columns; a stack of matrices is one matrix, block below block."""
    if len(port.shape) < 2:
        return port.size, 1
    return port.size // port.shape[-1], port.shape[-1]


def _element(port: Port, k: int) -> str:
    row, column = divmod(k, _matrix(port)[1])
    return f"{port.name}[{row}, {column}]"


def _list(names: list[str]) -> str:
    return f"[{', '.join(names)}]"
