"""The self-test of exported C: stored states, and results of the kernel in double.

It is a function that needs no operating system. Every entry of a result has its own allowed
difference, from its own largest value in all states and from what rounding of the arguments and
operations in the program's type makes of it: results that are sensitive to rounding, or are nothing
but rounding, such as residuals, get more room, and small entries beside large ones get little.
"""

from collections.abc import Iterator

import numpy as np

from kinetree import dynamics
from kinetree.core.arrays import Array
from kinetree.engine.compiler.graph import Port
from kinetree.engine.compiler.interpret import interpret
from kinetree.engine.export.c import returns
from kinetree.engine.export.program import DTYPES, FLOAT, Program, c_literal
from kinetree.engine.kernel import Kernel
from kinetree.engine.kernels.free import FREE, free_values
from kinetree.errors import InputError
from kinetree.model import Model

STATES = 8
ATTEMPTS = 100  # to draw states with finite results
ROUNDINGS = 4  # of the arguments, to see what becomes of them
ALLOWED = 16.0  # of the eps of the largest value of an entry, or of what rounding makes of it


def states(program: Program, model: Model) -> tuple[list[Array], tuple[Array, ...]]:
    """Random arguments, (STATES, *shape), and the results of the kernel, which are finite.

    Free data have the values of the model. States near singular positions of a mechanism, where
    results are NaN, are drawn again.
    """
    rng = np.random.default_rng(0)
    kernel = Kernel(program.graph, program.name)
    arguments = drawn(program, model, rng)
    for _ in range(ATTEMPTS):
        found = kernel(*arguments)
        results = found if isinstance(found, tuple) else (found,)
        finite = np.all([np.isfinite(x).reshape(STATES, -1).all(axis=1) for x in results], axis=0)
        if finite.all():
            return arguments, results
        more = drawn(program, model, rng)
        for old, new in zip(arguments, more, strict=True):
            old[~finite] = new[~finite]
    raise InputError(
        f"{program.name} of {model.name!r} gives finite results at few positions, so that no test "
        "of the exported code can be written; export it without one."
    )


def drawn(program: Program, model: Model, rng: np.random.Generator) -> list[Array]:
    """Random arguments, (STATES, *shape)."""
    arguments: list[Array] = []
    for port in program.inputs:
        if port.name == "q":
            values = np.array([dynamics.random(model, rng) for _ in range(STATES)])
        elif port.name in FREE:
            values = np.broadcast_to(free_values(model, port.name), (STATES, *port.shape))
        else:
            values = rng.normal(size=(STATES, *port.shape))
        arguments.append(values.astype(DTYPES[program.dtype]).astype(float))
    return arguments


def self_test_text(program: Program, model: Model) -> str:
    """The file with stored states, the kernel's results, and the comparison."""
    given, expected = states(program, model)
    allowed = rounding(program, given, expected)
    lines = test_beginning(program.name, f"{STATES} states")
    for port, values in zip(program.inputs, given, strict=True):
        lines += table(program, port, values, "given")
    for port, values in zip(program.outputs, expected, strict=True):
        lines += table(program, port, values, "expected")
    for port, most in zip(program.outputs, allowed, strict=True):
        lines += limits(program, port, most)
    lines += ["", *comparison(program.dtype), *self_test(program), *main(program)]
    return "\n".join(lines) + "\n"


def test_beginning(name: str, what: str) -> list[str]:
    """The first lines of the file."""
    return [
        f"/* Self-test of {name}: {what} with results of the kernel in double.",
        " * Define KINETREE_SELF_TEST_MAIN for a program that prints the verdict. */",
        "",
        f'#include "{name}.h"',
        "",
        "#include <float.h>",
        "#include <math.h>",
        "#include <stdbool.h>",
        "",
    ]


def rounding(program: Program, arguments: list[Array], expected: tuple[Array, ...]) -> list[Array]:
    """Allowed difference of each entry: what rounding of arguments and operations makes of it.

    An entry that is zero in all states counts as large as the largest of the others, or 1.
    """
    kind, rng = DTYPES[program.dtype], np.random.default_rng(1)
    eps = float(np.finfo(kind).eps)
    sizes = [np.abs(y).reshape(STATES, -1).max(0) for y in expected]
    allowed = [eps * np.where(x > 0, x, x.max(initial=0.0) or 1.0) for x in sizes]
    for _ in range(ROUNDINGS):
        rounded = [(x * (1 + eps * rng.uniform(-1, 1, x.shape))).astype(kind) for x in arguments]
        for k, x in enumerate(interpret(program.graph, *rounded)):
            error = np.abs(np.asarray(x, float) - expected[k]).reshape(STATES, -1)
            allowed[k] = np.maximum(allowed[k], np.where(np.isfinite(error), error, 0.0).max(0))
    return [ALLOWED * x for x in allowed]


def table(program: Program, port: Port, values: Array, word: str) -> Iterator[str]:
    """A table of numbers in hexadecimal, which every C99 compiler reads bit by bit."""
    rows = values.astype(DTYPES[program.dtype]).reshape(len(values), -1).tolist()
    yield f"static const {program.dtype} {word}_{port.name}[{len(rows)}][{port.size}] = {{"
    for row in rows:
        yield f"    {{ {', '.join(_exact(x, program.dtype) for x in row)} }},"
    yield "};"


def limits(program: Program, port: Port, allowed: Array) -> Iterator[str]:
    """A table of allowed differences, one for each entry of a result."""
    numbers = [c_literal(float(f"{x:.3g}"), program.dtype) for x in allowed]
    yield f"static const {program.dtype} allowed_{port.name}[{port.size}] = {{"
    yield f"    {', '.join(numbers)}"
    yield "};"


def _exact(value: float, dtype: str) -> str:
    suffix = "f" if dtype == FLOAT else ""
    if value != value:
        return "NAN"
    if value in (float("inf"), float("-inf")):
        return "INFINITY" if value > 0 else "-INFINITY"
    return value.hex() + suffix


COMPARISON = """\
/* largest difference as a share of the allowed one; huge where only one of two numbers
 * is not a number */
static KIND difference(const KIND *found, const KIND *expected, const KIND *allowed, int count)
{
    KIND error = 0;
    for (int i = 0; i < count; ++i) {
        const bool unknown = expected[i] != expected[i];
        const bool strange = (found[i] != found[i]) != unknown;
        const bool same = unknown || (found[i] == expected[i]);
        const KIND share = ABS(found[i] - expected[i]) / allowed[i];
        if (strange) {
            error = MOST;
        } else if (!same && (share > error)) {
            error = share;
        }
    }
    return error;
}
"""
MAIN = """
#ifdef KINETREE_SELF_TEST_MAIN
#include <stdio.h>

int main(void)
{
    KIND worst;
    const int verdict = NAME_self_test(&worst);
    printf("WHAT, largest difference %.2f of the allowed one: %s\\n",
        (double)worst, (verdict == 0) ? "passed" : "FAILED");
    return verdict;
}
#endif"""


def comparison(kind: str) -> list[str]:
    """The function that compares the entries of one result."""
    words = ("fabsf", "FLT_MAX") if kind == FLOAT else ("fabs", "DBL_MAX")
    text = COMPARISON.replace("KIND", kind).replace("ABS", words[0]).replace("MOST", words[1])
    return text.split("\n")


def self_test(program: Program) -> list[str]:
    """The function that runs all states."""
    name, outputs, kind = program.name, program.outputs, program.dtype
    lines = [f"int {name}_self_test({kind} *worst)", "{", "    *worst = 0;"]
    lines.append(f"    for (int k = 0; k < {STATES}; ++k) {{")
    lines += [f"        {kind} {port.name}_out[{port.size}];" for port in outputs]
    lines += [f"        {kind} share;", f"        {call_text(program)}"]
    for port in outputs:
        tables = f"expected_{port.name}[k], allowed_{port.name}"
        lines += [
            f"        share = difference({port.name}_out, {tables}, {port.size});",
            "        *worst = (share > *worst) ? share : *worst;",
        ]
    return [*lines, "    }", "    return (*worst <= 1) ? 0 : 1;", "}"]


def call_text(program: Program) -> str:
    """The call for state k."""
    passed = [
        f"given_{port.name}[k]" if port.shape else f"given_{port.name}[k][0]"
        for port in program.inputs
    ]
    results = [f"{port.name}_out" for port in program.outputs]
    if returns(program):
        return f"{results[0]}[0] = {program.name}({', '.join(passed)});"
    return f"{program.name}({', '.join([*passed, *results])});"


def main(program: Program, what: str = f"{STATES} states") -> list[str]:
    """The program for machines with an output, in a guard; what: that was compared."""
    text = MAIN.replace("KIND", program.dtype).replace("NAME", program.name).replace("WHAT", what)
    return text.split("\n")
