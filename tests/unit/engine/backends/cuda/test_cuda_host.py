"""Emitted CUDA C++ on the CPU: the interpreter's bits, in every part of a tile and any layout."""

import numpy as np
import pytest
from cuda_harness import compile_for_gpu, functions_graph, run_on_host, special_pairs, states

import kinetree as kt
from exact_graphs import interpret
from kinetree import scalars
from kinetree.engine import OPERATIONS, Graph, Kernel, Node, Port, optimise, trace
from kinetree.engine.cuda.emit import emit
from kinetree.engine.kernels import trace_quantity
from tensor_robots import rubbing, sprung

DTYPES = ("float32", "float64")


def every_operation() -> Graph:
    """One element for each operation; constants of all kinds; leaves as results."""
    nodes = [Node("input", (), (0, k)) for k in range(3)] + [Node("input", (), (1, 0))]
    nodes += [Node("const", (), x) for x in (0.1, -2.0, -1e-300, 1e30, float("inf"))]
    results = [4, 0, 8]
    for op, operation in OPERATIONS.items():
        count = operation.arity
        if count and op not in ("sin", "cos"):
            nodes.append(Node(op, (0, 3, 2)[:count]))
            results.append(len(nodes) - 1)
    nodes.append(Node("fnma", (4, 1, 5)))
    nodes.append(Node("mul", (6, 7)))
    results += [len(nodes) - 2, len(nodes) - 1]
    ports = Port("a", (3,), ("n",)), Port("b", (), ())
    return Graph(tuple(nodes), ports, (Port("r", (len(results),)),), (tuple(results),))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [1, 33])
def test_arithmetic_is_the_interpreters_bit_for_bit(dtype, count, tmp_path):
    graph = every_operation()
    given = states(graph, dtype, count)
    given[0][0] = 0.0, -0.0, np.nan
    (found,) = run_on_host(graph, dtype, given, tmp_path)
    (expected,) = interpret(graph, *given)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_have_the_cpus_bits(dtype, tmp_path):
    graph = functions_graph()
    given = special_pairs(dtype)
    (found,) = run_on_host(graph, dtype, [given], tmp_path)
    expected = Kernel(graph)(given)
    np.testing.assert_array_equal(found, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(expected)[numbers])


def test_a_singular_task_is_nan_as_on_the_cpu(tmp_path):
    """The other states have the bits of the CPU, too."""
    kernel = kt.robots.planar_2r().compile("task_space", rows=(3, 4))
    given = [np.array([[0.1, 0.2], [0.3, 0.0], [0.2, 1.0]]), np.ones((3, 2))]
    found = run_on_host(kernel.graph, "float64", given, tmp_path)
    for x, y in zip(found, kernel(*given), strict=True):
        np.testing.assert_array_equal(x.reshape(y.shape), y)
    assert np.isnan(found[2]).any(axis=(1, 2)).tolist() == [False, True, False]


@pytest.mark.parametrize("dtype", DTYPES)
def test_only_quotients_of_a_shared_zero_differ(dtype, tmp_path):
    """As docs/gpu.md says; elsewhere a shared divisor gives the CPU's bits."""
    nodes = [Node("input", (), (0, k)) for k in range(3)]
    nodes += [Node("div", (0, 2)), Node("div", (1, 2)), Node("div", (2, 1))]
    graph = Graph(tuple(nodes), (Port("a", (3,)),), (Port("r", (3,)),), ((3, 4, 5),))
    rows = np.random.default_rng(1).normal(size=(200, 3)).astype(dtype)
    rows[7, 2] = 0
    (found,) = run_on_host(graph, dtype, [rows], tmp_path)
    with np.errstate(all="ignore"):
        expected = Kernel(graph)(rows)
    assert np.isinf(expected[7, :2]).all() and np.isnan(found[7, :2]).all()
    assert found[7, 2] == expected[7, 2] == 0
    np.testing.assert_array_equal(np.delete(found, 7, 0), np.delete(expected, 7, 0))


@pytest.mark.parametrize(
    ("robot", "name", "free", "dtype"),
    [
        (kt.robots.panda, "inverse_dynamics", (), "float64"),
        (kt.robots.panda, "forward_dynamics", (), "float32"),
        (sprung, "forward_dynamics", ("springs",), "float64"),
        (sprung, "step_implicit_with_gains", (), "float32"),
        (rubbing, "inverse_dynamics", ("friction",), "float32"),
        (rubbing, "step_implicit", ("friction",), "float64"),
    ],
)
def test_a_robot_has_the_bits_of_its_cpu_kernel(robot, name, free, dtype, tmp_path):
    graph = trace_quantity(robot().model, name, free=free)
    given = states(graph, dtype, 40)
    expected = Kernel(graph)(*given)
    found = run_on_host(graph, dtype, given, tmp_path)
    for x, y in zip(found, expected if len(found) > 1 else [expected], strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("dtype", DTYPES)
def test_quotients_by_one_number_are_the_nearest(dtype, tmp_path):
    nodes = [Node("input", (), (0, k)) for k in range(3)]
    nodes += [Node("div", (0, 2)), Node("div", (1, 2))]
    ports = (Port("a", (3,), ("n",)),)
    graph = Graph(tuple(nodes), ports, (Port("r", (2,)),), ((3, 4),))
    assert "kt_quotient" in emit(graph, dtype)
    rng = np.random.default_rng(5)
    given = (rng.normal(size=(5000, 3)) * 10.0 ** rng.uniform(-9, 9, (5000, 3))).astype(dtype)
    (found,) = run_on_host(graph, dtype, [given], tmp_path)
    np.testing.assert_array_equal(found, given[:, :2] / given[:, 2:])


@pytest.mark.parametrize("dtype", DTYPES)
def test_large_angles_are_as_good(dtype, tmp_path):
    ports = [Port("q", (5,), ("n",))]
    graph = optimise(
        trace(lambda q: np.array([scalars.sin(x) for x in q], object), ports, [("s", ("n",))])
    )
    q = np.array([[1e5, -3e5, 1e7, 3e9, -1e15], [np.inf, -np.inf, np.nan, 0.0, -0.0]], dtype)
    (found,) = run_on_host(graph, dtype, [q], tmp_path)
    with np.errstate(invalid="ignore"):
        expected = np.sin(q.astype(float))
    np.testing.assert_allclose(found, expected, rtol=2 * np.finfo(dtype).eps)
    assert np.signbit(found[1, 4]) and not np.signbit(found[1, 3])


def test_nvcc_accepts_robots_functions_and_operations_without_a_warning(tmp_path):
    graph = trace_quantity(kt.robots.panda().model, "inverse_dynamics", wrenches=True)
    compile_for_gpu(emit(graph, "float64", "panda"), tmp_path)
    compile_for_gpu(
        emit(trace_quantity(kt.robots.panda().model, "forward_dynamics"), "float32"), tmp_path
    )
    compile_for_gpu(emit(functions_graph(), "float32", "functions"), tmp_path)
    compile_for_gpu(emit(every_operation(), "float64", "all"), tmp_path, "sm_75")
