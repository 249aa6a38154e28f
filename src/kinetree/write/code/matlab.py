"""MATLAB and Octave: one function of vectors and matrices."""

from kinetree.compiler.graph import Port
from kinetree.write.code.numbers import double_literal
from kinetree.write.code.program import (
    ARITHMETIC,
    UNFUSED,
    Program,
    Spelling,
    indices,
    statements,
)

LAYOUT = "of their shapes; vectors are columns"

CALLS = {name: f"{name}({{}})" for name in ("sin", "cos", "sqrt", "sign")}
CLASSES = {"double": "double", "float": "single"}


def write_matlab(program: Program) -> str:
    """The text of a file named after the function."""
    spelling = Spelling(
        operations=ARITHMETIC | UNFUSED | CALLS,
        literal=double_literal,  # of class double, which gives way to single
        element=_element,
        assign="    {} = {};",
        select="    if {1} > 0, {0} = {2}; else, {0} = {3}; end",
    )
    body, results = statements(program, spelling)
    kind = CLASSES[program.dtype]
    outputs = ", ".join(port.name for port in program.outputs)
    outputs = f"[{outputs}]" if len(program.outputs) > 1 else outputs
    inputs = ", ".join(port.name for port in program.inputs)
    lines = [f"function {outputs} = {program.name}({inputs})"]
    lines += [f"% {line}".rstrip() for line in program.header]
    lines += [f"    {port.name} = {kind}({port.name});" for port in program.inputs]
    lines += body
    for port, result in zip(program.outputs, results, strict=True):
        lines.append(f"    {port.name} = zeros({_size(port)}, '{kind}');")
        lines += [f"    {_element(port, k)} = {name};" for k, name in enumerate(result)]
    return "\n".join([*lines, "end"]) + "\n"


def _element(port: Port, k: int) -> str:
    if not port.shape:
        return port.name
    return f"{port.name}({', '.join(str(i + 1) for i in indices(port, k))})"


def _size(port: Port) -> str:
    return ", ".join(map(str, port.shape if len(port.shape) > 1 else (*port.shape, 1, 1)[:2]))
