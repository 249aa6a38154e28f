"""Dicts of tensors: by name, with gradients, under jit, vmap and torch.compile."""

import numpy as np
import pytest

import kinetree as kt

Q, DQ = np.array([0.3, -0.4]), np.array([0.5, 0.2])


@pytest.fixture(scope="module")
def robot():
    return kt.robots.planar_2r()


def reverse(robot, x):
    """A dict by joint in the reverse order."""
    return {robot.joint_names[k]: x[..., k] for k in (1, 0)}


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def test_a_dict_of_tensors_gives_a_dict_with_gradients(robot, torch):
    q = {name: torch.tensor(x, requires_grad=True) for name, x in reverse(robot, Q).items()}
    found = robot.gravity_forces(q)
    assert list(found) == list(robot.joint_names)
    assert [float(x.detach()) for x in found.values()] == list(robot.gravity_forces(Q))
    found["joint1"].backward()
    slopes = robot.derivative("gravity_forces")(Q)[0]
    assert [float(q[name].grad) for name in robot.joint_names] == pytest.approx(list(slopes))


def test_torch_compile_takes_dicts(robot, torch):
    def energy(q, dq):
        return robot.kinetic_energy(q, dq)

    compiled = torch.compile(energy, backend="eager")
    q, dq = ({n: torch.tensor(v) for n, v in reverse(robot, x).items()} for x in (Q, DQ))
    assert float(compiled(q, dq)) == float(robot.kinetic_energy(Q, DQ))


@pytest.fixture(scope="module")
def jax():
    pytest.importorskip("jax")
    from tensor_jax import jax, with_x64

    with with_x64():
        yield jax


def test_a_dict_of_jax_arrays_gives_a_dict(robot, jax):
    q = {name: jax.numpy.asarray(x) for name, x in reverse(robot, Q).items()}
    found = robot.gravity_forces(q)
    assert [float(x) for x in found.values()] == list(robot.gravity_forces(Q))


def test_jax_differentiates_and_compiles_dicts(robot, jax):
    def energy(q):
        return robot.potential_energy(q)

    q = {name: jax.numpy.asarray(x) for name, x in reverse(robot, Q).items()}
    slopes = jax.jit(jax.grad(energy))(q)
    expected = robot.gravity_forces(Q)
    assert [float(slopes[name]) for name in robot.joint_names] == pytest.approx(list(expected))


def test_textbook_functions_take_tensors_in_a_dict_as_numbers(robot, torch):
    q = {name: torch.tensor(x) for name, x in reverse(robot, Q).items()}
    found = kt.dynamics.gravity_forces(robot.model, q)
    expected = kt.dynamics.gravity_forces(robot.model, Q)
    assert np.array_equal([*found.values()], expected)
