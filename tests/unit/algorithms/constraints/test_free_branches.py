"""Branches that no constraint needs: eliminated first, the equations of motion stay the same.

The oracle is NumPy's solution of all equations at once, M ddq - J^T lambda = tau - h and
J ddq = -gamma, of the mass matrix and the forces of the tree.
"""

import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms.grouping import around, whole
from kinetree.model import SCREWS, random_model


def held(robot, frame, q):
    """The robot with a point of it held where it is."""
    at = np.asarray(robot.pose(q, frame))[:3, 3]
    return robot.constrained({"held": kt.constraints.Hold(frame, "point", at)}, near=q)


def standing():
    """A humanoid on one foot, with friction, and its position."""
    robot = kt.robots.humanoid()
    robot = robot.with_friction({x: kt.Friction(viscous=0.3) for x in robot.joint_names[1:]})
    q = np.asarray(robot.neutral())
    q = robot.integrate(q, np.where(np.arange(robot.n) < 6, 0, 0.3))
    return held(robot, "left_sole", q), q


def mixed(seed):
    """A tree with drives, springs, rotors on other links and mimic joints, held at a leaf."""
    model = random_model(seed, 16, types=SCREWS, mimic=seed % 2 == 0, springs=True)
    q = np.asarray(kt.algorithms.random(model, np.random.default_rng(seed)))
    depth = []
    for parent in model.parent:
        depth.append(1 + (depth[parent] if parent >= 0 else 0))
    return held(kt.Robot(model), model.link_names[int(np.argmax(depth))], q), q


def check(robot, q, wrenches):
    rng = np.random.default_rng(1)
    dq = robot.project_rates(q, rng.normal(size=robot.n))
    tau, loads = rng.normal(size=robot.n), rng.normal(size=(len(robot.model.links), 6))
    given = (q, dq, tau, loads) if wrenches else (q, dq, tau)
    tree = robot.constrained(dict.fromkeys(robot.model.constraints.given))
    M, J = tree.mass_matrix(q), robot.constraint_jacobian(q)
    h = tree.bias_forces(q, dq, loads) if wrenches else tree.bias_forces(q, dq)
    m = len(J)
    K = np.block([[M, -J.T], [J, np.zeros((m, m))]])
    expected = np.linalg.solve(K, np.concatenate([tau - h, -robot.constraint_bias(q, dq)]))
    ddq, lam, residual = robot.constrained_forward_dynamics(*given)
    scale = 1 + np.abs(expected).max()
    assert np.abs(ddq - expected[: robot.n]).max() < 1e-10 * scale
    assert np.abs(lam - expected[robot.n :]).max() < 1e-10 * scale
    assert np.abs(residual).max() < 1e-10 * scale
    assert np.abs(robot.forward_dynamics(*given) - ddq).max() < 1e-10 * scale
    plain = kt.algorithms.constrained_forward_dynamics(robot.model, *given)
    assert np.abs(np.asarray(plain.ddq) - ddq).max() < 1e-10 * scale


@pytest.mark.parametrize("wrenches", [False, True])
def test_a_robot_on_one_foot_obeys_all_equations(wrenches):
    robot, q = standing()
    leg = [d for d in range(robot.n) if np.abs(robot.constraint_jacobian(q)[:, d]).max() > 0]
    groups = around(robot.model, leg)
    assert len(groups) > 1 and set(leg) <= set(groups[0].dofs)
    check(robot, q, wrenches)


@pytest.mark.parametrize("seed", range(6))
def test_drives_springs_and_mimic_joints_may_be_anywhere(seed):
    check(*mixed(seed), wrenches=True)


def test_a_robot_without_free_branches_is_one_group():
    model = kt.robots.five_bar().model
    assert around(model, range(model.n)) == whole(model)
