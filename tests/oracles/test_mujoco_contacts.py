"""Forces on bodies of a robot that MuJoCo moves, seen by the momentum observer.

MuJoCo applies `xfrc_applied` at the centre of mass of a body, in the axes of the world. A PD law
moves the robot. Joint forces of the push, by MuJoCo's own Jacobian, are the reference.
"""

from types import SimpleNamespace

import numpy as np
import pytest

import kinetree as kt
from kinetree import convert
from kinetree.controllers import MomentumObserver

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")

DT, GAIN = 5e-4, 60.0
PUSH = (0.6, 1.1)  # s


@pytest.mark.parametrize(
    "make", [kt.robots.ur5e, pytest.param(kt.robots.quadruped, marks=pytest.mark.many)]
)
def test_pushes_in_mujoco_are_seen_with_their_size_and_time(make):
    robot = make()
    theirs = mujoco.MjModel.from_xml_string(robot.to_mjcf(losses="allow"))
    theirs.opt.timestep = DT
    theirs.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    theirs.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data = mujoco.MjData(theirs)
    joints = [theirs.joint(j).name for j in range(theirs.njnt)]
    there, back = convert.to_mujoco(robot, joints), convert.from_mujoco(robot, joints)
    rng = np.random.default_rng(0)
    q0 = robot.neutral() + (0.3 * rng.normal(size=robot.nq) if robot.n == robot.nq else 0)
    data.qpos[:], data.qvel[:] = there.q(q0), 0
    body = theirs.body(robot.model.link_names[-1]).id
    force, moment = np.array([12.0, -9.0, 15.0]), np.array([0.5, -0.4, 0.3])
    inertia = np.diag(there.mass_matrix(q0, robot.mass_matrix(q0)))
    rows = []
    for k in range(2400):
        t = k * DT
        on = PUSH[0] <= t < PUSH[1]
        data.xfrc_applied[body] = np.concatenate([force, moment]) * on
        tau = np.zeros(theirs.nv)
        held = theirs.nv - (0 if robot.n == robot.nq else 6)
        error = (data.qpos - there.q(q0))[-held:]
        wanted = -200 * error - 20 * data.qvel[-held:] + 20 * np.sin(3 * t)
        tau[-held:] = inertia[-held:] * wanted
        data.qfrc_applied[:] = tau
        mujoco.mj_forward(theirs, data)
        position, turn = np.zeros((3, theirs.nv)), np.zeros((3, theirs.nv))
        mujoco.mj_jacBodyCom(theirs, data, position, turn, body)
        theirs_ext = (position.T @ force + turn.T @ moment) * on
        q = data.qpos.copy()
        rows.append((
            t, back.q(q), back.dq(q, data.qvel), back.tau(q, tau), back.tau(q, theirs_ext),
        ))  # fmt: skip
        mujoco.mj_step(theirs, data)
    t, q, dq, tau, pushed = (np.array(x) for x in zip(*rows, strict=True))
    r = MomentumObserver(robot, GAIN).run(t, q, dq, tau)
    expected, a = np.zeros(r.shape), np.exp(-GAIN * DT)
    for k in range(len(t) - 1):
        expected[k + 1] = a * expected[k] + (1 - a) * pushed[k]
    size = np.abs(pushed).max(axis=0)
    assert size.max() > 3
    # MuJoCo keeps forces of drives over a step, the observer takes the mean of both ends: half a
    # step of their change is left, K dt / 2 of 1.5 % here
    assert np.abs(r - expected).max() < 0.02 * size.max()
    data = SimpleNamespace(t=t, q=q, dq=dq, tau=tau)
    (found,) = MomentumObserver(robot, GAIN).contacts(data, 0.1 * size.max())
    assert abs(found.start - PUSH[0]) < 0.02 and abs(found.end - PUSH[1]) < 0.02
