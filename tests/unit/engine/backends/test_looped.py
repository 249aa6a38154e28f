"""Loops over links compute what straight-line code computes, for every joint type and batch."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.dynamics.quantities import DECLARED
from kinetree.engine.kernels import Request, forms
from kinetree.engine.kernels.compile import compiled
from robot_states import any_robot

ROBOTS = {
    "any": lambda: any_robot(5),
    "panda": lambda: kt.robots.panda(friction=True).model,
    "hand": lambda: kt.robots.hand().model,
}
LOOPED = [name for name, x in DECLARED.items() if x.loops]
QUANTITIES = ("forward_dynamics", *LOOPED, forms.SECOND)


def states(model, count, seed=0):
    """Random q, dq and a third array of joint vectors."""
    rng = np.random.default_rng(seed)
    q = np.array([kt.dynamics.random(model, rng) for _ in range(count)])
    return q, rng.normal(size=(count, model.n)), rng.normal(size=(count, model.n))


def both(monkeypatch, model, name, **options):
    """The looped and the straight-line kernel of a quantity."""
    if name == forms.SECOND:
        name, options = "inverse_dynamics", {"wrt": ("q", "dq"), "order": 2, **options}
    straight = compiled(model, Request(name, **options))
    with monkeypatch.context() as changed:
        changed.setattr(forms, "LONGEST_STRAIGHT", -1)
        changed.setattr(forms, "LONGEST_MATRIX", -1)
        looped = compiled(model, Request(name, **options))
    assert type(looped.graph).__name__ == "Program"
    return looped, straight


def of_quantity(name, q, dq, third):
    """The arguments that a quantity takes."""
    if name == forms.SECOND:
        return q, dq, third, third[:, ::-1]
    return (q, dq, third)[: len(kt.testing.quantities()[name].inputs)]


@pytest.mark.parametrize("robot", ROBOTS)
@pytest.mark.parametrize("name", QUANTITIES)
def test_loops_agree_with_straight_line_code(monkeypatch, robot, name):
    model = ROBOTS[robot]()
    options = {"rows": (4,)} if name == "task_space" else {}
    looped, straight = both(monkeypatch, model, name, **options)
    given = of_quantity(name, *states(model, 5))
    bound = 1e-9 if name == "task_space" else 1e-11  # its inverses have a large condition
    for made, expected in zip(*(results(x(*given)) for x in (looped, straight)), strict=True):
        assert np.abs(made - expected).max() <= bound * np.abs(expected).max()


def results(found):
    """The results of a kernel, also where it is one."""
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_loops_give_the_same_bits_for_every_batch(monkeypatch, dtype):
    model = ROBOTS["any"]()
    looped, _ = both(monkeypatch, model, "forward_dynamics")
    given = [x.astype(dtype) for x in states(model, 37)]
    whole = looped(*given)
    assert whole.dtype == dtype
    for k in (0, 8, 36):
        assert np.array_equal(looped(*(np.ascontiguousarray(x[k]) for x in given)), whole[k])
        assert np.array_equal(looped(*(x[k : k + 1] for x in given))[0], whole[k])
    assert np.array_equal(looped(*(x[::-1] for x in given)), whole[::-1])


def test_looped_steps_and_simulations_agree_with_straight_line_ones(monkeypatch):
    robot = kt.robots.panda(friction=True)
    q, dq, tau = (x[0] for x in states(robot.model, 1))
    looped, straight = both(monkeypatch, robot.model, "step_rk4")
    for found, expected in zip(looped(q, dq, tau, 1e-3), straight(q, dq, tau, 1e-3), strict=True):
        assert np.abs(found - expected).max() < 1e-13
    usual = robot.simulate(q, dq, duration=0.05, dt=1e-3, method="rk4", limits="ignore")
    monkeypatch.setattr(forms, "LONGEST_STRAIGHT", -1)
    other = kt.robots.panda(friction=True)
    again = other.with_gravity(other.model.gravity[3:]).simulate(
        q, dq, duration=0.05, dt=1e-3, method="rk4", limits="ignore"
    )
    assert np.abs(again.q - usual.q).max() < 1e-11
    adaptive = other.simulate(q, dq, duration=0.05, limits="ignore")
    assert np.abs(adaptive.q[-1] - usual.q[-1]).max() < 1e-6


def chain(count):
    """A robot of many generic hinges."""
    rng = np.random.default_rng(2)
    builder = kt.Builder("chain").link("link0")
    for k in range(count):
        builder.link(f"link{k + 1}", m=0.4, com=rng.normal(size=3) / 20, I_com=np.eye(3) / 50)
        at, axis = rng.normal(size=3) / 10, rng.normal(size=3)
        axis = axis / np.linalg.norm(axis)
        builder.joint(f"joint{k}", "revolute", f"link{k}", f"link{k + 1}", at=at, axis=axis)
    return builder.build()


def test_forward_dynamics_undoes_inverse_dynamics_of_a_long_chain():
    robot = chain(150)
    q, dq, tau = states(robot.model, 9)
    ddq = robot.forward_dynamics(q, dq, tau)
    assert np.abs(robot.inverse_dynamics(q, dq, ddq) - tau).max() < 1e-9


@pytest.mark.parametrize("name", ["space_jacobian_rate", "inverse_mass_matrix"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_long_chains_give_the_same_bits_for_every_batch(name, dtype):
    robot = chain(150)
    kernel, count = robot.compile(name), len(kt.testing.quantities()[name].inputs)
    given = [x.astype(dtype) for x in states(robot.model, 19)[:count]]
    whole = kernel(*given)
    assert type(kernel.graph).__name__ == "Program" and whole.dtype == dtype
    one = np.empty(whole.shape[1:], dtype)
    for k in (0, 8, 18):
        kernel(*(np.ascontiguousarray(x[k]) for x in given), out=one)
        assert np.array_equal(one, whole[k])
    assert np.array_equal(kernel(*(x[3:7] for x in given)), whole[3:7])


@pytest.mark.parametrize("name", ["bias_forces_rate", "inverse_mass_matrix", "task_space"])
def test_matrices_of_a_long_chain_agree_with_numpy(name):
    robot = chain(120)
    given = [x[0] for x in states(robot.model, 1)][: len(kt.testing.quantities()[name].inputs)]
    kernel = robot.compile(name)
    assert type(kernel.graph).__name__ == "Program"
    expected = getattr(kt.dynamics, name)(robot.model, *given)
    if name == "task_space":
        expected = tuple(getattr(expected, x.letter) for x in kt.testing.quantities()[name].results)
    for found, other in zip(results(kernel(*given)), results(expected), strict=True):
        assert np.abs(found - other).max() < 1e-10 * np.abs(other).max()
