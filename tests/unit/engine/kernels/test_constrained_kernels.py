"""Kernels of constrained robots: the textbook form compiled, options, help, and refusals."""

import mpmath
import numpy as np
import pytest

import kinetree as kt
from closed_loops import four_bar, slider_crank, slider_crank_position, tied_robot
from kinetree import algorithms
from kinetree.algorithms.quantities import CONSTRAINED
from kinetree.constraints import Loop
from kinetree.errors import ModelError


class Case:
    """A random constrained robot of screw joints and others, at a closed state with wrenches."""

    def __init__(self, seed):
        tree, given, q = tied_robot(seed, 4)
        rng = np.random.default_rng(seed)
        self.tree, self.robot = tree, tree.constrained(given, near=q)
        self.model, self.q = self.robot.model, q
        self.dq = algorithms.project_rates(self.model, q, rng.normal(size=tree.n))
        self.tau, self.F_ext = rng.normal(size=tree.n), rng.normal(size=(len(tree.model.links), 6))


@pytest.fixture(scope="module")
def case():
    return Case(0)


def relative(x, y):
    x, y = np.asarray(x, float), np.asarray(y, float)
    return np.abs(x - y).max(initial=0) / (1 + np.abs(y).max(initial=0))


def agree(found, expected):
    return all(relative(x, y) < 1e-10 for x, y in zip(found, expected, strict=True))


def test_kinematics_of_constraints_are_those_of_the_textbook(case):
    model, q, dq = case.model, case.q, case.dq
    errors = case.robot.constraint_errors(q)
    assert np.abs(errors - algorithms.constraint_errors(model, q)).max() < 1e-13
    J = case.robot.constraint_jacobian(q)
    assert relative(J, algorithms.constraint_jacobian(model, q)) < 1e-13
    gamma = case.robot.constraint_bias(q, dq)
    assert relative(gamma, algorithms.constraint_bias(model, q, dq)) < 1e-12


def test_dynamics_are_those_of_the_textbook_with_wrenches(case):
    robot, state = case.robot, (case.q, case.dq, case.tau)
    for loads in ((), (case.F_ext,)):
        found = robot.constrained_forward_dynamics(*state, *loads)
        expected = algorithms.constrained_forward_dynamics(case.model, *state, *loads)
        assert agree(found, expected)
        assert relative(robot.forward_dynamics(*state, *loads), expected.ddq) < 1e-10
        motion = case.q, case.dq, expected.ddq
        forces = algorithms.constrained_inverse_dynamics(case.model, *motion, *loads)
        assert agree(robot.constrained_inverse_dynamics(*motion, *loads), forces)
        assert relative(robot.inverse_dynamics(*motion, *loads), forces.tau) < 1e-10
    expected = algorithms.constraint_impulse(case.model, case.q, case.tau)
    assert agree(robot.constraint_impulse(case.q, case.tau), expected)


def test_derivatives_are_those_of_the_textbook():
    robot, q = four_bar(actuated=["crank"]), four_bar().project([0.7, 0.2, 1.8])
    dq, tau = robot.project_rates(q, [1, 0, 0]), np.array([0.3, -0.2, 0.1])
    found = robot.forward_dynamics_derivatives(q, dq, tau)
    expected = algorithms.constrained_forward_dynamics_derivatives(robot.model, q, dq, tau)
    assert agree(found, expected)
    graph = robot.derivative("forward_dynamics", ["q", "dq", "tau"])(q, dq, tau)
    assert agree(found, graph)


def precise_forces(robot, q, dq, ddq):
    """Motor forces in fifty digits: those that balance passive joints, by dense elimination."""
    r = algorithms.inverse_dynamics(robot.unconstrained().model, q, dq, ddq)
    given = robot.model.constraints
    J = algorithms.constraint_jacobian(robot.model, q)[list(given.kept)]
    u = [d for d in range(robot.n) if d not in given.actuated]
    lam = mpmath.lu_solve(mpmath.matrix(J[:, u].T.tolist()), mpmath.matrix([r[d] for d in u]))
    left = [r[d] - sum(J[k, d] * lam[k] for k in range(len(J))) for d in range(robot.n)]
    return np.array([left[d] if d in given.actuated else 0 * left[d] for d in range(robot.n)])


@pytest.mark.parametrize("robot", [slider_crank(actuated=["crank"]), four_bar(actuated=["rocker"])])
def test_derivatives_of_motor_forces_are_differences_of_fifty_digits(robot):
    rng = np.random.default_rng(3)
    q, dq, ddq = slider_crank_position(0.7), *rng.normal(size=(2, 3))
    found = robot.inverse_dynamics_derivatives(q, dq, ddq)
    with mpmath.workdps(50):
        state, h = [np.array([mpmath.mpf(x) for x in v]) for v in (q, dq, ddq)], mpmath.mpf("1e-18")
        for k, slope in enumerate(found):
            for d in range(3):
                ends = [
                    precise_forces(robot, *(x + s * h * np.eye(3, dtype=int)[d] if i == k else x
                                            for i, x in enumerate(state)))
                    for s in (1, -1)
                ]  # fmt: skip
                expected = ((ends[0] - ends[1]) / (2 * h)).astype(float)
                assert relative(slope[:, d], expected) < 1e-11


def test_derivatives_of_motor_forces_are_slopes_with_wrenches():
    """Random joints, more motors than needed, along tangent vectors."""
    case, h = Case(0), 1e-5
    robot, loads = case.robot, (case.F_ext,)
    by_q, by_dq = robot.inverse_dynamics_derivatives(case.q, case.dq, case.tau, *loads)
    for d, unit in enumerate(np.eye(robot.n) * h):
        ends = [
            robot.inverse_dynamics(robot.integrate(case.q, s * unit), case.dq, case.tau, *loads)
            for s in (1, -1)
        ]
        assert relative(by_q[:, d], (ends[0] - ends[1]) / (2 * h)) < 1e-6
        ends = [
            robot.inverse_dynamics(case.q, case.dq + s * unit, case.tau, *loads) for s in (1, -1)
        ]
        assert relative(by_dq[:, d], (ends[0] - ends[1]) / (2 * h)) < 1e-6
    lazy = slider_crank(actuated=[])
    with pytest.raises(ModelError, match=r"\(none\) cannot make.*inverse_dynamics_derivatives has"):
        lazy.inverse_dynamics_derivatives([0.0] * 3, [0.0] * 3, [0.0] * 3)


def test_free_masses_and_gravity_are_arguments():
    robot, q = slider_crank(actuated=["crank"]), slider_crank_position(0.6)
    kernel = robot.compile("forward_dynamics", free=["mass", "gravity"])
    state = q, robot.project_rates(q, [1, 0, 0]), [0.2, 0, 0]
    m, g = np.array([2.0, 1.5, 0.5]), np.array([1.0, -5.0, 0.3])
    model = robot.model.replace(m=m).with_gravity(g)
    expected = algorithms.constrained_forward_dynamics(model, *state).ddq
    assert relative(kernel(*state, m, g), expected) < 1e-12


def test_terms_of_the_equation_are_those_of_the_tree(case):
    for name in ("mass_matrix", "gravity_forces", "potential_energy"):
        own, tree = getattr(case.robot, name), getattr(case.tree, name)
        assert np.array_equal(own(case.q), tree(case.q))
        assert "quantity of its tree" in " ".join(own.__doc__.split())
        assert "quantity of its tree" not in " ".join(tree.__doc__.split())


def test_the_help_states_what_is_honoured():
    robot = slider_crank(actuated=["crank"])
    for name in ("forward_dynamics", "inverse_dynamics"):
        assert "are honoured" in " ".join(getattr(robot, name).__doc__.split())
    assert "tau is NaN where the motors cannot" in " ".join(robot.inverse_dynamics.__doc__.split())
    step = robot.compile("step_rk4").__doc__
    assert "(otherwise the results are NaN)" in " ".join(step.split())


@pytest.mark.parametrize("name", CONSTRAINED)
def test_a_robot_without_constraints_has_none_of_these_quantities(name):
    with pytest.raises(ModelError, match=f"{name} needs a robot with constraints"):
        kt.robots.planar_2r().compile(name)


def test_results_are_labelled_by_the_names_of_equations():
    xarray = pytest.importorskip("xarray")
    robot, q = slider_crank("point"), slider_crank_position(0.6)
    data = xarray.DataArray(q, dims="joint", coords={"joint": list(robot.joint_names)})
    found = robot.constraint_errors(data)
    (axis,) = found.dims
    assert list(found[axis].values) == ["loop.linear_x", "loop.linear_y", "loop.linear_z"]


def test_singular_positions_are_not_a_number_and_positions_nearby_are_right():
    """A rhombus folds flat: its links lie on one line, where two motions branch."""
    builder = kt.Builder("rhombus").link("base")
    for name in ("a", "b", "c"):
        builder.link(name, m=1, com=(0.5, 0, 0), I_com=np.eye(3) * 0.1)
    builder.joint("first", "revolute", "base", "a")
    builder.joint("second", "revolute", "a", "b", at=(1, 0, 0))
    builder.joint("third", "revolute", "base", "c", at=(1, 0, 0))
    builder.frame("p", "b", (1, 0, 0)).frame("r", "c", (1, 0, 0))
    robot = builder.build().constrained({"loop": Loop("p", "r", "point")})
    flat = np.array([0.0, 0.0, 0.0])
    q = robot.project(flat + np.array([0, 1e-3, 0]), keep=["first"])
    ddq, lam, residual = robot.constrained_forward_dynamics(q, [0, 0, 0], [1, 0.5, 0.2])
    assert np.isfinite(ddq).all() and np.isfinite(lam).all()
    assert np.abs(residual).max() < 1e-6 * (1 + np.abs(ddq).max())
    ddq, lam, _ = robot.constrained_forward_dynamics(flat, [0, 0, 0], [1, 0.5, 0.2])
    assert np.isnan(ddq).all() and np.isnan(lam).any()
