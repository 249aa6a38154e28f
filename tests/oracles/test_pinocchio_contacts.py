"""Pinocchio's joint forces under our contact forces are ours, with none in rows without a motor."""

import numpy as np
import pytest

import kinetree as kt

pytest.importorskip("pinocchio", reason="pinocchio (package pin) is not installed")
import pinocchio as pin
from pinocchio_model import twin

RADIUS = 0.02
LEGS = ("front_left", "front_right", "rear_left", "rear_right")


def test_contact_forces_balance_the_motion_for_pinocchio():
    feet = [kt.contacts.ContactPoint(leg, f"{leg}_foot", radius=RADIUS) for leg in LEGS]
    robot = kt.robots.quadruped().with_contacts(feet, friction=0.7)
    pair, rng = twin(robot.model), np.random.default_rng(5)
    data = pair.theirs.createData()
    for _ in range(5):
        q = robot.neutral()
        q[7:] = np.tile([0, 0.7, -1.4], 4) + 0.1 * rng.normal(size=12)
        dq, ddq = 0.3 * rng.normal(size=(2, robot.n))
        found = robot.contact_inverse_dynamics(q, dq, ddq)
        assert found.feasible
        F_ext = np.zeros((len(robot.model.links), 6))
        poses = robot.link_poses(q)
        for leg, force in zip(LEGS, found.forces, strict=True):
            i = robot.model.frame(f"{leg}_foot").link
            R, origin = poses[i][:3, :3], poses[i][:3, 3]
            point = robot.pose(q, f"{leg}_foot")[:3, 3] - [0, 0, RADIUS]
            F_ext[i] += np.concatenate([R.T @ np.cross(point - origin, force), R.T @ force])
        motion = pair.q(q), dq[pair.order], ddq[pair.order]
        tau = pin.rnea(pair.theirs, data, *motion, pair.wrenches(F_ext))
        np.testing.assert_allclose(found.tau[pair.order], tau, atol=1e-9)
