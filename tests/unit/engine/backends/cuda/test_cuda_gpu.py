"""CUDA kernels on a GPU; without one these tests skip."""

import numpy as np
import pytest
from cuda_harness import functions_graph, special_pairs, states

import kinetree as kt
from exact_graphs import interpret
from kinetree.engine import CudaKernel, Graph, Kernel, Node, Port, cache
from kinetree.engine.cuda import launch as toolkit
from kinetree.engine.kernels import kernel as compile_kernel
from kinetree.engine.kernels import trace_quantity
from kinetree.errors import InputError, ShapeError
from tensor_robots import arm, state

DTYPES = ("float32", "float64")
EPS = {"float32": 8 * 2.0**-23, "float64": 4 * 2.0**-52}


@pytest.fixture(scope="module")
def model():
    return kt.robots.planar_2r().model


def close(cp, found, expected, dtype):
    found = cp.asnumpy(found)
    assert found.dtype == expected.dtype == dtype and found.shape == expected.shape
    scale = np.max(np.abs(expected))
    np.testing.assert_allclose(found, expected, rtol=0, atol=EPS[dtype] * scale)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [1, 32, 33, 1000])
def test_same_numbers_as_the_cpu(cp, model, dtype, count):
    kernel = compile_kernel(model, "inverse_dynamics", target="cuda")
    given = states(kernel.graph, dtype, count, seed=count)
    out = cp.full((count, model.n), np.nan, dtype)
    assert kernel(*map(cp.asarray, given), out=out) is out
    close(cp, out, interpret(kernel.graph, *given)[0], dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("quantity", ["forward_dynamics", "inverse_dynamics_derivatives"])
@pytest.mark.parametrize("offset", [0, 1])
def test_blocks_and_what_is_left_of_them_have_the_cpus_bits(cp, dtype, quantity, offset):
    """Whole blocks come by bulk copies, the rest and arrays between 16 bytes by threads."""
    kernel = compile_kernel(kt.robots.panda().model, quantity, target="cuda")
    given = states(kernel.graph, dtype, 128 * 140 + 77)
    host = compile_kernel(kt.robots.panda().model, quantity)(*given)
    expected = host if isinstance(host, tuple) else (host,)
    arrays = []
    for x in given:
        room = cp.empty(x.size + offset, dtype)
        room[offset:] = cp.asarray(x).ravel()
        arrays.append(room[offset:].reshape(x.shape))
    for count in (127, 128, 129, 4000, len(given[0])):
        found = kernel(*(x[:count] for x in arrays))
        for x, y in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
            np.testing.assert_array_equal(x.get(), y[:count])


def test_reciprocals_are_the_nearest_for_every_fraction(cp):
    """float32: all fractions of numbers at both ends and in the middle of the range."""
    nodes = [Node("input", (), (0, 0)), Node("const", (), 1.0), Node("div", (1, 0))]
    nodes += [Node("const", (), 2.0), Node("mul", (2, 3)), Node("add", (2, 2))]
    graph = Graph(tuple(nodes), (Port("b", (1,)),), (Port("r", (2,)),), ((4, 5),))
    kernel = CudaKernel(graph, "reciprocals")
    assert "kt_reciprocal(n" in kernel.source("float32")
    for exponent in (1, 2, 126, 127, 128, 251, 252):
        bits = (exponent << 23) + cp.arange(2**23, dtype="uint32")
        b = bits.view("float32").reshape(-1, 1)
        for x in (b, -b):
            assert cp.array_equal(kernel(x), (2 * cp.asarray(1 / x.get())).repeat(2, 1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_have_the_cpus_bits_on_the_gpu(cp, dtype):
    given = special_pairs(dtype)
    found = cp.asnumpy(CudaKernel(functions_graph(), "functions")(cp.asarray(given)))
    expected = Kernel(functions_graph())(given)
    np.testing.assert_array_equal(found, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(expected)[numbers])


def test_batches_do_not_change_bits(cp, model):
    kernel = compile_kernel(model, "inverse_dynamics", target="cuda")
    given = [cp.asarray(x) for x in states(kernel.graph, "float64", 100)]
    whole = kernel(*given)
    for first in (0, 1, 37, 99):
        assert cp.array_equal(kernel(*(x[first:] for x in given)), whole[first:])


def test_several_outputs_wrenches_and_free_data(cp, model):
    for name, options in (
        ("inverse_dynamics_derivatives", {}),
        ("inverse_dynamics", {"wrenches": True}),
        ("inverse_dynamics", {"free": ["mass"]}),
    ):
        kernel = compile_kernel(model, name, **options, target="cuda")
        given = states(kernel.graph, "float64", 65)
        found = kernel(*map(cp.asarray, given))
        found = found if isinstance(found, tuple) else (found,)
        for x, y in zip(found, interpret(kernel.graph, *given), strict=True):
            close(cp, x, y, "float64")


def test_leading_axes_broadcast(cp, model):
    kernel = compile_kernel(model, "inverse_dynamics", target="cuda")
    rng = np.random.default_rng(0)
    q, dq, ddq = rng.normal(size=(4, 1, 2)), rng.normal(size=(3, 2)), rng.normal(size=2)
    close(
        cp,
        kernel(*map(cp.asarray, (q, dq, ddq))),
        interpret(kernel.graph, q, dq, ddq)[0],
        "float64",
    )
    assert kernel(cp.zeros((0, 2)), cp.zeros(2), cp.zeros(2)).shape == (0, 2)
    assert kernel(cp.zeros(2), cp.zeros(2), cp.zeros(2)).shape == (2,)


def test_any_strides_types_and_overlaps(cp, model):
    kernel = compile_kernel(model, "inverse_dynamics", target="cuda")
    q = cp.asarray(np.random.default_rng(1).normal(size=(50, 4)))
    view = q[::2, ::2]
    expected = kernel(view.copy(), view.copy(), view.copy())
    assert cp.array_equal(kernel(view, view, view), expected)
    shifted = q.ravel()[1:-1].reshape(-1, 2)
    wanted = kernel(shifted.copy(), shifted.copy(), shifted.copy())
    target = q.ravel()[2:].reshape(shifted.shape)
    assert cp.array_equal(kernel(shifted, shifted, shifted, out=target), wanted)
    whole = cp.arange(4).reshape(2, 2)
    assert kernel(whole, whole, whole).dtype == np.float64
    half = cp.ones((2, 2), cp.float16)
    assert kernel(half, half, half).dtype == np.float64


def test_the_current_stream_is_used(cp, model):
    kernel = compile_kernel(model, "inverse_dynamics", target="cuda")
    q = cp.ones((1000, 2))
    expected = kernel(q, q, q)
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        found = kernel(q, q, q)
    stream.synchronize()
    assert cp.array_equal(found, expected)


def test_bad_arguments_are_named(cp, model):
    kernel = compile_kernel(model, "inverse_dynamics", target="cuda")
    q = cp.zeros((5, 2))
    with pytest.raises(InputError):
        kernel(q, np.zeros((5, 2)), q)
    with pytest.raises(ShapeError):
        kernel(q, q)
    with pytest.raises(ShapeError):
        kernel(q, cp.zeros((5, 3)), q)
    with pytest.raises(ShapeError):
        kernel(q, cp.zeros((4, 2)), q)
    with pytest.raises(ShapeError):
        kernel(q, q, q, out=cp.zeros((4, 2)))
    with pytest.raises(InputError):
        kernel(q, q, q.astype(complex))


def test_code_is_kept_on_disk(cp, model, monkeypatch, tmp_path):
    monkeypatch.setenv("KINETREE_CACHE_DIR", str(tmp_path / "cuda"))
    graph = trace_quantity(model, "mass_matrix")
    CudaKernel(graph, "kept")(cp.zeros(2))
    assert cache.info().entries > 0
    monkeypatch.setattr(toolkit, "compile_source", None)  # a second compilation would fail
    CudaKernel(graph, "kept")(cp.zeros(2))


@pytest.mark.parametrize(("dtype", "top"), [("float64", 2.0**1022), ("float32", 2.0**126)])
def test_shared_divisors_at_the_ends_of_the_range(cp, dtype, top):
    """As docs/gpu.md says."""
    nodes = [Node("input", (), (0, k)) for k in range(3)]
    nodes += [Node("div", (0, 2)), Node("div", (1, 2))]
    graph = Graph(tuple(nodes), (Port("a", (3,)),), (Port("r", (2,)),), ((3, 4),))
    rows = np.random.default_rng(4).normal(size=(1000, 3)).astype(dtype)
    tiny = np.finfo(dtype).tiny
    rows[:5, 2] = 0, tiny / 4, np.inf, 1.5 * top, -0.0
    found = CudaKernel(graph, "quotients")(cp.asarray(rows)).get()
    assert np.isnan(found[[0, 1, 2, 4]]).all() and (found[3] == 0).all()
    np.testing.assert_array_max_ulp(found[5:], rows[5:, :2] / rows[5:, 2:], 1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("own", [True, False])
def test_a_graph_of_cupy_computes_what_lies_there_now(cp, dtype, own):
    """With out=, and with results from the pool of the stream."""
    kernel = arm().inverse_dynamics
    batches = [[x.astype(dtype) for x in state(arm(), kernel, (1000,))] for _ in range(3)]
    batches[1], batches[2] = [-x for x in batches[0]], [0.5 * x for x in batches[0]]
    arrays = [cp.asarray(x) for x in batches[0]]
    stream = cp.cuda.Stream(non_blocking=True)
    out = {"out": cp.zeros((1000, 2), dtype)} if own else {}
    cp.cuda.Device().synchronize()
    with stream:
        kept = [kernel(*arrays, **out) for _ in range(4)]  # the pool has memory for one more
        del kept
        stream.begin_capture()
        tau = kernel(*arrays, **out)
        graph = stream.end_capture()
    for batch in batches:
        for x, y in zip(arrays, batch, strict=True):
            x.set(y)
        graph.launch(stream)
        stream.synchronize()
        expected = kernel(*[cp.asarray(x) for x in batch])
        assert cp.array_equal(tau, expected)


def test_a_graph_of_torch(cp):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("torch was built without CUDA")
    kernel = arm().inverse_dynamics
    batch = [torch.from_numpy(x).cuda() for x in state(arm(), kernel, (1000,))]
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            kernel(*batch)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tau = kernel(*batch)
        power = (tau * batch[1]).sum(-1)
    for scale in (1.0, -2.0):
        fresh = [scale * torch.rand_like(x) for x in batch]
        for x, y in zip(batch, fresh, strict=True):
            x.copy_(y)
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(tau, kernel(*fresh))
        assert torch.equal(power, (kernel(*fresh) * fresh[1]).sum(-1))
    assert np.isfinite(power.cpu().numpy()).all()
