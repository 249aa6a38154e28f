"""Builder: what each call adds, and what it refuses, naming the link or joint."""

import numpy as np
import pytest

from kinetree import Builder, Robot, dynamics
from kinetree.errors import InertiaError, ModelError
from kinetree.spatial import pose, rotation


def pair():
    return Builder().link("base").link("arm", 1.0, (0, 0, 0), np.eye(3))


def joined(**change):
    """A base and an arm with one joint, some of its data changed."""
    data = {"name": "elbow", "type": "revolute", "parent": "base", "child": "arm"}
    return pair().joint(**(data | change)).build_model()


def test_the_docstring_builds_its_pendulum():
    builder = Builder("pendulum").link("base").link("rod", m=1, com=(0, 0, -0.5))
    model = builder.joint("pivot", "revolute", "base", "rod", axis=(0, 1, 0)).build_model()
    # m l^2 of a point mass, and its weight on a horizontal arm of half a metre
    assert dynamics.mass_matrix(model, [0.3])[0, 0] == pytest.approx(0.25, rel=1e-15)
    assert dynamics.gravity_forces(model, [np.pi / 2])[0] == pytest.approx(4.905, rel=1e-15)


def test_build_gives_a_robot_of_the_model():
    builder = pair().joint("elbow", "revolute", "base", "arm", axis=(0, 1, 0))
    robot = builder.build()
    assert isinstance(robot, Robot) and robot.joint_names == ("elbow",)
    assert np.array_equal(robot.model.G, builder.build_model().G)
    assert len(robot.simulate([0.1], duration=0.1).t) > 1
    assert Robot(robot).model is robot.model  # so that Robot(builder.build()) still works


def test_build_passes_the_choice_for_unphysical_bodies_on():
    builder = Builder().link("base").link("arm", 1, (0, 0, 0), np.diag([1, 1, 3]))
    builder.joint("elbow", "revolute", "base", "arm")
    with pytest.raises(InertiaError, match="'arm'"):
        builder.build()
    assert builder.build(unphysical="allow").model.I_com[0, 2, 2] == 3


def test_a_position_is_a_pose_without_a_turn():
    T = pose(rotation(np.array([0, 0, 1]), 0.4), np.array([1, 2, 3]))
    assert np.array_equal(joined(at=T).M_pi[0], T)
    assert joined(at=(1, 2, 3)).M_pi[0, :3].tolist() == [[1, 0, 0, 1], [0, 1, 0, 2], [0, 0, 1, 3]]


def test_an_axis_may_miss_the_origin_of_the_child():
    T = dynamics.pose(joined(point=(1, 0, 0)), [np.pi])
    assert np.allclose(T[:3, 3], [2, 0, 0], rtol=0, atol=4e-16)


def test_the_tool_is_the_frame_that_is_said_to_be_it():
    builder = pair().joint("elbow", "revolute", "base", "arm")
    assert builder.build_model().tool == "arm"
    builder.frame("tip", "arm", (0, 0, 1)).frame("eye", "arm", tool=True).frame("end", "base")
    assert builder.build_model().tool == "eye"


def test_building_twice_gives_two_equal_models():
    builder = pair().joint("elbow", "revolute", "base", "arm")
    a, b = builder.build_model(), builder.build_model()
    assert a is not b and np.array_equal(a.G, b.G)


def test_impossible_inertia_can_be_used_on_request():
    builder = Builder().link("base").link("arm", 1, (0, 0, 0), np.diag([1, 1, 3]))
    builder.joint("elbow", "revolute", "base", "arm")
    with pytest.warns(UserWarning, match="link 'arm' is not a physical body"):
        assert builder.build_model(unphysical="warn").I_com[0, 2, 2] == 3
    assert builder.build_model(unphysical="allow").I_com[0, 2, 2] == 3
    with pytest.raises(ModelError, match="unphysical is 'yes'; expected error, warn, allow"):
        Builder().link("base").build_model(unphysical="yes")
