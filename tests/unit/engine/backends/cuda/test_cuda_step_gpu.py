"""robot.step on a GPU, with CuPy and torch; without a GPU these tests skip."""

import numpy as np
import pytest
from optimal_problems import METHODS

from tensor_robots import arm, flyer, sprung
from tensor_robots import state as arguments

# without LLVM the CPU takes NumPy's sines, which differ in the last bit
CLOSE = 1e2 * np.finfo(float).eps


def state(robot, count):
    rng = np.random.default_rng(3)
    q = np.array([robot.random(rng=k) for k in range(count)])
    return q, *rng.normal(size=(2, count, robot.n))


def close(found, expected, tolerance=CLOSE):
    for x, y in zip(found, expected, strict=True):
        x = x.get() if hasattr(x, "get") else x
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * max(1, np.abs(y).max()))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("robot", [arm(), sprung(), flyer()], ids=["arm", "springs", "flyer"])
def test_steps_of_cupy_arrays_are_those_of_the_cpu(cp, robot, method):
    x = state(robot, 70)
    expected = robot.step(*x, 0.01, method=method)
    moved = [cp.asarray(part) for part in x]
    for dt in (0.01, cp.asarray(0.01), cp.full(70, 0.01)):
        found = robot.step(*moved, dt, method=method)
        assert all(isinstance(part, cp.ndarray) for part in found)
        close(found, expected)
    into = tuple(cp.empty_like(part) for part in moved[:2])
    robot.step(*moved, 0.01, method=method, out=into)
    close(into, expected)


def test_a_kernel_for_cuda_takes_a_number_and_free_data(cp):
    robot = arm()
    x, mass = state(robot, 33), robot.model.m * 1.3
    kernel = robot.compile("step_implicit", free=["mass"], target="cuda")
    expected = robot.compile("step_implicit", free=["mass"])(*x, 0.01, mass)
    close(kernel(*map(cp.asarray, x), 0.01, cp.asarray(mass)), expected)
    single = [cp.asarray(part, "float32") for part in (*x, mass)]
    found = kernel(*single[:3], 0.01, single[3])
    assert all(part.dtype == "float32" for part in found)
    close(found, expected, 1e-5)


@pytest.mark.parametrize("method", ["implicit", "implicitfast"])
@pytest.mark.parametrize("robot", [arm(), sprung()], ids=["arm", "springs"])
def test_gradients_of_cuda_tensors_are_those_of_the_cpu(cp, robot, method):
    torch = pytest.importorskip("torch")
    slopes = []
    for device in ("cpu", "cuda"):
        leaves = [torch.tensor(part, device=device, requires_grad=True) for part in state(robot, 9)]
        dt = torch.tensor(0.01, dtype=torch.float64, device=device, requires_grad=True)
        q, dq = robot.step(*leaves, dt, method=method)
        found = torch.autograd.grad(q.sum() + (dq * dq).sum(), [*leaves, dt])
        slopes.append([x.cpu().numpy() for x in found])
    close(slopes[1], slopes[0])


@pytest.mark.parametrize("method", ["implicit", "implicitfast"])
def test_gains_on_the_gpu_are_those_of_the_cpu(cp, method):
    robot = sprung()
    x, kd = state(robot, 5), np.array([3.0, 200.0])
    expected = robot.step(*x, 0.01, method=method, kd=kd)
    close(robot.step(*map(cp.asarray, x), 0.01, method=method, kd=cp.asarray(kd)), expected)


@pytest.mark.parametrize(
    "name", ["inverse_dynamics", "forward_dynamics", "spring_forces", "potential_energy"]
)
def test_quantities_with_springs_are_those_of_the_cpu(cp, name):
    robot = sprung()
    for free in ((), ("springs",)):
        kernel = robot.compile(name, free=free, target="cuda")
        cpu = robot.compile(name, free=free)
        given = arguments(robot, cpu, (37,))
        close([kernel(*map(cp.asarray, given))], [cpu(*given)])
