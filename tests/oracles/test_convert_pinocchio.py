"""After conversion, Pinocchio computes the same motion: of trees, and of URDF that we write."""

import numpy as np
import pytest

from kinetree import algorithms, convert
from kinetree.files.write import to_urdf
from kinetree.model import ALL_TYPES, WORLD, random_model
from kinetree.spatial import cross, translation
from robot_states import random_state, relative

pin = pytest.importorskip("pinocchio")

TOLERANCE = 1e-12


def placement(T):
    return pin.SE3(np.asarray(T, float))


def pinocchio_joint(joint):
    """Pinocchio's joint, and where its frame stands in our link frame."""
    if joint.screw is None:
        kinds = {
            "free": pin.JointModelFreeFlyer,
            "spherical": pin.JointModelSpherical,
            "planar": pin.JointModelPlanar,
        }
        return kinds[joint.type](), np.eye(4)
    w, v = joint.screw[:3], joint.screw[3:]
    if joint.type == "prismatic":
        return pin.JointModelPrismaticUnaligned(v), np.eye(4)
    at = translation(cross(w, v))
    if joint.type == "helical":
        return pin.JointModelHelicalUnaligned(w, float(w @ v)), at
    return pin.JointModelRevoluteUnaligned(w), at


def pinocchio_model(model):
    """The same tree, its joint frames on the axes of the joints.

    Pinocchio's mass matrix needs the joints of every subtree side by side: depth first.
    """
    result, ids, points = pin.Model(), {WORLD: 0}, {WORLD: np.eye(4)}
    result.gravity = pin.Motion(model.gravity[3:], np.zeros(3))
    waiting = list(reversed(model.children[WORLD]))
    while waiting:
        i = waiting.pop()
        waiting += reversed(model.children[i])
        joint, p = model.joints[i], model.parent[i]
        kind, points[i] = pinocchio_joint(joint)
        M = np.linalg.inv(points[p]) @ model.M_pi[i] @ points[i]
        ids[i] = result.addJoint(ids[p], kind, placement(M), joint.name)
        body = pin.Inertia(float(model.m[i]), model.com[i], model.I_com[i])
        result.appendBodyToJoint(ids[i], body, placement(np.linalg.inv(points[i])))
    return result


def agrees(model, theirs, **options):
    there, back = (f(model, **options) for f in (convert.to_pinocchio, convert.from_pinocchio))
    data = theirs.createData()
    for seed in range(3):
        x = random_state(model, seed)
        q, v = there.q(x.q), there.dq(x.q, x.dq)
        a = there.ddq(x.q, x.dq, x.ddq)
        tau = algorithms.inverse_dynamics(model, *x.motion)
        assert relative(back.tau(q, pin.rnea(theirs, data, q, v, a)), tau) < TOLERANCE
        M = pin.crba(theirs, data, q)
        M = np.triu(M) + np.triu(M, 1).T
        assert relative(back.mass_matrix(q, M), algorithms.mass_matrix(model, x.q)) < TOLERANCE
        found = back.ddq(q, v, pin.aba(theirs, data, q, v, there.tau(x.q, tau)))
        assert relative(found, x.ddq) < 1e-10
        # the other way: integrating there and here leads to the same place
        moved = back.q(pin.integrate(theirs, q, 0.1 * v))
        expected = algorithms.integrate(model, x.q, 0.1 * x.dq)
        T = [algorithms.pose(model, y, model.tool) for y in (moved, expected)]
        assert relative(*T) < TOLERANCE


@pytest.mark.parametrize("seed", range(12))
def test_trees_of_all_joints_move_alike(seed):
    model = random_model(seed, 2 + seed, types=ALL_TYPES, drives=False, fixed=False)
    theirs = pinocchio_model(model)
    agrees(model, theirs, joints=list(theirs.names)[1:], continuous=())


@pytest.mark.parametrize("seed", range(6))
def test_wrenches_and_jacobians_of_links_are_the_same(seed):
    model = random_model(seed, 6, types=("revolute", "free", "prismatic"), drives=False)
    points = [pinocchio_joint(joint)[1] for joint in model.joints]
    theirs = pinocchio_model(model)
    there = convert.to_pinocchio(model, list(theirs.names)[1:], continuous=())
    x, data = random_state(model, seed), theirs.createData()
    q = there.q(x.q)
    pin.computeJointJacobians(theirs, data, q)
    for i, name in enumerate(model.link_names):
        J = there.jacobian(x.q, algorithms.body_jacobian(model, x.q, name))
        joint = theirs.getJointId(model.joints[i].name)
        X = placement(np.linalg.inv(points[i])).actInv(pin.SE3.Identity()).action
        found = X @ pin.getJointJacobian(theirs, data, joint, pin.ReferenceFrame.LOCAL)
        assert np.abs(found - J).max() < TOLERANCE
        F = pin.Force(there.wrench(x.F_ext[i]))
        V = pin.Motion(there.twist(x.F_tip))
        assert F.dot(V) == pytest.approx(x.F_ext[i] @ x.F_tip)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.filterwarnings("ignore::kinetree.errors.KinetreeWarning")
def test_urdf_that_we_write_means_the_same_to_pinocchio(seed):
    types = ("revolute", "prismatic", "free", "planar")
    model = random_model(seed, 2 + seed, types=types, drives=False).with_gravity((0, 0, -9.81))
    theirs = pin.buildModelFromXML(to_urdf(model))
    agrees(model, theirs, joints=list(theirs.names)[1:])
