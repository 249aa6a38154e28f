"""Laws of what is written down: closed forms, exported code and files are the same robot."""

import ctypes
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mechanisms import SCREWS, SEEDS, build, close, mechanisms, state

import kinetree as kt
from kinetree import dynamics

PARAMETERS = st.sampled_from([None, "inertial", "lengths", "gravity", "friction", "drives"])
QUANTITIES = {
    "inverse_dynamics": 3,
    "forward_dynamics": 3,
    "mass_matrix": 1,
    "bias_forces": 2,
    "gravity_forces": 1,
}


@settings(max_examples=6)
@given(mechanisms(2, types=SCREWS, floating=False), SEEDS, PARAMETERS)
def test_closed_forms_have_the_numbers_of_the_algorithms(mechanism, seed, parameters):
    """Rotations become those of nearby fractions, to 1e-10."""
    robot = build(mechanism)
    model, (q, dq, ddq) = robot.model, state(robot, seed)
    s = kt.symbolic(robot, parameters=parameters)
    tau = dynamics.inverse_dynamics(model, q, dq, ddq)
    size = 1 + np.abs(tau).max()
    close(s.evaluate("tau", q, dq, ddq), tau, 1e-8, size)
    close(s.evaluate("M", q), dynamics.mass_matrix(model, q), 1e-8, 1)
    g = dynamics.gravity_forces(model, q)
    close(np.ravel(s.evaluate("g", q)), g, 1e-8, size)
    C = dynamics.coriolis_matrix(model, q, dq)
    close(np.ravel(s.evaluate("c", q, dq)), C @ dq, 1e-8, size)
    close(s.evaluate("T", q), dynamics.pose(model, q), 1e-8, 1)
    close(s.evaluate("J", q), dynamics.body_jacobian(model, q), 1e-8, 1)
    close(s.evaluate("K", q, dq), dynamics.kinetic_energy(model, q, dq), 1e-8, 1)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler")
@settings(max_examples=5)
@given(mechanisms(3), SEEDS, st.sampled_from(sorted(QUANTITIES)))
def test_exported_c_is_the_kernel(mechanism, seed, quantity):
    robot = build(mechanism)
    args = [np.ascontiguousarray(x) for x in state(robot, seed)[: QUANTITIES[quantity]]]
    expected = getattr(robot, quantity)(*args)
    code = kt.export(robot, quantity, "c", name="f", dtype="double")
    out = np.zeros(expected.shape)
    pointers = [x.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for x in (*args, out)]
    compiled(code).f(*pointers)
    close(out, expected, 1e-11, 1.0)


def compiled(code):
    """The loaded library of C code."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "f.c", Path(folder) / "f.so"
        code.save(source)
        flags = ["-std=c99", "-O1", "-shared", "-fPIC"]
        subprocess.run(["gcc", *flags, source, "-o", library, "-lm"], check=True)
        return ctypes.CDLL(str(library))


# ------------------------------------------------------------------------------ files


def same_robot(found, robot, seed, tolerance=1e-10):
    """Assert that two robots of the same joints need the same joint forces and have one tool."""
    q, dq, ddq = state(robot, seed)
    assert sorted(found.dof_names) == sorted(robot.dof_names)
    order = [robot.dof_names.index(name) for name in found.dof_names]
    coords = [robot.coordinate_names.index(name) for name in found.coordinate_names]
    tau = dynamics.inverse_dynamics(robot.model, q, dq, ddq)
    again = dynamics.inverse_dynamics(found.model, q[coords], dq[order], ddq[order])
    close(again, tau[order], tolerance, 1.0)
    M = dynamics.mass_matrix(robot.model, q)[np.ix_(order, order)]
    close(dynamics.mass_matrix(found.model, q[coords]), M, tolerance)


IN_URDF = mechanisms(4, types=("revolute", "prismatic", "fixed"), drives=("mimic",), floating=False)


def symmetric_friction(mechanism, level):
    """The mechanism with the same friction in both directions, which files can write."""
    return mechanism.changed(drive={"friction": ((level, level), (level / 2, level / 2))})


@settings(max_examples=20)
@given(IN_URDF, SEEDS)
def test_written_urdf_reads_back(mechanism, seed):
    robot = build(replace(mechanism, gravity=(0, 0, -9.81)))
    same_robot(kt.load_string(kt.convert.to_urdf(robot, losses="allow")), robot, seed)


@settings(max_examples=10)
@given(IN_URDF, SEEDS)
def test_written_urdf_has_the_forces_of_pinocchio(mechanism, seed):
    pin = pytest.importorskip("pinocchio")
    plain = mechanism.changed(drive={})
    robot = build(replace(plain, gravity=(0, 0, -9.81)))
    model = pin.buildModelFromXML(kt.convert.to_urdf(robot, losses="allow"))
    q, dq, ddq = state(robot, seed)
    angles, rates, order = pin.neutral(model), np.zeros((2, model.nv)), []
    for i, name in enumerate(robot.dof_names):
        joint = model.joints[model.getJointId(name)]
        order.append(joint.idx_v)
        rates[:, joint.idx_v] = dq[i], ddq[i]
        place = (np.cos(q[i]), np.sin(q[i])) if joint.nq == 2 else q[i]
        angles[joint.idx_q : joint.idx_q + joint.nq] = place
    tau = pin.rnea(model, model.createData(), angles, *rates)[order]
    close(dynamics.inverse_dynamics(robot.model, q, dq, ddq), tau, 1e-9, 1.0)


IN_MJCF = mechanisms(
    4, types=("revolute", "prismatic", "spherical"), drives=("armature", "spring"), floating=True
)


@settings(max_examples=20)
@given(IN_MJCF, SEEDS)
def test_written_mjcf_reads_back(mechanism, seed):
    first = mechanism.parts[0]
    if first.type == "free":  # of MuJoCo measures from the world
        first = replace(first, turn=(0.0, 0.0, 0.0), place=(0.0, 0.0, 0.0))
    robot = build(replace(mechanism, parts=(first, *mechanism.parts[1:])))
    same_robot(kt.load_string(kt.convert.to_mjcf(robot, losses="allow")), robot, seed)


@settings(max_examples=10)
@given(mechanisms(4, types=("revolute", "prismatic"), drives=("armature",), floating=False), SEEDS)
def test_written_mjcf_has_the_forces_of_mujoco(mechanism, seed):
    mujoco = pytest.importorskip("mujoco")
    robot = build(mechanism)
    model = mujoco.MjModel.from_xml_string(kt.convert.to_mjcf(robot, losses="allow"))
    data = mujoco.MjData(model)
    q, dq, ddq = state(robot, seed)
    places = [int(model.joint(name).dofadr[0]) for name in robot.dof_names]
    data.qpos[places], data.qvel[places], data.qacc[places] = q, dq, ddq
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    mujoco.mj_inverse(model, data)
    tau = dynamics.inverse_dynamics(robot.model, q, dq, ddq)
    close(data.qfrc_inverse[places], tau, 1e-9, 1.0)


@settings(max_examples=10)
@given(mechanisms(4, types=("revolute", "prismatic"), drives=(), floating=False), st.data())
def test_friction_survives_files(mechanism, data):
    level = data.draw(st.integers(1, 9)) / 10
    robot = build(symmetric_friction(replace(mechanism, gravity=(0, 0, -9.81)), level))
    for text in (
        kt.convert.to_urdf(robot, losses="allow"),
        kt.convert.to_mjcf(robot, losses="allow"),
    ):
        same_robot(kt.load_string(text), robot, data.draw(SEEDS))
