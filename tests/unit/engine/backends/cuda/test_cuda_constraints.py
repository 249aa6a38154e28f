"""Constrained quantities and rollouts in CUDA: the bits of the CPU, for built-in mechanisms.

Emitted code is compiled by a plain C++ compiler here, and by the GPU's where there is one: all
quantities of all mechanisms then, which takes about a minute.
"""

from functools import cache

import numpy as np
import pytest
from cuda_harness import run_on_host
from optimal_problems import METHODS

import kinetree as kt
from kinetree.engine import Kernel
from kinetree.engine.kernels import trace_quantity

QUANTITIES = (
    "constraint_errors",
    "constraint_jacobian",
    "constraint_bias",
    "constraint_impulse",
    "constrained_forward_dynamics",
    "constrained_inverse_dynamics",
    "reduced_dynamics",
    "forward_dynamics",
    "inverse_dynamics",
    "forward_dynamics_derivatives",
)
STARTS = {
    "slider_crank": (1.0, -1.3, -0.1),
    "four_bar": (1.57, -1.15, 1.7),
    "five_bar": (2.1, -1.05, 1.05, 1.05),
    "delta": (*(0.785, 1.18, 0.0) * 3, 0.0, 0.0, -0.6),
    "two_arms": (2.08, -1.91, -0.17, 1.06, 1.91, 0.17),
}
DTYPES = ("float64", "float32")
# twelve joints and three loops: 12,000 operations, tens of seconds for a compiler of CUDA
SLOW = {("delta", "forward_dynamics_derivatives")}
CASES = [(m, x) for m in STARTS for x in QUANTITIES if (m, x) not in SLOW]


@cache
def mechanism(name: str) -> kt.Robot:
    return getattr(kt.robots, name)()


@cache
def closed_states(name: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Closed positions around the start, and rates that the loops allow."""
    robot, rng = mechanism(name), np.random.default_rng(3)
    q = np.array(STARTS[name]) + 0.05 * rng.normal(size=(count, robot.n))
    q = kt.constraints.project(robot, q)
    return q, kt.constraints.project_rates(robot, q, rng.normal(size=(count, robot.n)))


def arguments(name: str, kernel, dtype: str, count: int) -> list[np.ndarray]:
    """Arguments of a kernel at closed states; forces and accelerations at random."""
    q, dq = closed_states(name, count)
    rng, known = np.random.default_rng(4), {"q": q, "dq": dq}
    given = [known.get(x.name, rng.normal(size=(count, *x.shape))) for x in kernel.graph.inputs]
    return [x.astype(dtype) for x in given]


def same_bits(found, expected) -> None:
    several = expected if isinstance(expected, tuple) else (expected,)
    for x, y in zip(found, several, strict=True):
        assert x.dtype == y.dtype and np.isfinite(y).all()
        np.testing.assert_array_equal(x, y)
        np.testing.assert_array_equal(np.signbit(x), np.signbit(y))


def on_host(name: str, quantity: str, dtype: str, folder) -> None:
    graph = trace_quantity(mechanism(name).model, quantity)
    kernel = Kernel(graph)
    given = arguments(name, kernel, dtype, 40)
    same_bits(run_on_host(graph, dtype, given, folder), kernel(*given))


@pytest.mark.parametrize("quantity", QUANTITIES[4:6])
def test_emitted_code_of_a_five_bar_has_the_bits_of_the_cpu(quantity, tmp_path):
    on_host("five_bar", quantity, "float64", tmp_path)


@pytest.mark.parametrize("name", ["four_bar", "two_arms"])
def test_emitted_code_has_the_bits_of_the_cpu_in_single_precision(name, tmp_path):
    on_host(name, "constrained_forward_dynamics", "float32", tmp_path)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "quantity"), CASES)
def test_a_gpu_has_the_bits_of_the_cpu(cp, name, quantity, dtype):
    robot = mechanism(name)
    cpu, gpu = robot.compile(quantity), robot.compile(quantity, target="cuda")
    given = arguments(name, cpu, dtype, 70)  # two warps and a part of one
    found = gpu(*map(cp.asarray, given))
    several = found if isinstance(found, tuple) else (found,)
    same_bits([cp.asnumpy(x) for x in several], cpu(*given))


@pytest.mark.parametrize("name", STARTS)
def test_a_gpu_satisfies_the_constraints(cp, name):
    """Not by way of the CPU: J ddq + gamma = 0 with J and gamma of the GPU itself."""
    robot = mechanism(name)
    names = "constrained_forward_dynamics", "constraint_jacobian", "constraint_bias"
    forward, jacobian, bias = (robot.compile(x, target="cuda") for x in names)
    q, dq, tau = map(cp.asarray, arguments(name, forward, "float64", 70))
    ddq, _, residual = forward(q, dq, tau)
    left = cp.einsum("sij,sj->si", jacobian(q), ddq) + bias(q, dq)
    size = 1 + float(cp.abs(ddq).max())
    assert float(cp.abs(left).max()) < 1e-9 * size
    assert float(cp.abs(residual).max()) < 1e-9 * size


ROLLOUT = {"duration": 0.02, "dt": 2e-3, "limits": "ignore"}


def same_motion(found, expected, rtol: float) -> None:
    """Motion, forces of the constraints and closure errors; the bits where rtol is 0."""
    assert found.t.tolist() == expected.t.tolist()
    (name,) = expected.meta["constraint_forces"]
    pairs = [(getattr(found, x), getattr(expected, x)) for x in ("q", "dq", "ddq", "tau")]
    pairs.append(tuple(x.meta["constraint_forces"][name] for x in (found, expected)))
    for x, y in pairs:
        np.testing.assert_allclose(x, y, rtol=0, atol=rtol * max(1, np.abs(y).max()))
    assert np.abs(found.meta["closure"]).max() < 1e-10


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["slider_crank", "four_bar", "five_bar", "two_arms"])
def test_rollouts_of_a_gpu_are_those_of_the_cpu(cp, name, method):
    """Twice: a later run like the first one may take a shorter way."""
    robot, (q, dq) = mechanism(name), closed_states(name, 70)
    expected = robot.simulate(q, dq, method=method, **ROLLOUT)
    for _ in range(2):
        given = cp.asarray(q), cp.asarray(dq)
        found = robot.simulate(*given, target="cuda", method=method, **ROLLOUT)
        same_motion(found.cpu(), expected, 1e-10)
