"""Task-space dynamics: square, redundant, with too few joints, near singularities."""

import numpy as np
import pytest

from kinetree import dynamics as kt
from kinetree import robots
from kinetree.errors import SingularityError
from random_robots import random_model
from robot_states import EPS, random_state, relative, size

EXPRESSED = ("body", "space", "aligned")


def arm(n, seed=1):
    model = random_model(seed, n, types=("revolute",), chain=True)
    return model, random_state(model, seed)


def task_rate(model, x, task):
    """dV = J ddq + dJ dq of a motion."""
    return task.J @ x.ddq + task.dJ @ x.dq


def slack(task):
    """Inverses of J M^-1 J^T lose as many digits as its condition has."""
    return 100 * EPS * np.linalg.cond(task.Lambda) * np.linalg.cond(task.J)


@pytest.mark.parametrize("expressed", EXPRESSED)
def test_six_joints_leave_nothing_over(expressed):
    """tau = J^T F holds exactly, and Lambda = J^-T M J^-1."""
    model, x = arm(6)
    task = kt.task_space(model, x.q, x.dq, expressed=expressed)
    J_inv, M = np.linalg.inv(task.J), kt.mass_matrix(model, x.q)
    assert relative(task.Lambda, J_inv.T @ M @ J_inv) < slack(task)
    F = task.Lambda @ task_rate(model, x, task) + task.eta
    assert relative(task.J.T @ F, kt.inverse_dynamics(model, *x.motion)) < slack(task)
    assert size(task.N) < slack(task)


def test_the_projector_leaves_the_task_alone():
    model, x = arm(9)
    task = kt.task_space(model, x.q)
    M = kt.mass_matrix(model, x.q)
    assert relative(task.N @ task.N, task.N) < slack(task)
    assert size(task.J @ task.J_bar - np.eye(6)) < slack(task)
    acceleration = task.J @ np.linalg.solve(M, task.N.T @ x.ddq)  # of any joint forces, projected
    assert size(acceleration) < slack(task) * size(x.ddq)
    assert round(np.trace(task.N)) == 3  # nine joints less six coordinates


def test_fewer_joints_than_coordinates_move_in_a_subspace():
    model, x = arm(4)
    task = kt.task_space(model, x.q, x.dq)
    assert task.Lambda.shape == (6, 6)
    assert np.linalg.matrix_rank(task.Lambda, tol=1e-9) == 4
    assert relative(task.J.T @ task.Lambda @ task.J, kt.mass_matrix(model, x.q)) < 1e-11
    F = task.Lambda @ task_rate(model, x, task) + task.eta
    assert relative(task.J.T @ F, kt.inverse_dynamics(model, *x.motion)) < 1e-11


def test_a_twist_gives_the_rates_that_it_needs():
    model, x = arm(7)
    V = np.arange(1.0, 7.0)
    by_twist = kt.task_space(model, x.q, V=V)
    dq = by_twist.J_bar @ V
    assert relative(by_twist.J @ dq, V) < slack(by_twist)
    assert relative(by_twist.eta, kt.task_space(model, x.q, dq).eta) < slack(by_twist)
    assert np.array_equal(by_twist.J_bar, kt.task_space(model, x.q, dq).J_bar)


def test_a_singular_pose_is_refused_with_its_smallest_singular_value():
    model = robots.planar_2r().model
    with pytest.raises(SingularityError) as error:
        kt.task_space(model, [0.3, 1e-8], rows=[3, 4])
    sigma = np.linalg.svd(kt.body_jacobian(model, [0.3, 1e-8])[3:5], compute_uv=False)[-1]
    assert f"{sigma:.3g}" in str(error.value)
    assert "damping" in str(error.value)


def test_damping_passes_through_singular_poses_and_fades_elsewhere():
    model = robots.planar_2r().model
    assert np.isfinite(kt.task_space(model, [0.3, 0], rows=[3, 4], damping=0.01).Lambda).all()
    free = kt.task_space(model, [0.3, 1.0], rows=[3, 4])
    damped = kt.task_space(model, [0.3, 1.0], rows=[3, 4], damping=1e-6)
    # Lambda^-1 grows by damping^2, so Lambda changes by damping^2 |Lambda|^2 at most
    assert size(damped.Lambda - free.Lambda) <= 1e-12 * size(free.Lambda) ** 2
    assert size(damped.Lambda - free.Lambda) > 0
