"""Tensors of PyTorch in, the same kind out: the numbers of NumPy, and no copy on the way."""

import threading

import numpy as np
import pytest

import kinetree as kt
from kinetree.engine.tensors.operation import operation_of
from kinetree.errors import InputError
from tensor_robots import arm, flyer, state

torch = pytest.importorskip("torch", reason="torch is not installed")


def as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


def test_wrenches_by_place_and_by_name():
    q, dq, ddq = torch.rand(3, 2, dtype=torch.float64)
    F_ext = torch.rand(len(arm().model.links), 6, dtype=torch.float64)
    tau = arm().inverse_dynamics(q, dq, ddq, F_ext)
    expected = arm().inverse_dynamics(*(x.numpy() for x in (q, dq, ddq, F_ext)))
    assert np.array_equal(tau.numpy(), expected)
    assert torch.equal(arm().inverse_dynamics(q=q, dq=dq, ddq=ddq, F_ext=F_ext), tau)
    assert torch.equal(arm().inverse_dynamics(q, dq, ddq, None), arm().inverse_dynamics(q, dq, ddq))


def watched(monkeypatch, kernel):
    """The NumPy arrays that pass through a kernel."""
    operation, seen = operation_of(kernel._dispatch), []

    def call(*arrays, **options):
        results = as_tuple(kernel._dispatch.call(*arrays, **options))
        seen.append((arrays, results))
        return results if len(results) > 1 else results[0]

    monkeypatch.setattr(operation, "call", call)
    return seen


@pytest.mark.parametrize("grad", [False, True])
def test_nothing_is_copied(monkeypatch, grad):
    kernel = arm().compile("momentum_balance")
    seen = watched(monkeypatch, kernel)
    whole = torch.rand(6, 5, dtype=torch.float64)
    given = [whole[::2, k : k + 2] for k in (1, 2, 3)]  # every other row, some columns
    given[0] = given[0].requires_grad_(grad) if not grad else given[0].detach().requires_grad_()
    results = kernel(*given)
    ((arrays, made),) = seen
    assert [x.ctypes.data for x in arrays] == [x.data_ptr() for x in given]
    assert [x.strides for x in arrays] == [tuple(8 * n for n in x.stride()) for x in given]
    assert [x.data_ptr() for x in results] == [x.ctypes.data for x in made]


def test_leading_axes_broadcast_as_in_numpy():
    q, dq, ddq = torch.rand(5, 1, 2), torch.rand(4, 2), torch.rand(2)
    tau = arm().inverse_dynamics(q, dq, ddq)
    assert tau.shape == (5, 4, 2)
    assert np.array_equal(tau.numpy(), arm().inverse_dynamics(q.numpy(), dq.numpy(), ddq.numpy()))


@pytest.mark.parametrize("batch", [(0,), (3, 0)])
def test_no_states_give_no_results(batch):
    q = torch.zeros(*batch, 2, dtype=torch.float64, requires_grad=True)
    M = arm().mass_matrix(q)
    M.sum().backward()
    assert M.shape == (*batch, 2, 2) and q.grad.shape == q.shape


@pytest.mark.parametrize("kind", ["int64", "int32", "int16", "uint8", "bool"])
def test_integers_become_what_numpy_makes_of_them(kind):
    q = torch.tensor([1, 0]).to(getattr(torch, kind))
    M, expected = arm().mass_matrix(q), arm().mass_matrix(q.numpy())
    assert M.numpy().dtype == expected.dtype and np.array_equal(M.numpy(), expected)


def test_integers_and_plain_numbers_take_on_the_type_beside_them():
    q = torch.rand(2)
    tau = arm().inverse_dynamics(q, torch.tensor([1, 2]), [0.5, 0.25])
    expected = arm().inverse_dynamics(q, torch.tensor([1.0, 2.0]), torch.tensor([0.5, 0.25]))
    assert tau.dtype is torch.float32 and torch.equal(tau, expected)


def test_a_parameter_and_a_subclass_are_tensors():
    q = torch.nn.Parameter(torch.rand(2, dtype=torch.float64))

    class Mine(torch.Tensor):
        """As users derive them."""

    assert arm().gravity_forces(q).requires_grad
    plain = arm().gravity_forces(q.detach())
    assert torch.equal(arm().gravity_forces(q.detach().as_subclass(Mine)), plain)


def test_results_are_written_into_out():
    q = torch.rand(3, 2, dtype=torch.float64)
    out = torch.full((3, 4), np.nan, dtype=torch.float64)[:, 1:3]
    assert arm().gravity_forces(q, out=out) is out
    assert torch.equal(out, arm().gravity_forces(q))
    pair = torch.empty(3, 2, 2).double(), torch.empty(3, 2, 2).double()
    assert arm().inverse_dynamics_derivatives(q, q, q, out=pair) is pair
    assert torch.equal(pair[1], arm().inverse_dynamics_derivatives(q, q, q)[1])


def test_outputs_that_share_their_memory_are_refused():
    q = torch.rand(3, 2, dtype=torch.float64)
    with pytest.raises(InputError, match="is an expanded tensor"):
        arm().gravity_forces(q, out=torch.zeros(2).double().expand(3, 2))
    negated = torch.zeros(3, 2, dtype=torch.complex128).conj().imag
    with pytest.raises(InputError, match="is a negated view"):
        arm().gravity_forces(q, out=negated)
    single = torch.zeros(2).double().expand(1, 2)
    assert torch.equal(arm().gravity_forces(q[:1], out=single), arm().gravity_forces(q[:1]))


def test_gradients_through_numbers_that_out_has_replaced_are_refused():
    q, w = torch.rand(2, 2, dtype=torch.float64)
    buffer = torch.ones(2, dtype=torch.float64)
    total = (w.requires_grad_() * buffer).sum()
    arm().gravity_forces(q, out=buffer)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()
    with torch.inference_mode():
        assert arm().gravity_forces(q, out=torch.empty(2).double()).shape == (2,)


def test_large_batches_use_threads_and_keep_their_bits():
    kernel = flyer().mass_matrix
    q = np.tile(state(flyer(), kernel, (4,))[0], (kernel._dispatch.threaded_states, 1))
    with kt.kernels.threads(3):
        M = kernel(torch.from_numpy(q))
    with kt.kernels.threads(1):
        assert np.array_equal(M.numpy(), kernel(q))


def test_many_threads_may_call_at_once():
    robot = arm().with_gravity((0, -3, 0))  # nothing of it is compiled yet
    q = torch.rand(50, 2, dtype=torch.float64)
    found = [None] * 4

    def work(k):
        x = q.clone().requires_grad_()
        robot.potential_energy(x).sum().backward()
        found[k] = x.grad

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [w.start() for w in workers]
    [w.join() for w in workers]
    expected = robot.gravity_forces(q)  # g is the gradient of the potential energy
    assert all(torch.allclose(x, expected, rtol=0, atol=1e-13) for x in found)
