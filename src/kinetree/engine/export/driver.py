"""The test driver of exported C: a main that compares the function with the kernel's results."""

from collections.abc import Iterable

import numpy as np

from kinetree import algorithms
from kinetree.base.arrays import Array
from kinetree.engine.compiler.graph import Port
from kinetree.engine.export.c import returns
from kinetree.engine.export.program import DTYPES, Program
from kinetree.engine.kernel import Kernel
from kinetree.engine.kernels.free import FREE, free_values
from kinetree.errors import InputError
from kinetree.model import Model

STATES = 8
ATTEMPTS = 100  # to draw states with finite results
PLACES = {"double": "DBL_EPSILON", "float": "FLT_EPSILON"}


def write_driver(program: Program, model: Model) -> str:
    """The text after the function: stored states, the kernel's results, and the main."""
    given, results = states(program, model)
    lines = ["", "#include <stdio.h>", ""]
    for port, values in zip(program.inputs, given, strict=True):
        lines += _table(program, port, values)
    for port, values in zip(program.outputs, results, strict=True):
        lines += _table(program, port, values, "expected_")
    return "\n".join([*lines, *_main(program)]) + "\n"


def states(program: Program, model: Model) -> tuple[list[Array], tuple[Array, ...]]:
    """Random arguments, (STATES, *shape), and the results of the kernel, which are finite.

    Free data have the values of the model. States near singular positions of a mechanism, where
    results are NaN, are drawn again.
    """
    rng = np.random.default_rng(0)
    kernel = Kernel(program.graph, program.name)
    given = _drawn(program, model, rng)
    for _ in range(ATTEMPTS):
        found = kernel(*given)
        results = found if isinstance(found, tuple) else (found,)
        finite = np.all([np.isfinite(x).reshape(STATES, -1).all(axis=1) for x in results], axis=0)
        if finite.all():
            return given, results
        more = _drawn(program, model, rng)
        for old, new in zip(given, more, strict=True):
            old[~finite] = new[~finite]
    raise InputError(
        f"{program.name} of {model.name!r} gives finite results at few positions, so that no test "
        "of the exported code can be written; export it without one."
    )


def _drawn(program: Program, model: Model, rng: np.random.Generator) -> list[Array]:
    """Random arguments, (STATES, *shape)."""
    given: list[Array] = []
    for port in program.inputs:
        if port.name == "q":
            values = np.array([algorithms.random(model, rng) for _ in range(STATES)])
        elif port.name in FREE:
            values = np.broadcast_to(free_values(model, port.name), (STATES, *port.shape))
        else:
            values = rng.normal(size=(STATES, *port.shape))
        given.append(values.astype(DTYPES[program.dtype]))
    return given


def _table(program: Program, port: Port, values: Array, prefix: str = "given_") -> Iterable[str]:
    """A table of numbers in hexadecimal, which every C99 compiler reads bit by bit."""
    suffix = "f" if program.dtype == "float" else ""
    yield f"static const {program.dtype} {prefix}{port.name}[{STATES}][{port.size}] = {{"
    for row in values.reshape(STATES, -1).tolist():
        yield f"    {{{', '.join(x.hex() + suffix for x in row)}}},"
    yield "};"


def _main(program: Program) -> list[str]:
    dtype, outputs = program.dtype, program.outputs
    passed = [
        f"given_{port.name}[k]" if port.shape else f"given_{port.name}[k][0]"
        for port in program.inputs
    ]
    lines = ["", "int main(void)", "{", "    double worst = 0.0;"]
    lines.append(f"    for (int k = 0; k < {STATES}; ++k) {{")
    lines += [f"        {dtype} {port.name}[{port.size}];" for port in outputs]
    if returns(program):
        lines.append(f"        {outputs[0].name}[0] = {program.name}({', '.join(passed)});")
    else:
        lines.append(f"        {program.name}({', '.join([*passed, *(p.name for p in outputs)])});")
    for port in outputs:
        lines += [
            "        {",
            "            double error = 0.0, size = 0.0;",
            f"            for (int i = 0; i < {port.size}; ++i) {{",
            f"                const double expected = expected_{port.name}[k][i];",
            f"                error = fmax(error, fabs({port.name}[i] - expected));",
            "                size = fmax(size, fabs(expected));",
            f"                if ({port.name}[i] != {port.name}[i]) {{",
            '                    printf("not a number\\n");',
            "                    return 1;",
            "                }",
            "            }",
            "            worst = fmax(worst, size > 0.0 ? error / size : error);",
            "        }",
        ]
    lines += [
        "    }",
        f"    worst /= {PLACES[dtype]};",
        f'    printf("%d states, largest difference %.2f eps\\n", {STATES}, worst);',
        "    return worst <= 2.0 ? 0 : 1;",
        "}",
    ]
    return lines
