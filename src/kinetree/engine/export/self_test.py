"""Tests of exported C, with stored states and results of the kernel.

`write_driver` adds a `main` to C with the kernel's bits, which allows 2 eps for compilers that fuse
operations. The self-test for a target is a function that needs no operating system. Where the
target promises the bits of the kernel, results must be equal. Elsewhere every entry of a result has
its own allowed difference, from its own largest value in all states and from the error that the
same operations have in the program's type: results that are sensitive to rounding, or are nothing
but rounding, such as residuals, get more room, and small entries beside large ones get little.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from kinetree import dynamics
from kinetree.core.arrays import Array
from kinetree.engine.compiler.graph import Graph, Node, Port
from kinetree.engine.compiler.interpret import interpret
from kinetree.engine.export.c import returns
from kinetree.engine.export.program import DTYPES, FLOAT, Program, c_literal
from kinetree.engine.kernel import Kernel
from kinetree.engine.kernels.free import FREE, free_values
from kinetree.errors import InputError
from kinetree.files.description.joints import PRISMATIC
from kinetree.model import Model

STATES = 8
ATTEMPTS = 100  # to draw states with finite results
EPSILON = {"double": "DBL_EPSILON", "float": "FLT_EPSILON"}
TURNED = (22.0, 50.0, 88.0)  # rad, added to the angles of the last states
ALLOWED_EPS = 8.0  # allowed eps of an entry, and as many times the error of the same operations


def write_driver(program: Program, model: Model) -> str:
    """The text after the function: stored states, the kernel's results, and the main."""
    arguments, results = states(program, model)
    lines = ["", "#include <stdio.h>", ""]
    for port, values in zip(program.inputs, arguments, strict=True):
        lines += table(program, port, values, "given")
    for port, values in zip(program.outputs, results, strict=True):
        lines += table(program, port, values, "expected")
    return "\n".join([*lines, *driver_main(program)]) + "\n"


def states(program: Program, model: Model) -> tuple[list[Array], tuple[Array, ...]]:
    """Random arguments, (STATES, *shape), and the results of the kernel, which are finite.

    Free data have the values of the model. States near singular positions of a mechanism, where
    results are NaN, are drawn again.
    """
    rng = np.random.default_rng(0)
    kernel = Kernel(program.graph, program.name)
    arguments = drawn(program, model, rng)
    for _ in range(ATTEMPTS):
        results = several(kernel(*arguments))
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


def several(results: Any) -> tuple[Array, ...]:
    """The results of a kernel as a tuple, also of one that has a single result."""
    return results if isinstance(results, tuple) else (results,)


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
        arguments.append(values.astype(DTYPES[program.dtype]))
    return arguments


def self_test_text(program: Program, model: Model, *, same_bits: bool, fused: bool) -> str:
    """The file with stored states, the kernel's results, and the comparison.

    same_bits: the results should have the bits of the kernel in the program's type. fused:
    multiply-adds have one rounding.
    """
    stored = turned(program, model, states(program, model)[0])
    arguments = stored if same_bits else [x.astype(float) for x in stored]
    expected = several(Kernel(program.graph, program.name)(*arguments))
    graph = program.graph if fused else unfused(program.graph)
    allowed = None if same_bits else rounding(program, graph, stored, expected)
    kind, name = program.dtype, program.name
    precision = kind if same_bits else "double"
    lines = [f"/* Self-test of {name}: {STATES} states with results of the kernel in {precision}."]
    lines += [" * Define KINETREE_SELF_TEST_MAIN for a program that prints the verdict. */", ""]
    lines += [f'#include "{name}.h"', "", "#include <float.h>", "#include <math.h>"]
    lines += ["#include <stdbool.h>", ""]
    for port, values in zip(program.inputs, stored, strict=True):
        lines += table(program, port, values, "given")
    for port, values in zip(program.outputs, expected, strict=True):
        lines += table(program, port, values, "expected")
    for port, most in zip(program.outputs, allowed or (), strict=allowed is not None):
        lines += limits(program, port, most)
    exact = allowed is None
    lines += ["", *comparison(program, exact=exact), *self_test(program, exact=exact)]
    lines += main(program)
    return "\n".join(lines) + "\n"


def turned(program: Program, model: Model, stored: list[Array]) -> list[Array]:
    """The states, of which the last have angles of several turns: they need a correct reduction.

    Positions of robots with constraints stay as they are.
    """
    if model.constraints is not None:
        return stored
    angles = [
        joint.coords[0]
        for joint in model.joints
        if joint.follows is None and joint.screw is not None and joint.type != PRISMATIC
    ]
    arguments: list[Array] = []
    for port, values in zip(program.inputs, stored, strict=True):
        if port.name == "q":
            shift = np.zeros(values.shape)
            shift[-len(TURNED) :, angles] = np.array(TURNED)[:, None]
            values = (values + shift).astype(values.dtype)
        arguments.append(values)
    return arguments


def eps_of(program: Program, values: Array) -> Array:
    """The eps of the program's type times the largest value of each entry, (entries,).

    An entry that is zero in all states takes the largest value of the others, or 1.
    """
    known = np.where(np.isfinite(values), np.abs(values), 0.0).reshape(STATES, -1)
    size = known.astype(float).max(0)
    size = np.where(size > 0, size, size.max(initial=0.0) or 1.0)
    return float(np.finfo(DTYPES[program.dtype]).eps) * size


def rounding(
    program: Program, graph: Graph, arguments: list[Array], expected: tuple[Array, ...]
) -> list[Array]:
    """Allowed difference of each entry, from the error of the same operations in its type."""
    allowed: list[Array] = []
    with np.errstate(all="ignore"):
        results = interpret(graph, *arguments)
        for x, y in zip(results, expected, strict=True):
            error = np.abs(np.asarray(x, float) - y)
            error = np.where(np.isfinite(error), error, 0.0).reshape(STATES, -1)
            allowed.append(ALLOWED_EPS * (eps_of(program, y) + error.max(0)))
    return allowed


def unfused(graph: Graph) -> Graph:
    """The graph with a product and a sum in place of every fused operation."""
    nodes: list[Node] = []
    place: list[int] = []
    for node in graph.nodes:
        args = tuple(place[arg] for arg in node.args)
        if node.op in ("fma", "fms", "fnma"):
            nodes.append(Node("mul", args[:2]))
            product = len(nodes) - 1
            if node.op == "fnma":
                nodes.append(Node("sub", (args[2], product)))
            else:
                nodes.append(Node({"fma": "add", "fms": "sub"}[node.op], (product, args[2])))
        else:
            nodes.append(Node(node.op, args, node.value))
        place.append(len(nodes) - 1)
    results = tuple(tuple(place[i] for i in result) for result in graph.results)
    return graph.with_nodes(nodes, results)


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


def call_text(program: Program, ending: str) -> str:
    """The call for state k, whose results go to arrays of their names with an ending."""
    passed = [
        f"given_{port.name}[k]" if port.shape else f"given_{port.name}[k][0]"
        for port in program.inputs
    ]
    results = [f"{port.name}{ending}" for port in program.outputs]
    if returns(program):
        return f"        {results[0]}[0] = {program.name}({', '.join(passed)});"
    return f"        {program.name}({', '.join([*passed, *results])});"


def driver_main(program: Program) -> list[str]:
    """The program that runs all states."""
    dtype, outputs = program.dtype, program.outputs
    lines = ["", "int main(void)", "{", "    double worst = 0.0;"]
    lines.append(f"    for (int k = 0; k < {STATES}; ++k) {{")
    lines += [f"        {dtype} {port.name}[{port.size}];" for port in outputs]
    lines.append(call_text(program, ""))
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
        f"    worst /= {EPSILON[dtype]};",
        f'    printf("%d states, largest difference %.2f eps\\n", {STATES}, worst);',
        "    return worst <= 2.0 ? 0 : 1;",
        "}",
    ]
    return lines


def comparison(program: Program, *, exact: bool) -> list[str]:
    """The function that compares the entries of one result."""
    kind, f = program.dtype, "f" if program.dtype == FLOAT else ""
    most = "FLT_MAX" if kind == FLOAT else "DBL_MAX"
    parameters = [f"const {kind} *found", f"const {kind} *expected"]
    parameters += [] if exact else [f"const {kind} *allowed"]
    share = most if exact else f"fabs{f}(found[i] - expected[i]) / allowed[i]"
    rule = "equal numbers are required" if exact else "as a share of the allowed one"
    return [
        f"/* largest difference, {rule}; huge where only one of two",
        " * numbers is not a number */",
        f"static {kind} difference({', '.join(parameters)}, int count)",
        "{",
        f"    {kind} error = {c_literal(0, kind)};",
        "    for (int i = 0; i < count; ++i) {",
        "        const bool unknown = expected[i] != expected[i];",
        "        const bool strange = (found[i] != found[i]) != unknown;",
        "        const bool same = unknown || (found[i] == expected[i]);",
        f"        const {kind} share = {share};",
        "        if (strange) {",
        f"            error = {most};",
        "        } else if (!same && (share > error)) {",
        "            error = share;",
        "        } else {",
        "            /* no greater difference */",
        "        }",
        "    }",
        "    return error;",
        "}",
        "",
    ]


def self_test(program: Program, *, exact: bool) -> list[str]:
    """The function that runs all states."""
    name, outputs, kind = program.name, program.outputs, program.dtype
    lines = [f"int {name}_self_test({kind} *worst)", "{", f"    *worst = {c_literal(0, kind)};"]
    lines.append(f"    for (int k = 0; k < {STATES}; ++k) {{")
    lines += [f"        {kind} {port.name}_out[{port.size}];" for port in outputs]
    lines.append(f"        {kind} share;")
    lines.append(call_text(program, "_out"))
    for port in outputs:
        tables = f"expected_{port.name}[k]" + ("" if exact else f", allowed_{port.name}")
        lines += [
            f"        share = difference({port.name}_out, {tables}, {port.size});",
            "        if (share > *worst) {",
            "            *worst = share;",
            "        }",
        ]
    return [*lines, "    }", f"    return (*worst <= {c_literal(1, kind)}) ? 0 : 1;", "}"]


def main(program: Program, what: str = f"{STATES} states") -> list[str]:
    """The program for machines with an output, in a guard; what: that was compared."""
    return [
        "",
        "#ifdef KINETREE_SELF_TEST_MAIN",
        "#include <stdio.h>",
        "",
        "int main(void)",
        "{",
        f"    {program.dtype} worst;",
        f"    const int verdict = {program.name}_self_test(&worst);",
        f'    printf("{what}, largest difference %.2f of the allowed one: %s\\n",',
        '        (double)worst, (verdict == 0) ? "passed" : "FAILED");',
        "    return verdict;",
        "}",
        "#endif",
    ]
