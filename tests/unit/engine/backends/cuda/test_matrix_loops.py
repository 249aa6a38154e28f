"""Programs of loops over matrices: NumPy's numbers, and the same bits from every printer."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
from cuda_harness import compile_for_gpu
from optimal_problems import arm

from kinetree.engine.compiler.loops import ADDRESS, INTEGER, Matrix, Vector
from kinetree.engine.cuda.loops import CLoops
from kinetree.engine.cuda.prelude import prelude
from kinetree.engine.llvm import engine
from kinetree.engine.llvm.loops import LlvmLoops
from kinetree.engine.llvm.target import host_target
from kinetree.optimal import cuda, driver, ilqr

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


ARGUMENTS = [*((name, ADDRESS) for name in MEMORY), ("count", INTEGER)]
COUNT = 30


def run_llvm(lanes):
    target, code = host_target(), LlvmLoops(lanes, "program", ARGUMENTS, linkage="")
    program(code)
    helper = LlvmLoops(lanes, "halve", HALVE)
    halve(helper)
    text = f'target triple = "{target.triple}"\n{helper.text()}{code.text()}'
    loaded = engine.load(engine.assemble(text, target), target, ["program"])
    memory = arrays(lanes)
    types = [ctypes.c_void_p] * len(memory) + [ctypes.c_int64]
    function = ctypes.CFUNCTYPE(None, *types)(loaded.address("program"))
    function(*(x.ctypes.data for x in memory.values()), COUNT)
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
        threads.emplace_back([&, lane = k % {lanes}, warp = k / {lanes}] {{ {call} }});
    for (auto &thread : threads) thread.join();
    file = std::fopen(names[1], "wb");
    std::fwrite(memory.data(), sizeof(real), {size}, file);
    std::fclose(file);
}}
"""


BARRIERS = ("some[warp]->arrive_and_wait();", "all.arrive_and_wait();")


def barriers(warps):
    return BARRIERS if warps > 1 else BARRIERS[::-1]


def run_threads(text, call, memory, lanes, warps, folder):
    """The memory after a call, a statement of C++ that so many threads run together.

    `at` has the addresses of the arrays. The sanitizer ends the program where two threads use one
    number without a barrier between.
    """
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler to run the program with")
    starts = np.cumsum([0, *(x.size for x in memory.values())])
    places = ", ".join(f"&memory[{k}]" for k in starts[:-1])
    names = {"lanes": lanes, "warps": warps, "size": starts[-1], "places": places}
    source, binary, data = folder / "program.cpp", folder / "program", folder / "data"
    source.write_text(THREADS.format(program=text, call=call, **names))
    np.concatenate([x.ravel() for x in memory.values()]).tofile(data)
    command = [compiler, "-std=c++20", "-O1", "-ffp-contract=off", "-fsanitize=thread", "-pthread"]
    subprocess.run([*command, str(source), "-o", str(binary)], check=True, capture_output=True)
    subprocess.run([str(binary), str(data)], check=True, capture_output=True)
    parts = np.split(np.fromfile(data), starts[1:-1])
    pairs = zip(memory.items(), parts, strict=True)
    return {name: part.reshape(x.shape) for (name, x), part in pairs}


def run_c(lanes, warps, folder):
    """The memory after the program as C."""
    code = CLoops(lanes, "program", ARGUMENTS, warps=warps, barriers=barriers(warps))
    program(code)
    helper = CLoops(lanes, "halve", HALVE, warps=warps, barriers=barriers(warps))
    halve(helper)
    text, memory = prelude("float64") + helper.text() + code.text(), arrays(lanes)
    given = [f"at[{k}]" for k in range(len(memory))] + [str(COUNT), *code.place("")]
    return run_threads(text, f"program({', '.join(given)});", memory, lanes, warps, folder)


def results(memory):
    """The numbers of "matrices" that do not depend on the lanes."""
    n = memory["A"].shape[1]
    return memory["E"][:, n : n + M], memory["y"][:M], memory["out"]


@pytest.mark.parametrize("lanes", LANES)
def test_numbers_of_numpy(lanes):
    X, y, out = results(run_llvm(lanes))
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
    first = results(run_llvm(1))
    for lanes in LANES[1:]:
        for a, b in zip(first, results(run_llvm(lanes)), strict=True):
            np.testing.assert_array_equal(a, b)


# plain C, the threads of a warp, those of several warps
@pytest.mark.parametrize(("lanes", "warps"), [(1, 1), (4, 1), (2, 3)])
def test_c_has_the_bits_of_llvm(lanes, warps, tmp_path):
    expected, computed = run_llvm(lanes), run_c(lanes, warps, tmp_path)
    for name, x in expected.items():
        np.testing.assert_array_equal(computed[name], x)
    assert np.isfinite(np.concatenate([x.ravel() for x in expected.values()])).all()


def plans(problem, solver):
    """The memory of two plans before their first iteration."""
    x0, bounds = np.array([[0.3, -0.4, 0, 0], [1.0, 0.5, 0, 0]]), problem._bounds
    p = problem._data(2)
    u = np.zeros((problem.steps, 2, 2))
    memory = problem.solver.memory(problem.steps, 2)
    memory.limit(bounds)
    x = problem.solver.forward.motions(x0, u, p, bounds)
    for name, value in (("x", x), ("u", u), ("p", p)):
        memory.part(name)[: len(value)] = value
    memory.options[:] = 1e-9, 1
    memory.history[:] = np.nan
    memory.hessian, memory.scatter = solver.hessian, solver.scatter
    return memory


@pytest.mark.parametrize(("lanes", "warps"), [(1, 1), (4, 1), (2, 3)])
@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4"])
def test_iterations_as_c_have_the_bits_of_llvm(method, lanes, warps, tmp_path, monkeypatch):
    """Plans whose forces reach their limits; the columns of F by a kernel of their own for rk4."""
    if method == "rk4":
        monkeypatch.setattr("kinetree.optimal.transcription.LONGEST_JACOBIAN", 0)
    monkeypatch.setattr(ilqr, "WARP", lanes)
    problem = arm(limits=8.0, method=method)
    solver = ilqr.Solver(problem.transcription, True, "cuda")
    memory = plans(problem, solver)
    given = {name: getattr(memory, name) for name in driver.ARRAYS}
    given["scatter"] = given["scatter"].view(float)
    given["scratch"] = np.full(solver.sizes.scratch(problem.steps)["end"], np.nan)
    given = {name: np.array(x) for name, x in given.items()}
    text = cuda.functions(solver.sizes, solver.target.graphs, warps, "static", barriers(warps))
    addresses = ", ".join(f"(long long)at[{k}]" for k in range(len(driver.ARRAYS)))
    scratch, place = f"at[{len(driver.ARRAYS)}]", ["lane"] * (lanes > 1) + ["warp"] * (warps > 1)
    arguments = ", ".join(["(real *)words", scratch, scratch, "0", "2", "6", *place])
    call = (
        f"long long words[] = {{{problem.steps}, {ilqr.SLICE}, {addresses}}}; "
        f"{driver.SYMBOL}({arguments});"
    )
    found = run_threads(text, call, given, lanes, warps, tmp_path)
    fresh = plans(problem, problem.solver)
    fresh.solver.target.run(fresh, 6)
    for name in ("plans", "records", "costs", "history"):
        np.testing.assert_array_equal(found[name], getattr(fresh, name))
    assert (fresh.history[:, 0, 1] > 0).all() and np.isfinite(fresh.plans).all()


@pytest.mark.parametrize("limits", [None, 8.0])
def test_gpu_compilers_accept_iterations(limits, tmp_path):
    problem = arm(limits=limits)
    solver = ilqr.Solver(problem.transcription, limits is not None, "cuda")
    for warps in (1, 4):
        compile_for_gpu(solver.target.source(warps, shared=True), tmp_path)
