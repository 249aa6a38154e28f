"""Given robots: dynamics of the records against values that MuJoCo computed."""

import dataclasses
from functools import cache

import numpy as np
import pytest
from mjcf_files_given import given_models, meta_of, reference_module

from kinetree import algorithms
from kinetree.files.description import Friction
from kinetree.files.description.mjcf import read_mjcf
from kinetree.model import build_model

pytest.importorskip("mujoco", reason="MJCF needs mujoco")

POSITIONS = {"x": "px", "y": "py", "z": "pz"}  # of a free joint: ours -> theirs
TOLERANCE = 1e-10
STATES = (0, 5, 9)


def error(found, expected, scale=0.0):
    """Largest difference, relative to the largest entry or to `scale`."""
    largest = max(np.abs(expected).max(initial=0), scale, 1e-12)
    return np.abs(found - expected).max(initial=0) / largest


@cache
def load(folder):
    """The model without friction and springs, which the references leave out, and these."""
    meta = meta_of(folder)
    if "mjcf" not in meta["modes"]:
        pytest.skip("the file is refused")
    robot = read_mjcf(folder / meta["file"])
    joints = tuple(dataclasses.replace(joint, friction=Friction()) for joint in robot.joints)
    bare = dataclasses.replace(robot, joints=joints, springs={})
    model = build_model(bare, unphysical="allow")
    ref = reference_module().Ref(str(folder), meta, "mjcf")
    return model.with_gravity(ref.z["gravity"]), ref


def configuration(model, ref, s):
    values, q = ref.q(s), []
    for name in model.coordinate_names:
        joint, _, part = name.rpartition(".")
        their = f"{joint}.{POSITIONS.get(part, part)}"
        q.append(values[name if name in values else their])
    return np.array(q)


@pytest.mark.parametrize("folder", given_models())
def test_mass_matrix_and_joint_forces(folder):
    model, ref = load(folder)
    dofs = list(model.dof_names)
    assert sorted(dofs) == sorted(ref.dofs)
    M, v, a = (ref.get(key, dofs) for key in ("M", "v", "a"))
    tau, g, c = (ref.get(key, dofs) for key in ("tau_rnea", "tau_gravity", "tau_coriolis"))
    for s in STATES:
        q, scale = configuration(model, ref, s), np.abs(tau[s]).max()
        assert error(algorithms.mass_matrix(model, q), M[s]) < TOLERANCE
        assert error(algorithms.inverse_dynamics(model, q, v[s], a[s]), tau[s]) < TOLERANCE
        assert error(algorithms.gravity_forces(model, q), g[s], scale) < TOLERANCE
        assert error(algorithms.coriolis_forces(model, q, v[s]), c[s], scale) < TOLERANCE


@pytest.mark.parametrize("folder", given_models())
def test_accelerations(folder):
    model, ref = load(folder)
    if ref.info["M_singular"]:
        pytest.skip("the mass matrix is singular")
    dofs = list(model.dof_names)
    v, tau, ddq = (ref.get(key, dofs) for key in ("v", "tau_in", "qdd_aba"))
    for s in STATES:
        q = configuration(model, ref, s)
        tolerance = max(TOLERANCE, 1e-14 * ref.z["M_cond"][s])
        assert error(algorithms.forward_dynamics(model, q, v[s], tau[s]), ddq[s]) < tolerance


@pytest.mark.parametrize("folder", given_models())
def test_link_poses(folder):
    model, ref = load(folder)
    for s in STATES:
        q = configuration(model, ref, s)
        for link in ref.links:
            if link not in model.frames:
                assert link == "world"
                continue
            T = algorithms.pose(model, q, link)
            p, R = ref.pose(s, link)
            assert np.abs(T[:3, 3] - p).max() < TOLERANCE
            assert np.abs(T[:3, :3] - R).max() < TOLERANCE
