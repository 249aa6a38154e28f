"""Gradients of torch: against differences, of second order, mapped, and in forward mode."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.dynamics import tangent_map
from kinetree.scalars import sqrt
from tensor_robots import FREE, arm, flyer, state

torch = pytest.importorskip("torch", reason="torch is not installed")
gradcheck, gradgradcheck = torch.autograd.gradcheck, torch.autograd.gradgradcheck
# torch itself warns of what it uses when its forward mode is first used
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")

TWICE = ["inverse_dynamics", "forward_dynamics", "mass_matrix", "inverse_dynamics_derivatives"]


def tensors(robot, kernel, batch=()):
    return [torch.tensor(x, requires_grad=True) for x in state(robot, kernel, batch)]


@pytest.mark.parametrize("name", TWICE)
def test_second_derivatives_agree_with_differences(name):
    kernel = arm().compile(name)
    assert gradgradcheck(kernel, tensors(arm(), kernel))


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_gradients_along_wrenches_and_free_parameters(name):
    kernel = arm().compile(name, wrenches=True, free=FREE)
    given = tensors(arm(), kernel, (3,))  # a batch of states of one robot
    assert len(given) == 9 and gradcheck(kernel, given)


def test_quaternions_are_four_numbers():
    """Slopes along the coordinates, which the robot's tangent map takes to those along dq."""
    kernel = flyer().inverse_dynamics
    given = tensors(flyer(), kernel)
    assert gradcheck(kernel, given) and gradgradcheck(kernel, given, fast_mode=True)
    q, dq, ddq = (x.detach() for x in given)
    J = torch.func.jacrev(kernel)(q, dq, ddq)
    assert J.shape == (7, 8)
    along = flyer().derivative("inverse_dynamics", "q")(q.numpy(), dq.numpy(), ddq.numpy())
    tangents = np.asarray(tangent_map(flyer().model, q.numpy()), float)
    assert np.allclose(J.numpy() @ tangents, along, rtol=0, atol=1e-13 * abs(along).max())


def test_what_is_broadcast_gets_the_sum():
    kernel = arm().inverse_dynamics
    q, dq, ddq = (torch.tensor(x[0]) for x in state(arm(), kernel, (1,)))
    many = q.expand(5, 2).clone()
    dq.requires_grad_()
    (one,) = torch.autograd.grad(kernel(q, dq, ddq).sum(), dq)
    (five,) = torch.autograd.grad(kernel(many, dq, ddq).sum(), dq)
    assert torch.allclose(five, 5 * one, rtol=1e-14)


def test_only_what_is_asked_for_is_differentiated():
    q, dq, ddq = (torch.rand(2, dtype=torch.float64) for _ in range(3))
    ddq.requires_grad_()
    (M_row,) = torch.autograd.grad(arm().inverse_dynamics(q, dq, ddq)[0], ddq)
    assert torch.allclose(M_row, arm().mass_matrix(q)[0], rtol=1e-13)
    assert not arm().inverse_dynamics(q, dq, ddq.detach()).requires_grad


def test_one_of_several_results_may_go_unused():
    kernel = arm().inverse_dynamics_derivatives
    q = torch.rand(2, dtype=torch.float64, requires_grad=True)
    first, second = (kernel(q, q, q)[k].sum() for k in (0, 1))
    parts = [torch.autograd.grad(x, q)[0] for x in (first, second)]
    (both,) = torch.autograd.grad(sum(x.sum() for x in kernel(q, q, q)), q)
    assert torch.allclose(parts[0] + parts[1], both, rtol=1e-12)


def test_hessians_in_every_order_of_modes():
    q = torch.rand(2, dtype=torch.float64)
    f, rev, fwd = arm().potential_energy, torch.func.jacrev, torch.func.jacfwd
    found = [outer(inner(f))(q) for outer in (rev, fwd) for inner in (rev, fwd)]
    expected = torch.func.jacrev(arm().gravity_forces)(q)
    assert all(torch.allclose(H, expected, rtol=0, atol=1e-13) for H in found)


def test_mapped_axes_may_stand_anywhere():
    q, dq = torch.rand(2, 4, dtype=torch.float64), torch.rand(3, 2, dtype=torch.float64)
    rows = torch.func.vmap(arm().bias_forces, in_dims=(1, None))  # over the 4 columns of q
    h = torch.func.vmap(rows, in_dims=(None, 0))(q, dq)  # over the 3 rows of dq
    assert h.shape == (3, 4, 2)
    assert torch.equal(h, arm().bias_forces(q.T, dq[:, None]))


def test_mapped_axes_stand_before_those_of_a_batch():
    q, dq = torch.rand(5, 3, 2, dtype=torch.float64), torch.rand(5, 2, dtype=torch.float64)
    h = torch.func.vmap(arm().bias_forces)(q, dq)
    assert torch.equal(h, arm().bias_forces(q, dq[:, None]))


def test_gradients_of_many_samples():
    q = torch.rand(6, 2, dtype=torch.float64)
    g = torch.func.vmap(torch.func.grad(arm().potential_energy))(q)
    assert torch.allclose(g, arm().gravity_forces(q), rtol=0, atol=1e-14)


def test_float32_has_gradients_too():
    q = torch.rand(6, 2, requires_grad=True)
    arm().potential_energy(q).sum().backward()
    g = arm().gravity_forces(q.detach().double())
    assert q.grad.dtype is torch.float32
    assert torch.allclose(q.grad.double(), g, rtol=0, atol=16 * 2**-23 * g.abs().max())


def test_kernels_of_functions_of_ones_own_have_gradients_too():
    """The gradient of |a - b|^3, and its Jacobian as torch finds it."""
    cube = kt.kernels.derivative(
        lambda a, b: sqrt((a - b) @ (a - b)) ** 3, "a", kind="gradient", shapes={"a": 3, "b": 3}
    )
    a, b = torch.rand(2, 4, 3, dtype=torch.float64, generator=torch.manual_seed(0))
    r = (a - b).norm(dim=-1, keepdim=True)
    assert torch.allclose(cube(a, b), 3 * r * (a - b), rtol=1e-13)
    assert gradcheck(cube, (a.requires_grad_(), b.requires_grad_()))


def test_memory_that_was_changed_after_the_call_is_noticed():
    q = torch.rand(2, dtype=torch.float64, requires_grad=True)
    x = 1 * q
    U = arm().potential_energy(x)
    x.add_(1)
    with pytest.raises(RuntimeError):
        U.backward()


def used_in_every_way(robot, q):
    """A quantity, a frame, wrenches, free data and a derivative, as one number."""
    parts = (
        robot.potential_energy(q),
        robot.pose(q),
        robot.inverse_dynamics(q, q, q, q.new_zeros(2, 6)),
        robot.compile("mass_matrix", free=["mass"])(q, q.new_ones(2)),
        robot.derivative("gravity_forces")(q),
    )
    return sum(k * part.sum() for k, part in enumerate(parts, start=1))


@pytest.mark.filterwarnings("ignore")  # what torch.compile says while it works
def test_a_compiled_function_of_torch_may_contain_kernels():
    """Also of a robot that has made none yet: torch.compile does not look into their making."""
    q = torch.rand(3, 2, dtype=torch.float64, requires_grad=True)
    robot = kt.Robot(arm().model)
    f = torch.compile(lambda x: used_in_every_way(robot, x), backend="eager")
    (slope,) = torch.autograd.grad(f(q), q)
    (expected,) = torch.autograd.grad(used_in_every_way(arm(), q), q)
    assert torch.allclose(slope, expected, rtol=0, atol=1e-12)
