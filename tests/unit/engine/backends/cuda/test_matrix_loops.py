"""Programs of loops over matrices: NumPy's numbers, and the same bits from every printer."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
from cuda_harness import compile_for_gpu

from kinetree.engine.compiler.loops import ADDRESS, INTEGER, Matrix, Vector
from kinetree.engine.cuda.loops import CLoops
from kinetree.engine.cuda.prelude import prelude
from kinetree.engine.llvm import engine
from kinetree.engine.llvm.loops import LlvmLoops
from kinetree.engine.llvm.target import host_target
from kinetree.optimal.riccati import ARGUMENTS as PLAN
from kinetree.optimal.riccati import Backward, Sizes

LANES = (1, 2, 4, 8)
N, M, K = 7, 5, 9  # unknowns, right sides, terms of sums
MEMORY = ("A", "B", "C", "E", "x", "y", "out")


def halve(code):
    """Another function of the module: halves a row of numbers, last first."""
    numbers = Vector(code.arguments["numbers"])
    with code.each(3, -1, -1) as i:
        numbers[i] = numbers[i] * 0.5


HALVE = [("numbers", ADDRESS)]


def padded(count, lanes):
    return -(-count // lanes) * lanes


def program(code):
    """Products, a solution, and loops of all kinds, on the arrays of `arrays`."""
    memory = {name: Vector(x) for name, x in code.arguments.items() if name in MEMORY}
    n, m = padded(N, code.lanes), padded(M, code.lanes)
    A, B, C = (Matrix(memory[name], width) for name, width in (("A", n), ("B", m), ("C", m)))
    E, x, y, out = Matrix(memory["E"], n + m), memory["x"], memory["y"], memory["out"]
    code.products(C, C, A, B, K, (N, m))
    code.products(E, None, A, A, K, (N, n), below=True)  # A^T A, its lower half
    with code.rows(0, N) as i:
        with code.each(0, i) as j:
            E[j, i] = E[i, j]
        E[i, i] = E[i, i] + 1.0
        with code.each(0, m, code.lanes) as j:
            E[i, j + n] = C.wide(i, j)
    code.combine(y, None, lambda k: x[k], B, K, m)
    code.factor(E, N, n + m, out)
    code.back_substitute(E, N, E.behind(0, n), m, out)
    out[0] = code.sum(M, lambda k: (y[k], y[k]))
    out[1] = code.largest(M, lambda k: abs(y[k]))
    count = code.arguments["count"]

    def fibonacci(k, a, b):
        return [b, a + b]

    out[2] = code.accumulate([code.value(0.0), code.value(1.0)], count, fibonacci)[0]
    with code.when((out[0] > 1.0) & ~(out[1] < 0.0)):
        out[3] = code.clip(code.sqrt(out[0]) - 2.0 / out[1], -1.0, 1.0)
    with code.each(0, 4) as i:  # each number needs the one before
        out[4 + i] = code.select(i.equals(1), code.to_real(i), -out[3 + i])
    out[12] = y[0]
    code.call("halve", out.behind(12).address)
    out[13] = out[12] + 1.0
    with code.each(3, -1, -2) as i:
        out[8 + i] = code.to_real(i) * out[4 + i]


def arrays(lanes):
    rng = np.random.default_rng(0)
    n, m = padded(N, lanes), padded(M, lanes)
    shapes = {"A": (K, N, n), "B": (K, M, m), "C": (N, M, m)}
    made = {name: np.zeros((rows, width)) for name, (rows, _, width) in shapes.items()}
    for name, (rows, columns, _) in shapes.items():
        made[name][:, :columns] = rng.normal(size=(rows, columns))
    made |= {"E": np.zeros((N, n + m)), "y": np.zeros(m), "out": np.zeros(16)}
    return {name: {**made, "x": rng.normal(size=K)}[name] for name in MEMORY}


# the backward pass of a plan of 3 steps, whose forces reach their limits

FORCES, RATES, STAGES = 4, 6, 3


def plan_sizes(lanes):
    return Sizes(RATES, FORCES, RATES, 1, 1, lanes, limited=True, columns=False)


def plan(code):
    places = ("mu", "linear", "curved", "limit error", "scale")
    Backward(code, plan_sizes(code.lanes), {name: k for k, name in enumerate(places)}).write()


def plan_arrays(lanes):
    rng, s = np.random.default_rng(4), plan_sizes(lanes)

    def block(rows, columns, width):
        x = np.zeros((rows, width))
        x[:, :columns] = rng.normal(size=(rows, columns))
        return x

    count = RATES + FORCES
    slopes = [
        (block(RATES, count, s.wide), block(1, count, s.wide), 0.1 * block(1, RATES, s.narrow))
        for _ in range(STAGES)
    ]
    J, V = block(count, count, s.wide), np.zeros((RATES, s.narrow))
    work = np.zeros(s.work["end"] + s.lanes)
    H = np.zeros((count, s.wide))
    H[:, :count] = J[:, :count].T @ J[:, :count]
    work[: H.size] = H.ravel()
    V[:, :RATES] = np.eye(RATES)
    return {
        "table": np.zeros(STAGES * s.row["end"]),
        "blocks": np.concatenate([x.ravel() for stage in slopes for x in stage]),
        "end": np.concatenate([V.ravel(), block(1, RATES, s.narrow)[0]]),
        "record": np.array([1e-3, 0, 0, 0, 0]),
        "low": np.full(FORCES, -0.2),
        "high": np.full(FORCES, 0.3),
        "work": work,
        "scatter": np.zeros(2),
    }


ARGUMENTS = [*((name, ADDRESS) for name in MEMORY), ("count", INTEGER)]
# program, arguments, arrays, whole numbers
PROGRAMS = {
    "matrices": (program, ARGUMENTS, arrays, lambda lanes: [30]),
    "plan": (plan, PLAN, plan_arrays, lambda lanes: [STAGES, plan_sizes(lanes).block["end"], 0]),
}


def run_llvm(case, lanes):
    write, arguments, make, whole = PROGRAMS[case]
    target, code = host_target(), LlvmLoops(lanes, "program", arguments, linkage="")
    write(code)
    helper = LlvmLoops(lanes, "halve", HALVE)
    halve(helper)
    text = f'target triple = "{target.triple}"\n{helper.text()}{code.text()}'
    loaded = engine.load(engine.assemble(text, target), target, ["program"])
    memory, counts = make(lanes), whole(lanes)
    types = [ctypes.c_void_p] * len(memory) + [ctypes.c_int64] * len(counts)
    function = ctypes.CFUNCTYPE(None, *types)(loaded.address("program"))
    function(*(x.ctypes.data for x in memory.values()), *counts)
    return memory


THREADS = """
#include <barrier>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>
static std::barrier<> all({lanes} * {warps});
static std::vector<std::unique_ptr<std::barrier<>>> some;
{program}
int main(int, char **names) {{
    std::vector<real> memory({size});
    real *at[] = {{{places}}};
    FILE *file = std::fopen(names[1], "rb");
    if (std::fread(memory.data(), sizeof(real), {size}, file) != {size}) return 1;
    std::fclose(file);
    std::vector<std::thread> threads;
    for (int k = 0; k < {warps}; k++)
        some.push_back(std::make_unique<std::barrier<>>({lanes}));
    for (int k = 0; k < {lanes} * {warps}; k++)
        threads.emplace_back([&, lane = k % {lanes}, warp = k / {lanes}] {{ program({given}); }});
    for (auto &thread : threads) thread.join();
    file = std::fopen(names[1], "wb");
    std::fwrite(memory.data(), sizeof(real), {size}, file);
    std::fclose(file);
}}
"""


def run_c(case, lanes, warps, folder):
    """The memory after the program as C, run by so many threads together.

    The sanitizer ends it where two of them use one number without a barrier between.
    """
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler to run the program with")
    write, arguments, make, whole = PROGRAMS[case]
    barriers = ("some[warp]->arrive_and_wait();", "all.arrive_and_wait();")
    if warps == 1:
        barriers = barriers[::-1]
    code = CLoops(lanes, "program", arguments, warps=warps, barriers=barriers)
    write(code)
    helper = CLoops(lanes, "halve", HALVE, warps=warps, barriers=barriers)
    halve(helper)
    memory = make(lanes)
    starts = np.cumsum([0, *(x.size for x in memory.values())])
    given = [f"at[{k}]" for k in range(len(memory))] + list(map(str, whole(lanes)))
    text = prelude("float64") + THREADS.format(
        lanes=lanes,
        warps=warps,
        program=helper.text() + code.text(),
        size=starts[-1],
        places=", ".join(f"&memory[{k}]" for k in starts[:-1]),
        given=", ".join(given + code.place("")),
    )
    source, binary, data = folder / "program.cpp", folder / "program", folder / "data"
    source.write_text(text)
    np.concatenate([x.ravel() for x in memory.values()]).tofile(data)
    command = [compiler, "-std=c++20", "-O1", "-ffp-contract=off", "-fsanitize=thread", "-pthread"]
    subprocess.run([*command, str(source), "-o", str(binary)], check=True, capture_output=True)
    subprocess.run([str(binary), str(data)], check=True, capture_output=True)
    parts = np.split(np.fromfile(data), starts[1:-1])
    pairs = zip(memory.items(), parts, strict=True)
    return {name: part.reshape(x.shape) for (name, x), part in pairs}


def results(memory):
    """The numbers of "matrices" that do not depend on the lanes."""
    n = memory["A"].shape[1]
    return memory["E"][:, n : n + M], memory["y"][:M], memory["out"]


@pytest.mark.parametrize("lanes", LANES)
def test_numbers_of_numpy(lanes):
    X, y, out = results(run_llvm("matrices", lanes))
    given = arrays(lanes)
    A, B, C = given["A"][:, :N], given["B"][:, :M], given["C"][:, :M]
    expected = np.linalg.solve(A.T @ A + np.eye(N), C + A.T @ B)
    np.testing.assert_allclose(X, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(y, given["x"] @ B, rtol=1e-13)
    np.testing.assert_allclose(out[:2], [y @ y, abs(y).max()], rtol=1e-14)
    assert out[2] == 832040  # the 30th number of Fibonacci
    last = np.clip(np.sqrt(out[0]) - 2 / out[1], -1, 1)
    assert (out[9], out[11]) == (1, 3)
    assert (out[12], out[13]) == (y[0] / 2, y[0] / 2 + 1)
    np.testing.assert_allclose(out[3:8], [last, -last, 1, -1, 1], rtol=1e-14)


def test_bits_do_not_depend_on_the_lanes():
    first = results(run_llvm("matrices", 1))
    for lanes in LANES[1:]:
        for a, b in zip(first, results(run_llvm("matrices", lanes)), strict=True):
            np.testing.assert_array_equal(a, b)


# plain C, the threads of a warp, those of several warps
@pytest.mark.parametrize(("lanes", "warps"), [(1, 1), (4, 1), (2, 3)])
@pytest.mark.parametrize("case", PROGRAMS)
def test_c_has_the_bits_of_llvm(case, lanes, warps, tmp_path):
    expected, computed = run_llvm(case, lanes), run_c(case, lanes, warps, tmp_path)
    for name, x in expected.items():
        np.testing.assert_array_equal(computed[name], x)
    assert np.isfinite(np.concatenate([x.ravel() for x in expected.values()])).all()


@pytest.mark.parametrize("case", PROGRAMS)
def test_gpu_compilers_accept_the_text(case, tmp_path):
    write, arguments, _, whole = PROGRAMS[case]
    code = CLoops(32, "program", arguments, "KT_FUNCTION", warps=2)
    write(code)
    helper = CLoops(32, "halve", HALVE, "KT_FUNCTION", warps=2)
    halve(helper)
    names = [name for name, kind in arguments if kind == ADDRESS]
    parameters = ", ".join(f"real *{name}" for name in names)
    call = (
        f"program({', '.join([*names, *map(str, whole(32))])}, threadIdx.x % 32, threadIdx.x / 32);"
    )
    entry = f"KT_ENTRY(64, 1) kt_program({parameters}) {{ {call} }}"
    text = f"{prelude('float64')}\n{helper.text()}\n{code.text()}\n{entry}\n"
    compile_for_gpu(text, tmp_path)
