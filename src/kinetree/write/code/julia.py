"""Julia: one function of vectors and matrices; multiply-adds are fused as in the kernel."""

from functools import partial

from kinetree.compiler.graph import Port
from kinetree.write.code.numbers import julia_literal
from kinetree.write.code.program import (
    ARITHMETIC,
    Program,
    Spelling,
    indices,
    join,
    statements,
)

LAYOUT = "of their shapes"

OPERATIONS = ARITHMETIC | {
    "fma": "fma({}, {}, {})",
    "fms": "fma({}, {}, -{})",
    "fnma": "fma(-{}, {}, {})",
    "sin": "sin({})",
    "cos": "cos({})",
    "sqrt": "sqrt({})",
    "sign": "sign({})",
    "select": "ifelse({} > 0, {}, {})",
}
TYPES = {"double": "Float64", "float": "Float32"}


def write_julia(program: Program) -> str:
    """The text of a Julia file."""
    kind = TYPES[program.dtype]
    spelling = Spelling(
        operations=OPERATIONS,
        literal=partial(julia_literal, dtype=program.dtype),
        element=_element,
        assign="    {} = {}",
    )
    body, results = statements(program, spelling)
    lines = [f"# {line}".rstrip() for line in program.header]
    parameters = [_parameter(port) for port in program.inputs]
    lines += ["", f"function {program.name}({join(parameters, len(program.name) + 11)})"]
    lines += [
        f"    {port.name} = convert({_type(port, kind)}, {port.name})" for port in program.inputs
    ]
    lines += body
    for port, result in zip(program.outputs, results, strict=True):
        if not port.shape:
            lines.append(f"    {port.name} = {result[0]}")
            continue
        size = ", ".join(map(str, port.shape))
        lines.append(f"    {port.name} = zeros({kind}, {size})")
        lines += [f"    {_element(port, k)} = {name}" for k, name in enumerate(result)]
    lines.append(f"    return {', '.join(port.name for port in program.outputs)}")
    return "\n".join([*lines, "end"]) + "\n"


def _parameter(port: Port) -> str:
    kind = f"AbstractArray{{<:Real, {len(port.shape)}}}" if port.shape else "Real"
    return f"{port.name}::{kind}"


def _type(port: Port, kind: str) -> str:
    return f"Array{{{kind}, {len(port.shape)}}}" if port.shape else kind


def _element(port: Port, k: int) -> str:
    if not port.shape:
        return port.name
    return f"{port.name}[{', '.join(str(i + 1) for i in indices(port, k))}]"
