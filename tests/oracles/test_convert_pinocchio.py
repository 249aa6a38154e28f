"""After conversion, Pinocchio computes the same motion: of trees, and of URDF that we write."""

import numpy as np
import pytest

from kinetree import convert, dynamics
from kinetree.model import WORLD
from kinetree.spatial import cross, translation
from random_robots import random_model
from robot_states import random_state

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
        J = there.jacobian(x.q, dynamics.body_jacobian(model, x.q, name))
        joint = theirs.getJointId(model.joints[i].name)
        X = placement(np.linalg.inv(points[i])).actInv(pin.SE3.Identity()).action
        found = X @ pin.getJointJacobian(theirs, data, joint, pin.ReferenceFrame.LOCAL)
        assert np.abs(found - J).max() < TOLERANCE
        F = pin.Force(there.wrench(x.F_ext[i]))
        V = pin.Motion(there.twist(x.F_tip))
        assert F.dot(V) == pytest.approx(x.F_ext[i] @ x.F_tip)
