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
from kinetree.engine.compiler.interpret import interpret
from kinetree.engine.export.c import returns
from kinetree.engine.export.program import DTYPES, FLOAT, Program, library_name
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


TEXT = """\
/* Self-test of @NAME@: @COUNT@ states with results of the kernel in double.
 * Define KINETREE_SELF_TEST_MAIN for a program that prints the verdict. */

#include "@NAME@.h"

#include <float.h>
#include <math.h>

@TABLES@
/* largest difference as a share of the allowed one; huge where one is not a number */
static @KIND@ difference(
    const @KIND@ *found, const @KIND@ *expected, const @KIND@ *allowed, int count)
{
    @KIND@ error = 0;
    for (int i = 0; i < count; ++i) {
        const @KIND@ share = @ABS@(found[i] - expected[i]) / allowed[i];
        if (found[i] != found[i]) {
            error = @MOST@;
        } else if (share > error) {
            error = share;
        }
    }
    return error;
}

int @NAME@_self_test(@KIND@ *worst)
{
    *worst = 0;
    for (int k = 0; k < @COUNT@; ++k) {
        @KIND@ share;
@RESULTS@
        @CALL@;
@COMPARISONS@
    }
    return (*worst <= 1) ? 0 : 1;
}

#ifdef KINETREE_SELF_TEST_MAIN
#include <stdio.h>

int main(void)
{
    @KIND@ worst;
    const int verdict = @NAME@_self_test(&worst);
    printf("@COUNT@ states, largest difference %.2f of the allowed one: %s\\n",
        (double)worst, (verdict == 0) ? "passed" : "FAILED");
    return verdict;
}
#endif
"""


def self_test_text(program: Program, model: Model) -> str:
    """The file with stored states, the kernel's results, and the comparison."""
    given, expected = states(program, model)
    allowed = rounding(program, given, expected)
    tables: list[str] = []
    for port, values in zip(program.inputs, given, strict=True):
        tables += table(program, f"given_{port.name}", values)
    for port, values, most in zip(program.outputs, expected, allowed, strict=True):
        tables += table(program, f"expected_{port.name}", values)
        tables += table(program, f"allowed_{port.name}", most[None])
    compared = [
        f"        share = difference({x.name}_out, expected_{x.name}[k], allowed_{x.name}[0], "
        f"{x.size});\n        *worst = (share > *worst) ? share : *worst;"
        for x in program.outputs
    ]
    kind = program.dtype
    results = [f"        {kind} {x.name}_out[{x.size}];" for x in program.outputs]
    words = {
        "NAME": program.name,
        "KIND": program.dtype,
        "COUNT": str(STATES),
        "ABS": library_name(program.dtype, "fabs"),
        "MOST": "FLT_MAX" if program.dtype == FLOAT else "DBL_MAX",
        "TABLES": "\n".join(tables),
        "RESULTS": "\n".join(results),
        "CALL": call_text(program),
        "COMPARISONS": "\n".join(compared),
    }
    text = TEXT
    for word, value in words.items():
        text = text.replace(f"@{word}@", value)
    return text


def table(program: Program, name: str, values: Array) -> Iterator[str]:
    """A table of numbers in hexadecimal, which every C99 compiler reads bit by bit."""
    rows = values.astype(DTYPES[program.dtype]).reshape(len(values), -1).tolist()
    suffix = "f" if program.dtype == FLOAT else ""
    yield f"static const {program.dtype} {name}[{len(rows)}][{len(rows[0])}] = {{"
    yield from (f"    {{ {', '.join(x.hex() + suffix for x in row)} }}," for row in rows)
    yield "};"


def call_text(program: Program) -> str:
    """The call for state k."""
    passed = [f"given_{x.name}[k]" + ("" if x.shape else "[0]") for x in program.inputs]
    results = [f"{x.name}_out" for x in program.outputs]
    if returns(program):
        return f"{results[0]}[0] = {program.name}({', '.join(passed)})"
    return f"{program.name}({', '.join([*passed, *results])})"
