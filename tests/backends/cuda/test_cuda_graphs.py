"""Calls captured in CUDA graphs, of CuPy and of torch; without a GPU these tests skip."""

import numpy as np
import pytest

from tensor_robots import arm, state


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
