"""Loops over links compute what straight-line code computes, for every joint type and batch."""

import pickle

import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms import grouping
from kinetree.engine.kernels import Request, forms, is_looped
from kinetree.engine.kernels.compile import compiled
from kinetree.engine.kernels.request import declaration
from kinetree.model import SCREWS, random_model
from robot_states import any_robot

ROBOTS = {
    "any": lambda: any_robot(5),
    "panda": lambda: kt.robots.panda(friction=True).model,
    "hand": lambda: kt.robots.hand().model,
}
QUANTITIES = ("forward_dynamics", *forms.RECURSIONS, *forms.WALKS, *forms.MATRICES)


def states(model, count, seed=0):
    """Random q, dq and a third array of joint vectors."""
    rng = np.random.default_rng(seed)
    q = np.array([kt.algorithms.random(model, rng) for _ in range(count)])
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
    return (q, dq, third)[: len(declaration(name).inputs)]


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


def test_large_groups_agree_with_straight_line_code(monkeypatch):
    """Rotors and mimic joints tie most joints together, and fixed ones hang beyond and before."""
    model = random_model(9, 30, types=(*SCREWS, "spherical"), chain=True, mimic=True)
    groups = grouping.finest(model)
    assert max(len(group.dofs) for group in groups) >= grouping.TILED_DOFS
    looped, straight = both(monkeypatch, model, "forward_dynamics")
    given = states(model, 3)
    expected = straight(*given)
    assert np.abs(looped(*given) - expected).max() <= 1e-9 * np.abs(expected).max()


def test_loops_take_external_wrenches(monkeypatch):
    model = ROBOTS["any"]()
    F_ext = np.random.default_rng(1).normal(size=(5, len(model.links), 6))
    for name in ("inverse_dynamics", "forward_dynamics", forms.SECOND):
        looped, straight = both(monkeypatch, model, name, wrenches=True)
        state = states(model, 5)
        given = (*state, F_ext, *of_quantity(name, *state)[3:])
        for made, expected in zip(*(results(x(*given)) for x in (looped, straight)), strict=True):
            assert np.abs(made - expected).max() <= 1e-11 * np.abs(expected).max()


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


def test_a_looped_kernel_is_traced_where_its_graph_is_needed(monkeypatch):
    model = ROBOTS["panda"]()
    looped, straight = both(monkeypatch, model, "inverse_dynamics")
    given = [x[0] for x in states(model, 1)]
    slopes = [kt.derivative(kernel, "q")(*given) for kernel in (looped, straight)]
    assert np.abs(slopes[0] - slopes[1]).max() < 1e-11
    assert looped.graph.count() == straight.graph.count()


def test_a_copy_of_a_looped_kernel_computes_but_has_no_graph(monkeypatch):
    model = ROBOTS["panda"]()
    looped, _ = both(monkeypatch, model, "inverse_dynamics")
    given = states(model, 3)
    copied = pickle.loads(pickle.dumps(looped))
    assert np.array_equal(copied(*given), looped(*given))
    with pytest.raises(kt.errors.GraphError, match="take it from the robot"):
        _ = copied.graph.nodes


def test_long_chains_are_looped_and_short_ones_are_not():
    assert not is_looped(kt.robots.panda().model, "forward_dynamics")
    assert not is_looped(kt.robots.humanoid().model, "forward_dynamics")
    assert is_looped(chain(60).model, "forward_dynamics")
    assert not is_looped(chain(60).model, "mass_matrix")
    assert is_looped(chain(600).model, "pose") and not is_looped(chain(150).model, "pose")
    for name in forms.MATRICES:
        assert is_looped(chain(150).model, name)
        assert not is_looped(kt.robots.humanoid().model, name)


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
    kernel, count = robot.compile(name), len(declaration(name).inputs)
    given = [x.astype(dtype) for x in states(robot.model, 19)[:count]]
    whole = kernel(*given)
    assert type(kernel.graph).__name__ == "Program" and whole.dtype == dtype
    one = np.empty(whole.shape[1:], dtype)
    for k in (0, 8, 18):
        kernel(*(np.ascontiguousarray(x[k]) for x in given), out=one)
        assert np.array_equal(one, whole[k])
    assert np.array_equal(kernel(*(x[3:7] for x in given)), whole[3:7])


def test_a_jacobian_counts_the_joints_on_the_way_of_its_frame():
    robot = chain(400)
    frame = robot.model.link_names[20]
    assert is_looped(robot.model, "body_jacobian")
    assert not is_looped(robot.model, "body_jacobian", frame)
    q = states(robot.model, 1)[0][0]
    for name in (None, frame):
        J = robot.compile("body_jacobian", frame=name)(q)
        expected = kt.algorithms.body_jacobian(robot.model, q, name)
        assert np.abs(J - expected).max() < 1e-11 * np.abs(expected).max()
    assert not J[:, 21:].any()


@pytest.mark.parametrize("n", [6, 32])
def test_jacobians_need_operations_in_proportion_to_the_joints_in_straight_line_code(n):
    """Derivatives, exported code and CUDA have no loops."""
    robot = chain(n)
    q, dq, _ = (x[0] for x in states(robot.model, 1))
    for name in ("body_jacobian", "space_jacobian", "body_jacobian_rate", "space_jacobian_rate"):
        kernel, given = robot.compile(name), (q, dq)[: len(declaration(name).inputs)]
        assert type(kernel.graph).__name__ != "Program"
        assert kernel.operations < 200 * n
        expected = getattr(kt.algorithms, name)(robot.model, *given)
        assert np.abs(kernel(*given) - expected).max() < 1e-11 * np.abs(expected).max()


@pytest.mark.parametrize("name", ["bias_forces_rate", "inverse_mass_matrix", "task_space"])
def test_matrices_of_a_long_chain_agree_with_numpy(name):
    robot = chain(120)
    given = [x[0] for x in states(robot.model, 1)][: len(declaration(name).inputs)]
    kernel = robot.compile(name)
    assert type(kernel.graph).__name__ == "Program"
    expected = getattr(kt.algorithms, name)(robot.model, *given)
    if name == "task_space":
        expected = tuple(getattr(expected, x.letter) for x in declaration(name).results)
    for found, other in zip(results(kernel(*given)), results(expected), strict=True):
        assert np.abs(found - other).max() < 1e-10 * np.abs(other).max()
