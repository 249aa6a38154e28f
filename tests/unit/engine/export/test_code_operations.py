"""Every operation that a graph can have, in every language that can be run here."""

import shutil
import subprocess

import numpy as np
import pytest

from kinetree.engine import OPERATIONS, Graph, Node, Port, interpret
from kinetree.engine.export.c import function_text
from kinetree.engine.export.program import Program
from kinetree.engine.export.scripts import write_casadi, write_matlab

COMPUTED = list(OPERATIONS)
POINTS = np.array([[0.5, 1.25, 2.0], [3.0, -0.125, -1.5], [0.25, 0.0, 7.0]])


def all_operations() -> Program:
    """Each operation on inputs and on a negative constant in every place; x[0] is positive."""
    nodes = [Node("input", (), (0, k)) for k in range(3)] + [Node("const", (), -0.75)]
    for op in COMPUTED:
        arity = OPERATIONS[op].arity
        places = [(0,)] if op in ("sqrt", "log") else [(0,), (1,), (2,), (3,)]
        if arity > 1:
            places = [tuple((k + j) % 4 for j in range(arity)) for k in range(4)]
        if op == "div":
            places = [(a, b) for a, b in places if b != 1]  # x[1] is zero once
        nodes += [Node(op, place) for place in places]
    size = len(nodes) - 4
    inputs, outputs = (Port("x_in", (3,)),), (Port("y", (size,)), Port("z", (2, 2)), Port("s", ()))
    results = (tuple(range(4, 4 + size)), (4, 5, 3, 6), (7,))
    graph = Graph(tuple(nodes), inputs, outputs, results)
    return Program("f", graph, inputs, outputs, ("all operations",))


PROGRAM = all_operations()
EXPECTED = [interpret(PROGRAM.graph, x) for x in POINTS]


def flat(results) -> list[float]:
    return [float(x) for result in results for x in np.ravel(result)]


def assert_close(found, expected):
    """One rounding of at most three: products are not fused everywhere, sines differ by an ulp."""
    assert len(found) == len(expected)
    assert np.allclose(found, expected, rtol=3 * np.finfo(float).eps, atol=1e-15)


def run(*command, folder):
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return [float(word) for word in done.stdout.split()]


def numbers(x) -> str:
    return ", ".join(map(repr, x.tolist()))


def test_c(tmp_path):
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    size = PROGRAM.outputs[0].size
    for x, expected in zip(POINTS, EXPECTED, strict=True):
        main = (
            f"\n#include <stdio.h>\nint main(void) {{\ndouble x[3] = {{{numbers(x)}}};\n"
            f"double y[{size}], z[4], s;\nf(x, y, z, &s);\n"
            f'for (int k = 0; k < {size}; ++k) printf("%.17g ", y[k]);\n'
            'for (int k = 0; k < 4; ++k) printf("%.17g ", z[k]);\nprintf("%.17g", s); return 0; }\n'
        )
        (tmp_path / "f.c").write_text(
            "#include <math.h>\n" + "\n".join(function_text(PROGRAM)) + main
        )
        run("gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "f.c", "-lm", folder=tmp_path)
        assert_close(run(tmp_path / "a.out", folder=tmp_path), flat(expected))


def test_octave(tmp_path):
    octave = shutil.which("octave-cli") or shutil.which("octave")
    if octave is None:
        pytest.skip("Octave is not installed")
    (tmp_path / "f.m").write_text(write_matlab(PROGRAM))
    for x, expected in zip(POINTS, EXPECTED, strict=True):
        script = f"[y, z, s] = f([{numbers(x)}]); printf('%.17g ', y, z', s);"
        found = run(octave, "--no-init-file", "--quiet", "--eval", script, folder=tmp_path)
        assert_close(found, flat(expected))


def test_casadi():
    pytest.importorskip("casadi", reason="CasADi is not installed")
    names = {}
    exec(write_casadi(PROGRAM), names)
    f = names["f"]()
    for x, expected in zip(POINTS, EXPECTED, strict=True):
        assert_close(flat(np.array(r) for r in f(x)), flat(expected))
