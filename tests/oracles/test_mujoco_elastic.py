"""Elastic joints, written as MJCF, in MuJoCo: accelerations are the same."""

import numpy as np
import pytest

import kinetree as kt

mujoco = pytest.importorskip("mujoco")


@pytest.mark.parametrize("seed", range(4))
def test_mujoco_moves_an_elastic_robot_alike(seed):
    robot = kt.robots.ur5e()
    rng = np.random.default_rng(seed)
    for name in rng.permutation(robot.joint_names)[:3]:
        robot = robot.with_elastic_joint(str(name), *rng.uniform((500, 0, 0.1), (9000, 5, 2)))
    model = mujoco.MjModel.from_xml_string(robot.to_mjcf(losses="allow"))
    assert tuple(model.joint(i).name for i in range(model.njnt)) == robot.joint_names
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(model)
    q, dq, tau = rng.normal(size=(3, robot.n)) * np.array([[0.3], [0.5], [20]])
    data.qpos, data.qvel, data.qfrc_applied = q, dq, tau
    mujoco.mj_forward(model, data)
    expected = robot.forward_dynamics(q, dq, tau)
    assert data.qacc_smooth == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(expected).max())
