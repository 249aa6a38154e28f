"""Emitted CUDA C++ on the CPU: the interpreter's bits, in every part of a tile and any layout."""

import numpy as np
import pytest
from cuda_harness import compile_for_gpu, functions_graph, run_on_host, special_pairs, states

import kinetree as kt
from kinetree import scalars
from kinetree.engine import OPERATIONS, Graph, Kernel, Node, Port, interpret, optimise, trace
from kinetree.engine.cuda.emit import emit, state
from kinetree.engine.kernels import trace_quantity
from kinetree.errors import GraphError, InputError
from tensor_robots import rubbing, sprung

DTYPES = ("float32", "float64")


def every_operation() -> Graph:
    """One element for each operation; constants of all kinds; leaves as results."""
    nodes = [Node("input", (), (0, k)) for k in range(3)] + [Node("input", (), (1, 0))]
    nodes += [Node("const", (), x) for x in (0.1, -2.0, -1e-300, 1e30, float("inf"))]
    results = [4, 0, 8]
    for op, (count, _) in OPERATIONS.items():
        if count and op not in ("sin", "cos"):
            nodes.append(Node(op, (0, 3, 2)[:count]))
            results.append(len(nodes) - 1)
    nodes.append(Node("fnma", (4, 1, 5)))
    nodes.append(Node("mul", (6, 7)))
    results += [len(nodes) - 2, len(nodes) - 1]
    ports = Port("a", (3,), ("n",)), Port("b", (), ())
    return Graph(tuple(nodes), ports, (Port("r", (len(results),)),), (tuple(results),))


def arm(q, dq):
    """Sines of inputs and of a sum; a matrix, a vector of the size of q, and a number."""
    s = [scalars.sin(x) for x in q]
    c = scalars.cos(q[0] + q[1])
    matrix = np.array([[s[i] * dq[j] + c for j in range(4)] for i in range(2)], dtype=object)
    return matrix, np.array([s[k] * c - dq[k] for k in range(4)], dtype=object), c * dq[3]


def arm_graph() -> Graph:
    ports = [Port("q", (4,), ("n",)), Port("dq", (4,), ("n",))]
    outputs = [("A", ("m", "n")), ("v", ("n",)), ("e", ())]
    return optimise(trace(arm, ports, outputs))


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


def test_values_of_a_sparse_kernel_are_those_of_the_cpu(tmp_path):
    robot = kt.robots.planar_2r()
    kernel = robot.derivative("mass_matrix", sparse=True)
    given = [np.array([[0.1, 0.2], [0.3, 0.0], [0.2, 1.0]])]
    (found,) = run_on_host(kernel.graph, "float64", given, tmp_path)
    np.testing.assert_array_equal(found.reshape(3, -1), kernel(*given))
    assert (
        robot.derivative("mass_matrix", sparse=True, target="cuda").pattern.size
        == kernel.pattern.size
    )


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


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("budget", [0, 40])
def test_rows_in_tiles_and_in_place_give_the_kernels_bits(dtype, budget, tmp_path):
    graph = arm_graph()
    given = states(graph, dtype, 75)
    found = run_on_host(graph, dtype, given, tmp_path, budget=budget)
    for x, y in zip(found, Kernel(graph)(*given), strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("budget", [0, 40, 1792])
def test_each_warp_of_a_block_has_its_own_rows(dtype, budget, tmp_path):
    graph = arm_graph()
    given = states(graph, dtype, 300)
    found = run_on_host(graph, dtype, given, tmp_path, budget=budget, warps=4)
    for x, y in zip(found, Kernel(graph)(*given), strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_may_begin_at_any_number(dtype, tmp_path):
    graph = arm_graph()
    shifted = []
    for x in states(graph, dtype, 64):
        room = np.empty(x.size + 1, dtype)[1:].reshape(x.shape)
        room[...] = x
        shifted.append(room)
    found = run_on_host(graph, dtype, shifted, tmp_path)
    for x, y in zip(found, Kernel(graph)(*shifted), strict=True):
        np.testing.assert_array_equal(x, y)


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


def test_only_reciprocals_with_several_uses_and_pivots_leave_out_the_ends_of_the_range():
    """One quotient is IEEE's; 1/b that is used twice, and the last pivot, share the short way."""
    one, quotient = "kt_reciprocal(n", "kt_div("
    ports = (Port("a", (3,)),), (Port("r", (1,)),)
    nodes = [*[Node("input", (), (0, k)) for k in range(3)], Node("const", (), 1.0)]
    inverse = [*nodes, Node("div", (3, 0)), Node("mul", (4, 1)), Node("mul", (4, 2))]
    inverse += [Node("add", (5, 6))]
    text = state(Graph(tuple(inverse), *ports, ((7,),)), "float32")
    assert one in text and quotient not in text
    assert quotient in state(Graph(tuple(inverse), *ports, ((7,),)), "float64")
    single = [*nodes, Node("div", (3, 0)), Node("mul", (4, 1))]
    text = state(Graph(tuple(single), *ports, ((5,),)), "float32")
    assert quotient in text and one not in text
    text = state(trace_quantity(kt.robots.panda().model, "forward_dynamics"), "float64")
    assert text.count(quotient) == 3  # the inverses; the other pivots share the short way


def test_blocks_ask_ahead_only_where_memory_has_time():
    panda, planar = kt.robots.panda().model, kt.robots.planar_2r().model
    busy, idle = (trace_quantity(x, "inverse_dynamics") for x in (panda, planar))
    assert "kt_ahead<7>(p0" in emit(busy, "float32")
    assert "kt_ahead<7>(p0" not in emit(busy, "float64")
    assert "kt_ahead<2>(p0" not in emit(idle, "float32")


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


def test_bad_arguments_are_named():
    with pytest.raises(InputError, match="float16"):
        emit(arm_graph(), "float16")
    with pytest.raises(InputError, match="a b"):
        emit(arm_graph(), "float64", "a b")
    odd = Graph((Node("gamma"),), (), (Port("r", ()),), ((0,),))
    with pytest.raises(GraphError, match="gamma"):
        emit(odd)
