"""The regressor and the base parameters of robots with constraints."""

import numpy as np
import pytest

import kinetree as kt
from closed_loops import tied_robot
from kinetree import algorithms
from kinetree.errors import KinetreeError

MECHANISMS = ("slider_crank", "four_bar", "five_bar", "delta")


def allowed_motion(model, q, rng):
    """Rates and accelerations that the constraints allow, from the singular vectors of J."""
    J = np.asarray(algorithms.constraint_jacobian(model, q), float)
    rank = len(model.constraints.basis)
    N = np.linalg.svd(J)[2][rank:].T
    dq = N @ rng.normal(size=N.shape[1])
    gamma = np.asarray(algorithms.constraint_bias(model, q, dq), float)
    return q, dq, N @ rng.normal(size=N.shape[1]) - np.linalg.lstsq(J, gamma, rcond=1e-9)[0]


@pytest.mark.parametrize("name", MECHANISMS)
def test_compiled_rows_times_parameters_are_the_motor_forces(name):
    robot = getattr(kt.robots, name)()
    rng = np.random.default_rng(3)
    state = allowed_motion(robot.model, robot.neutral(), rng)
    Y, tau = robot.regressor(*state), robot.inverse_dynamics(*state)
    assert np.abs(Y @ robot.parameters - tau).max() < 1e-12 * np.abs(tau).max()
    passive = [d for d in range(robot.n) if d not in robot.model.constraints.actuated]
    assert not Y[passive].any()
    np.testing.assert_allclose(algorithms.regressor(robot.model, *state), Y, atol=1e-12)


def test_rows_of_twenty_random_mechanisms_are_their_inverse_dynamics():
    """Forces of friction functions are not linear in parameters: both models are without them."""
    seen = 0
    for seed in range(60):
        tree, records, q = tied_robot(seed)
        still = dict.fromkeys([x.name for x in tree.model.joints], kt.Friction())
        try:
            robot = tree.with_friction(still).constrained(records, near=q)
        except KinetreeError:
            continue  # closed in singular positions alone
        model = robot.model
        if model.n == len(model.constraints.basis):
            continue  # a structure
        if seed % 2:  # as many motors as degrees of freedom
            motors = tuple(model.constraints.independent)
            names = list(dict.fromkeys(x.name for x in model.joints if set(x.dofs) & set(motors)))
            if len(motors) != len(names):
                continue
            robot = robot.constrained({}, actuated=names, near=q)
            model = robot.model
        state = allowed_motion(model, q, np.random.default_rng(seed))
        forces = algorithms.constrained_inverse_dynamics(model, *state)
        Y = np.asarray(algorithms.regressor(model, *state), float)
        error = np.abs(Y @ np.asarray(algorithms.parameters(model), float) - forces.tau).max()
        assert error < 1e-10 * np.abs(forces.tau).max(), seed
        seen += 1
        if seen == 20:
            return
    pytest.fail(f"{seen} mechanisms of 20")


@pytest.mark.parametrize(("name", "count"), [("slider_crank", 6), ("four_bar", 8)])
def test_base_parameters_have_the_rank_of_many_states(name, count):
    robot = getattr(kt.robots, name)()
    base = robot.base_parameters(groups=["link"])
    assert base.error < 1e-8
    # states of another walk, of angles of the crank alone
    rng, rows, q = np.random.default_rng(5), [], robot.neutral()
    for _ in range(60):
        q = q.copy()
        q[0] += rng.uniform(0.1, 0.5)
        q = robot.project(q, keep=["crank"])
        rows.append(robot.regressor(*allowed_motion(robot.model, q, rng))[:1, : 10 * 3])
    W = np.concatenate(rows)
    s = np.linalg.svd(W / np.maximum(np.linalg.norm(W, axis=0), 1e-300), compute_uv=False)
    assert base.count == count == (s > 1e-8 * s[0]).sum()
    missed = W - W[:, list(base.kept)] @ base.K
    assert np.abs(missed).max() < 1e-8 * np.abs(W).max()


def test_motors_that_do_not_determine_the_motion_are_refused():
    robot = kt.robots.five_bar()
    motors = [robot.dof_names[d] for d in robot.model.constraints.actuated]
    one = robot.constrained({}, actuated=motors[:1])
    with pytest.raises(kt.errors.ModelError, match="cannot make every motion"):
        one.regressor(robot.neutral(), np.zeros(4), np.zeros(4))
    with pytest.raises(kt.errors.ModelError, match="cannot make every motion"):
        one.base_parameters()
