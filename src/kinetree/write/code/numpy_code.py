"""NumPy: one function that broadcasts over leading axes, and needs nothing but NumPy."""

from kinetree.compiler.graph import Port
from kinetree.write.code.numbers import double_literal
from kinetree.write.code.program import (
    ARITHMETIC,
    DTYPES,
    UNFUSED,
    Program,
    Spelling,
    indices,
    statements,
)

LAYOUT = "the last two axes; any axes of states stand before"

CALLS = {name: f"np.{name}({{}})" for name in ("sin", "cos", "sqrt", "sign")}
CALLS["select"] = "np.where({} > 0, {}, {})"


def write_numpy(program: Program) -> str:
    """The text of a Python module."""
    dtype = f"np.{DTYPES[program.dtype]}"
    number = "{}" if program.dtype == "double" else f"{dtype}({{}})"
    spelling = Spelling(
        operations=ARITHMETIC | UNFUSED | CALLS,
        literal=lambda value: number.format(double_literal(value)),
        element=_element,
        assign="    {} = {}",
        load=True,
    )
    body, results = statements(program, spelling)
    names = ", ".join(port.name for port in program.inputs)
    lines = [f"# {line}".rstrip() for line in program.header]
    lines += ["", "import numpy as np", "", "", f"def {program.name}({names}):"]
    lines += [f"    {port.name} = np.asarray({port.name}, {dtype})" for port in program.inputs]
    batches = [_batch(port) for port in program.inputs]
    lines.append(f"    batch = np.broadcast_shapes({', '.join(batches)})")
    lines += body
    for port, result in zip(program.outputs, results, strict=True):
        lines += _gather(port, result, dtype)
    lines.append(f"    return {', '.join(port.name for port in program.outputs)}")
    return "\n".join(lines) + "\n"


def _element(port: Port, k: int) -> str:
    return f"{port.name}[..., {', '.join(map(str, indices(port, k)))}]" if port.shape else port.name


def _batch(port: Port) -> str:
    return f"{port.name}.shape[:-{len(port.shape)}]" if port.shape else f"{port.name}.shape"


def _gather(port: Port, result: list[str], dtype: str) -> list[str]:
    """An array is made and filled, so that constants among the entries broadcast."""
    if not port.shape:
        return [f"    {port.name} = np.array(np.broadcast_to({result[0]}, batch))[()]"]
    shape = "".join(f", {n}" for n in port.shape)
    lines = [f"    {port.name} = np.empty((*batch{shape}), {dtype})"]
    for k, name in enumerate(result):
        lines.append(f"    {_element(port, k)} = {name}")
    return lines
