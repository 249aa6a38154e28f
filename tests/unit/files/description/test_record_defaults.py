"""Records: what is left out is neutral, so that it changes no torque."""

from math import inf

import numpy as np

import kinetree as kt
from kinetree.files.description import (
    Body,
    Friction,
    JointDescription,
    Limits,
    LinkDescription,
    Mesh,
    Mimic,
    RobotDescription,
    Rotor,
)


def test_what_is_left_out_is_neutral():
    assert (Body().m, tuple(Body().com), Body().I_com.tolist()) == (0, (0, 0, 0), [[0] * 3] * 3)
    assert (Friction().viscous, Friction().coulomb, Friction().function) == (0, 0, None)
    assert (Rotor(0.1).inertia, Rotor(0.1).ratio) == (0.1, 1)
    assert Rotor(0.1).axis is Rotor(0.1).link is None
    assert Limits() == Limits(-inf, inf, inf, inf)
    assert (Mimic("a").multiplier, Mimic("a").offset) == (1, 0)
    assert Mesh("l", "a.stl", np.eye(4)).scale == (1, 1, 1)
    link = LinkDescription("l")
    assert link.bodies == () and link.where == ""
    joint = JointDescription(
        name="j", type="revolute", parent="base", child="l", M_pc=np.eye(4), A=np.eye(6)[2]
    )
    assert (joint.offset, joint.armature, joint.mimic, joint.rotor) == (0, 0, None, None)
    assert (joint.friction, joint.limits) == (Friction(), Limits())
    robot = RobotDescription(name="r", links=(LinkDescription("base"), link), joints=(joint,))
    assert tuple(robot.gravity) == (0, 0, -9.81) and robot.tool is None
    assert robot.frames == robot.notes == robot.warnings == robot.meshes == ()


def test_a_rotor_without_a_ratio_turns_with_its_joint():
    """A rotor of inertia I on the base beside the axis adds I to the mass matrix."""
    builder = kt.Builder("one").link("base").link("body", 1.0, (0, 0, 0), np.eye(3))
    builder.joint("j", "revolute", "base", "body", rotor=Rotor(0.25))
    assert np.allclose(builder.build().mass_matrix([0.3]), 1.25, 0, 1e-15)
