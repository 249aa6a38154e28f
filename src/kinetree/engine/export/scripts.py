"""NumPy, CasADi, MATLAB and Julia: one function of arrays, written in each of them."""

from functools import partial

from kinetree.engine.compiler.graph import Port
from kinetree.engine.export.program import (
    ARITHMETIC,
    DTYPES,
    UNFUSED,
    Program,
    Spelling,
    double_literal,
    indices,
    join,
    julia_literal,
    statements,
)
from kinetree.errors import InputError

FUNCTIONS = ("sin", "cos", "sqrt", "sign", "exp", "log", "tanh", "abs")
NUMPY = {"atan2": "np.arctan2({}, {})", "min": "np.minimum({}, {})", "max": "np.maximum({}, {})"}
CASADI = {"abs": "ca.fabs({})", "atan2": "ca.atan2({}, {})"} | {
    op: f"ca.{word}({{}}, {{}})" for op, word in (("min", "fmin"), ("max", "fmax"))
}
# min and max of MATLAB and Octave would leave NaN out
MATLAB = {
    "select": "    if {1} > 0, {0} = {2}; else, {0} = {3}; end",
    "min": "    if {1} < {2} || isnan({1}), {0} = {1}; else, {0} = {2}; end",
    "max": "    if {1} > {2} || isnan({1}), {0} = {1}; else, {0} = {2}; end",
}
JULIA = ARITHMETIC | {
    "fma": "fma({}, {}, {})",
    "fms": "fma({}, {}, -{})",
    "fnma": "fma(-{}, {}, {})",
    "select": "ifelse({} > 0, {}, {})",
    "atan2": "atan({}, {})",
    "min": "min({}, {})",
    "max": "max({}, {})",
}
MATLAB_CLASSES = {"double": "double", "float": "single"}
JULIA_TYPES = {"double": "Float64", "float": "Float32"}


def calls(prefix: str = "") -> dict[str, str]:
    """Templates of the functions of one number, with a prefix such as "np."."""
    return {name: f"{prefix}{name}({{}})" for name in FUNCTIONS}


def write_numpy(program: Program) -> str:
    """Write a Python module; its function broadcasts over leading axes and needs only NumPy."""
    dtype = f"np.{DTYPES[program.dtype]}"
    number = "{}" if program.dtype == "double" else f"{dtype}({{}})"
    select = {"select": "np.where({} > 0, {}, {})"}
    spelling = Spelling(
        operations=ARITHMETIC | UNFUSED | calls("np.") | NUMPY | select,
        literal=lambda value: number.format(double_literal(value)),
        element=_numpy_element,
        assign="    {} = {}",
        load=True,
    )
    body, results = statements(program, spelling)
    names = ", ".join(port.name for port in program.inputs)
    lines = [f"# {line}".rstrip() for line in program.header]
    lines += ["", "import numpy as np", "", "", f"def {program.name}({names}):"]
    lines += [f"    {port.name} = np.asarray({port.name}, {dtype})" for port in program.inputs]
    batches = [
        f"{port.name}.shape[:-{len(port.shape)}]" if port.shape else f"{port.name}.shape"
        for port in program.inputs
    ]
    lines.append(f"    batch = np.broadcast_shapes({', '.join(batches)})")
    lines += body
    for port, result in zip(program.outputs, results, strict=True):
        lines += _numpy_result(port, result, dtype)
    lines.append(f"    return {', '.join(port.name for port in program.outputs)}")
    return "\n".join(lines) + "\n"


def _numpy_element(port: Port, k: int) -> str:
    return f"{port.name}[..., {', '.join(map(str, indices(port, k)))}]" if port.shape else port.name


def _numpy_result(port: Port, result: list[str], dtype: str) -> list[str]:
    """Lines that allocate an array and fill it, so that constant entries broadcast."""
    if not port.shape:
        return [f"    {port.name} = np.array(np.broadcast_to({result[0]}, batch))[()]"]
    shape = "".join(f", {n}" for n in port.shape)
    lines = [f"    {port.name} = np.empty((*batch{shape}), {dtype})"]
    return lines + [f"    {_numpy_element(port, k)} = {name}" for k, name in enumerate(result)]


def write_casadi(program: Program) -> str:
    """Write a Python module whose function returns a casadi.Function of the same name."""
    if program.dtype != "double":
        raise InputError("CasADi computes in double only; leave dtype at double.")
    select = {"select": "ca.if_else({} > 0, {}, {})"}
    spelling = Spelling(
        operations=ARITHMETIC | UNFUSED | calls("ca.") | CASADI | select,
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
        operations=ARITHMETIC | UNFUSED | calls() | {"atan2": "atan2({}, {})"},
        literal=double_literal,  # double constants do not widen single operands in MATLAB
        element=partial(_counted_element, brackets="()"),
        assign="    {} = {};",
        choices=MATLAB,
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


def write_julia(program: Program) -> str:
    """Write a Julia file; multiply-adds are fused as in the kernel."""
    kind = JULIA_TYPES[program.dtype]
    spelling = Spelling(
        operations=JULIA | calls(),
        literal=partial(julia_literal, dtype=program.dtype),
        element=partial(_counted_element, brackets="[]"),
        assign="    {} = {}",
    )
    body, results = statements(program, spelling)
    lines = [f"# {line}".rstrip() for line in program.header]
    parameters: list[str] = []
    conversions: list[str] = []
    for port in program.inputs:
        rank = len(port.shape)
        taken, kept = f"AbstractArray{{<:Real, {rank}}}", f"Array{{{kind}, {rank}}}"
        parameters.append(f"{port.name}::{taken if rank else 'Real'}")
        conversions.append(f"    {port.name} = convert({kept if rank else kind}, {port.name})")
    lines += ["", f"function {program.name}({join(parameters, len(program.name) + 11)})"]
    lines += [*conversions, *body]
    for port, result in zip(program.outputs, results, strict=True):
        if not port.shape:
            lines.append(f"    {port.name} = {result[0]}")
            continue
        lines.append(f"    {port.name} = zeros({kind}, {', '.join(map(str, port.shape))})")
        lines += [f"    {spelling.element(port, k)} = {name}" for k, name in enumerate(result)]
    lines.append(f"    return {', '.join(port.name for port in program.outputs)}")
    return "\n".join([*lines, "end"]) + "\n"


def _counted_element(port: Port, k: int, brackets: str) -> str:
    """An entry in languages that count from 1."""
    if not port.shape:
        return port.name
    left, right = brackets
    return f"{port.name}{left}{', '.join(str(i + 1) for i in indices(port, k))}{right}"
