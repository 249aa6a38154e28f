"""Derivatives of torch ask for no more than what moves."""

import pytest

from kinetree.engine.tensors.operation import operation_of
from kinetree.errors import InputError
from tensor_robots import arm

torch = pytest.importorskip("torch", reason="torch is not installed")


@pytest.mark.filterwarnings("ignore")  # what torch's own modules say when they are imported
def test_forward_mode_differentiates_along_what_moves_alone():
    robot = arm().with_payload(0.37)  # whose kernels no other test has differentiated
    kernel = robot.compile("bias_forces")
    q, dq, v = torch.rand(3, 2, dtype=torch.float64)
    with torch.autograd.forward_ad.dual_level():
        h = kernel(torch.autograd.forward_ad.make_dual(q, v), dq)
        slope = torch.autograd.forward_ad.unpack_dual(h).tangent
    assert list(operation_of(kernel._dispatch)._derived) == [("jvp", (0,))]
    step = 1e-6
    rate = (kernel(q + step * v, dq) - kernel(q - step * v, dq)) / (2 * step)
    assert torch.allclose(slope, rate, rtol=0, atol=1e-7 * rate.abs().max().item())


@pytest.mark.filterwarnings("ignore")
def test_graphs_of_torch_in_which_results_would_be_constants_are_refused():
    from torch.fx.experimental.proxy_tensor import make_fx

    kernel, q = arm().gravity_forces, torch.rand(2, dtype=torch.float64, requires_grad=True)
    tau = kernel(q)
    for record in (
        lambda: torch.func.linearize(kernel, q.detach()),
        lambda: make_fx(kernel)(q.detach()),
        lambda: make_fx(lambda v: torch.autograd.grad(tau, q, v))(torch.ones(2).double()),
    ):
        with pytest.raises(InputError, match="while torch records a graph"):
            record()
    assert torch.equal(kernel(q.detach()), tau)
