"""CasADi and MATLAB: one function of matrices, written in each of them."""

from kinetree.engine.compiler.graph import Port
from kinetree.engine.compiler.ops import Operation
from kinetree.engine.export.program import (
    Program,
    Spelling,
    double_literal,
    indices,
    statements,
)

MATLAB_CLASSES = {"double": "double", "float": "single"}


def casadi_expression(operation: Operation) -> str:
    """The template of an operation."""
    word = operation.casadi or operation.infix or operation.c
    return f"ca.{word}" if word[0].isalpha() else word


def matlab_expression(operation: Operation) -> str:
    """The template of an operation; min and max of MATLAB and Octave would leave NaN out."""
    return operation.matlab or operation.infix or operation.c


def write_casadi(program: Program) -> str:
    """Write a Python module whose function returns a casadi.Function of the same name."""
    spelling = Spelling(
        casadi_expression,
        literal=double_literal,
        element=_casadi_element,
        assign="    {} = {}",
        load=True,
    )
    body, results = statements(program, spelling)
    lines = [f"# {line}".rstrip() for line in program.header]
    lines += ["", "import casadi as ca", "", "", f"def {program.name}():"]
    lines += [f"    {p.name} = ca.SX.sym({p.name!r}, {_casadi_size(p)})" for p in program.inputs]
    lines += body
    for port, result in zip(program.outputs, results, strict=True):
        lines.append(f"    {port.name} = ca.SX({_casadi_size(port)})")
        lines += [f"    {_casadi_element(port, k)} = {name}" for k, name in enumerate(result)]
    inputs, outputs = ([port.name for port in ports] for ports in (program.inputs, program.outputs))
    arguments = f"[{', '.join(inputs)}], [{', '.join(outputs)}], {inputs!r}, {outputs!r}"
    lines += ["    return ca.Function(", f"        {program.name!r}, {arguments}", "    )"]
    return "\n".join(lines) + "\n"


def _casadi_shape(port: Port) -> tuple[int, int]:
    """Rows and columns; CasADi has matrices only, so a stack of them is one below the other."""
    if len(port.shape) < 2:
        return port.size, 1
    return port.size // port.shape[-1], port.shape[-1]


def _casadi_size(port: Port) -> str:
    rows, columns = _casadi_shape(port)
    return f"{rows}, {columns}"


def _casadi_element(port: Port, k: int) -> str:
    row, column = divmod(k, _casadi_shape(port)[1])
    return f"{port.name}[{row}, {column}]"


def write_matlab(program: Program) -> str:
    """Write a file for MATLAB and Octave, to be named after the function."""
    spelling = Spelling(
        matlab_expression,
        literal=double_literal,  # double constants do not widen single operands in MATLAB
        element=_matlab_element,
        assign="    {} = {};",
    )
    body, results = statements(program, spelling)
    kind = MATLAB_CLASSES[program.dtype]
    outputs = ", ".join(port.name for port in program.outputs)
    outputs = f"[{outputs}]" if len(program.outputs) > 1 else outputs
    inputs = ", ".join(port.name for port in program.inputs)
    lines = [f"function {outputs} = {program.name}({inputs})"]
    lines += [f"% {line}".rstrip() for line in program.header]
    lines += [f"    {port.name} = {kind}({port.name});" for port in program.inputs]
    lines += body
    for port, result in zip(program.outputs, results, strict=True):
        shape = port.shape if len(port.shape) > 1 else (*port.shape, 1, 1)[:2]
        lines.append(f"    {port.name} = zeros({', '.join(map(str, shape))}, '{kind}');")
        lines += [f"    {spelling.element(port, k)} = {name};" for k, name in enumerate(result)]
    return "\n".join([*lines, "end"]) + "\n"


def _matlab_element(port: Port, k: int) -> str:
    """An entry; MATLAB counts from 1."""
    if not port.shape:
        return port.name
    return f"{port.name}({', '.join(str(i + 1) for i in indices(port, k))})"
