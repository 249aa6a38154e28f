"""Pinocchio and MuJoCo compute the same quantities of the robots of the matrix."""

from dataclasses import replace

import numpy as np
import pytest
from matrix_cases import states
from matrix_robots import pose, recipe

import kinetree as kt

pin = pytest.importorskip("pinocchio")
mujoco = pytest.importorskip("mujoco")

NEAR = 1e-11
TREES = ("chain", "tree", "floating", "spherical", "planar", "helical", "humanoid")


def close(found, wanted) -> bool:
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape
    return bool(np.abs(found - wanted).max() < NEAR * max(1, np.abs(wanted).max()))


def joint_of(x):
    """Pinocchio's joint of a part; its frame stands on the axis."""
    kinds = {"free": pin.JointModelFreeFlyer, "planar": pin.JointModelPlanar}
    if x.type in ("free", "planar", "spherical"):
        return kinds.get(x.type, pin.JointModelSpherical)()
    if x.type == "prismatic":
        return pin.JointModelPrismaticUnaligned(x.axis)
    if x.type == "helical":
        return pin.JointModelHelicalUnaligned(x.axis, x.pitch)
    return pin.JointModelRevoluteUnaligned(x.axis)


def in_pinocchio(made):
    """The tree in Pinocchio, depth first as it needs it."""
    model, ids, at = pin.Model(), {"base": 0}, {"base": np.eye(4)}
    model.gravity = pin.Motion(np.array(made.gravity), np.zeros(3))

    def add(parent):
        for x in (x for x in made.parts if x.parent == parent):
            at[x.name] = pose(np.eye(3), x.point)
            placement = pin.SE3(np.linalg.inv(at[parent]) @ x.at @ at[x.name])
            ids[x.name] = model.addJoint(ids[parent], joint_of(x), placement, x.name)
            body = pin.Inertia(x.m, np.asarray(x.com), x.I_com)
            model.appendBodyToJoint(ids[x.name], body, pin.SE3(np.linalg.inv(at[x.name])))
            add(x.name)

    add("base")
    last = made.parts[-1].name
    tool = pin.SE3(np.linalg.inv(at[last]) @ made.tool)
    model.addFrame(pin.Frame("tool", ids[last], 0, tool, pin.FrameType.OP_FRAME))
    return model


@pytest.mark.parametrize("name", TREES)
def test_pinocchio(name):
    bare = [replace(x, more={}) for x in recipe(name).parts]  # it has no friction in its equations
    made = replace(recipe(name), parts=bare, springs={}, actuators={})
    robot, theirs, x = made.build(), in_pinocchio(made), states(name)
    order = [joint for joint in theirs.names if joint != "universe"]
    there = kt.convert.to_pinocchio(robot, continuous=(), joints=order)
    back = kt.convert.from_pinocchio(robot, continuous=(), joints=order)
    data, axes = theirs.createData(), pin.ReferenceFrame
    swap, tool = [3, 4, 5, 0, 1, 2], theirs.getFrameId("tool")
    for k in range(2):
        q, dq, ddq, tau = (x[key][k] for key in ("q", "dq", "ddq", "tau"))
        y, v, a, f = there.q(q), there.dq(q, dq), there.ddq(q, dq, ddq), there.tau(q, tau)

        def columns(J, y=y):
            return back.jacobian(y, J)

        M = np.triu(pin.crba(theirs, data, y))
        assert close(robot.mass_matrix(q), back.mass_matrix(y, M + np.triu(M, 1).T))
        assert close(
            robot.inverse_dynamics(q, dq, ddq), back.tau(y, pin.rnea(theirs, data, y, v, a))
        )
        assert close(
            robot.bias_forces(q, dq), back.tau(y, pin.nonLinearEffects(theirs, data, y, v))
        )
        gravity = pin.computeGeneralizedGravity(theirs, data, y)
        assert close(robot.gravity_forces(q), back.tau(y, gravity))
        found = robot.forward_dynamics(q, dq, tau)
        assert close(there.ddq(q, dq, found), pin.aba(theirs, data, y, v, f))
        assert close(robot.kinetic_energy(q, dq), pin.computeKineticEnergy(theirs, data, y, v))
        for ours, frame in ((robot.body_jacobian, axes.LOCAL), (robot.space_jacobian, axes.WORLD)):
            J = pin.computeFrameJacobian(theirs, data, y, tool, frame)
            assert close(ours(q), columns(J))
        pin.forwardKinematics(theirs, data, y, v, a)
        pin.updateFramePlacements(theirs, data)
        assert close(robot.pose(q), data.oMf[tool].homogeneous)
        V = pin.getFrameVelocity(theirs, data, tool, axes.LOCAL).vector[swap]
        assert close(robot.frame_velocity(q, dq), V)
        dV = pin.getFrameAcceleration(theirs, data, tool, axes.LOCAL).vector[swap]
        assert close(robot.frame_acceleration(q, dq, ddq), dV)
        if name != "humanoid":  # where the code takes seconds
            slopes = pin.computeRNEADerivatives(theirs, data, y, v, a)[:2]
            found = robot.inverse_dynamics_derivatives(q, dq, ddq)
            assert all(close(x, back.mass_matrix(y, z)) for x, z in zip(found, slopes, strict=True))


@pytest.mark.parametrize("name", ["chain", "tree", "spherical", "springs", "loop"])
def test_mujoco(name):
    """M, and inverse dynamics with springs, damping and armature, of the MJCF that we write."""
    robot, x = kt.constraints.unconstrained(recipe(name).build()), states(name)
    theirs = mujoco.MjModel.from_xml_string(kt.convert.to_mjcf(robot, losses="allow"))
    data = mujoco.MjData(theirs)
    order = [theirs.joint(k).name for k in range(theirs.njnt)]
    there = kt.convert.to_mujoco(robot, joints=order)
    back = kt.convert.from_mujoco(robot, joints=order)
    for k in range(2):
        q, dq, ddq = (x[key][k] for key in ("q", "dq", "ddq"))
        data.qpos[:], data.qvel[:] = there.q(q), there.dq(q, dq)
        data.qacc[:] = there.ddq(q, dq, ddq)
        mujoco.mj_inverse(theirs, data)
        found = robot.inverse_dynamics(q, dq, ddq)
        assert close(found, back.tau(data.qpos, data.qfrc_inverse))
        M = np.zeros((theirs.nv, theirs.nv))
        mujoco.mj_fullM(theirs, data, M)
        assert close(robot.mass_matrix(q), back.mass_matrix(data.qpos, M))
