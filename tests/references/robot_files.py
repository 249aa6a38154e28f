"""What the reference tests of files share: the given files, readers without warnings, MuJoCo.

The given files are those of ../shared beside the repository, or of the folder KINETREE_SHARED.
"""

import os
import warnings
from pathlib import Path

import numpy as np

import kinetree as kt
from kinetree import dynamics

HERE = Path(__file__).resolve().parent
SHARED = Path(os.environ.get("KINETREE_SHARED", HERE.parents[2] / "shared"))


def quietly(function, *arguments, **options):
    """What a function returns, without the warnings of kinetree."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.errors.KinetreeWarning)
        return function(*arguments, **options)


def load_quietly(path, **options):
    return quietly(kt.load, path, **options)


def parse(text, **options):
    """The robot of a text, without warnings."""
    return quietly(kt.load_string, text, **options)


def remarks(robot):
    """Everything that the report of a robot says."""
    return " ".join(f"{x.where} {x.text}" for x in (*robot.report.warnings, *robot.report.notes))


def bare(robot):
    """The robot as a tree without friction and springs."""
    robot = kt.constraints.unconstrained(robot)
    robot = robot.with_friction({x.name: kt.friction.Friction() for x in robot.model.joints})
    return robot.with_springs({spring.name: None for spring in robot.model.springs})


def joint_axis(joint):
    """The direction of a revolute or prismatic joint in its link."""
    A = np.ravel(np.array(joint.A, float))
    return A[:3] if np.any(A[:3]) else A[3:]


def relative(found, expected, scale=0.0):
    """The largest difference, in parts of the largest entry or of `scale`."""
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    assert found.shape == expected.shape
    largest = max(np.abs(expected).max(initial=0), scale, 1e-12)
    return np.abs(found - expected).max(initial=0) / largest


def random_state(robot, seed):
    rng = np.random.default_rng(seed)
    return dynamics.random(robot.model, rng), *rng.normal(size=(2, robot.n))


def assert_same_robot(found, expected, seed=0, tolerance=1e-12, all_frames=True):
    """Poses, mass matrix and inverse dynamics are those of another robot, joints in any order."""
    a, b = found.model, expected.model
    assert set(a.dof_names) == set(b.dof_names)
    assert set(b.frames) <= set(a.frames) or not all_frames
    q, dq, ddq = random_state(expected, seed)
    coords = [b.coordinate_names.index(x) for x in a.coordinate_names]
    dofs = [b.dof_names.index(x) for x in a.dof_names]
    tau = dynamics.inverse_dynamics(b, q, dq, ddq)[dofs]
    here = q[coords], dq[dofs], ddq[dofs]
    assert relative(dynamics.inverse_dynamics(a, *here), tau) < tolerance
    M = dynamics.mass_matrix(b, q)[np.ix_(dofs, dofs)]
    assert relative(dynamics.mass_matrix(a, here[0]), M) < tolerance
    for name in b.frames.keys() & a.frames.keys():
        T = dynamics.pose(b, q, name)
        assert relative(dynamics.pose(a, here[0], name), T) < tolerance, name


def limits_of(robot):
    return {x.name: x.limits for x in robot.model.joints if x.follows is None}


def in_mujoco(mujoco, robot, theirs):
    """Conversions to the order of MuJoCo and back."""
    names = [theirs.joint(j).name or f"#j{j}" for j in range(theirs.njnt)]
    return kt.convert.to_mujoco(robot, names), kt.convert.from_mujoco(robot, names)


def assert_as_mujoco(mujoco, robot, theirs, seed=0, tolerance=1e-11):
    """Inverse dynamics with damping and springs, poses, limits, dry friction: those of MuJoCo."""
    robot = kt.constraints.unconstrained(robot)
    assert_joints_as_mujoco(robot.model, theirs)
    there, back = in_mujoco(mujoco, robot, theirs)
    theirs.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    viscous = {x.name: kt.friction.Friction(x.friction.viscous) for x in robot.model.joints}
    model, data = robot.with_friction(viscous).model, mujoco.MjData(theirs)
    q, dq, ddq = random_state(robot, seed)
    data.qpos[:], data.qvel[:] = there.q(q), there.dq(q, dq)
    data.qacc[:] = there.ddq(q, dq, ddq)
    mujoco.mj_inverse(theirs, data)
    tau = back.tau(data.qpos.copy(), data.qfrc_inverse)
    assert relative(dynamics.inverse_dynamics(model, q, dq, ddq), tau) < tolerance
    for b in range(1, theirs.nbody):
        name = theirs.body(b).name or f"#{b}"
        if name in model.frames:
            T = dynamics.pose(model, q, name)
            assert relative(T[:3, 3], data.xpos[b], 1) < tolerance, name
            assert relative(T[:3, :3].ravel(), data.xmat[b], 1) < tolerance, name


def assert_joints_as_mujoco(model, theirs):
    for j in range(theirs.njnt):
        if theirs.jnt_type[j] < 2:  # free and ball joints
            continue
        joint = model.joint(theirs.joint(j).name or f"#j{j}")
        limited = bool(theirs.jnt_limited[j])
        ends = tuple(theirs.jnt_range[j]) if limited else (-np.inf, np.inf)
        assert (
            relative([joint.limits.lower, joint.limits.upper], ends) < 1e-15
            if limited
            else ((joint.limits.lower, joint.limits.upper) == ends)
        )
        dof = theirs.jnt_dofadr[j]
        assert joint.friction.coulomb == (theirs.dof_frictionloss[dof],) * 2
