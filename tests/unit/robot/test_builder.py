"""Builder: what each call adds, and what it refuses, naming the link or joint."""

import numpy as np
import pytest

from kinetree import Builder, Robot, algorithms
from kinetree.errors import InertiaError, InputError, ModelError, NameLookupError, ShapeError
from kinetree.files.description import Friction, Limits, Mimic, Rotor
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
    assert algorithms.mass_matrix(model, [0.3])[0, 0] == pytest.approx(0.25, rel=1e-15)
    assert algorithms.gravity_forces(model, [np.pi / 2])[0] == pytest.approx(4.905, rel=1e-15)


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
    T = algorithms.pose(joined(point=(1, 0, 0)), [np.pi])
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


BAD_JOINTS = [
    ({"type": "hinge"}, ModelError, "'elbow' has type 'hinge'; expected one of revolute, prism"),
    ({"axis": (0, 0, 0)}, InputError, "axis of joint 'elbow' is zero; expected a direction"),
    ({"axis": (0, 0, 2)}, InputError, "axis of joint 'elbow' = .* has length 2; expected length 1"),
    ({"axis": (0, 1)}, ShapeError, r"axis of joint 'elbow' must have shape \(3,\), found \(2,\)"),
    ({"axis": "z"}, InputError, "axis of joint 'elbow' must hold real numbers"),
    ({"at": (0, 0)}, ShapeError, r"'at' of joint 'elbow' must be a position \(3,\) or a pose \(4,"),
    ({"at": [[1], [2, 3]]}, ShapeError, "'at' of joint 'elbow' must be .* found a ragged list"),
    ({"at": (0, 0, np.nan)}, InputError, r"'at' of joint 'elbow'\[2\] is nan"),
    ({"at": np.ones((4, 4))}, InputError, "'at' of joint 'elbow' has last row"),
    ({"at": np.diag([1, 1, -1, 1])}, InputError, "of 'at' of joint 'elbow' is not a rotation"),
    ({"friction": 0.1}, InputError, r"friction of joint 'elbow' is 0.1; .* Friction\(...\)"),
    ({"friction": None}, InputError, "friction of joint 'elbow' is None; expected a record"),
    ({"friction": Friction(-1)}, InputError, "viscous friction of joint 'elbow' is -1.0; .* >= 0"),
    ({"friction": Friction(0, (0, -1))}, InputError, "coulomb friction of joint 'elbow' is -1.0"),
    ({"friction": Friction(function=3)}, InputError, r"'elbow' is 3; expected a function b\(dq\)"),
    ({"armature": -1}, InputError, "armature of joint 'elbow' is -1.0; expected >= 0"),
    ({"armature": None}, InputError, "armature of joint 'elbow' is None; expected a number"),
    ({"rotor": 0.1}, InputError, r"rotor of joint 'elbow' is 0.1; .* Rotor\(...\) or None"),
    ({"rotor": Rotor(-1)}, InputError, "rotor inertia of joint 'elbow' is -1.0; expected >= 0"),
    ({"rotor": Rotor(1, np.nan)}, InputError, "gear ratio of joint 'elbow' is nan"),
    ({"rotor": Rotor(1, 1, (0, 0, 2))}, InputError, "rotor axis of joint 'elbow' .* length 2"),
    ({"rotor": Rotor(1, 1, None, "hub")}, NameLookupError, "'elbow' is mounted on 'hub', .* links"),
    ({"type": "free", "rotor": Rotor(1)}, ModelError, "'elbow' of type 'free' has a rotor"),
    ({"mimic": "knee"}, InputError, r"mimic of joint 'elbow' is 'knee'; .* Mimic\(...\) or None"),
    (
        {"mimic": Mimic("knee")},
        NameLookupError,
        "'elbow' mimics 'knee', which is not a moving",
    ),
    ({"limits": (-1, 1)}, InputError, r"limits of joint 'elbow' is \(-1, 1\); .* Limits\(...\)"),
    ({"limits": Limits(1, -1)}, ModelError, "'elbow' has lower limit 1 above its upper limit -1"),
    ({"limits": Limits(np.nan)}, ModelError, "lower limit of joint 'elbow' is nan; expected a num"),
    ({"limits": Limits("low")}, ModelError, "lower limit of joint 'elbow' is low; expected a num"),
    ({"limits": Limits(effort=-1)}, ModelError, "effort limit of joint 'elbow' is -1; expected >="),
    ({"limits": Limits(velocity=-2)}, ModelError, "velocity limit of joint 'elbow' is -2"),
    ({"offset": np.inf}, InputError, "offset of joint 'elbow' is inf"),
    (
        {"parent": "hip"},
        NameLookupError,
        "'elbow' has parent 'hip', which is not a link.",
    ),
    (
        {"child": "hip"},
        NameLookupError,
        "child 'hip', which is not a link. There are 'arm', 'base'",
    ),
    ({"type": "helical", "pitch": np.inf}, InputError, "pitch of joint 'elbow' is inf"),
]


@pytest.mark.parametrize(("change", "error", "words"), BAD_JOINTS)
def test_a_bad_joint_is_refused_by_name(change, error, words):
    with pytest.raises(error, match=words):
        joined(**change)


BAD_LINKS = [
    ({"m": -1}, InertiaError, "link 'arm' is not a physical body: its mass -1 kg is negative"),
    ({"m": np.nan}, InputError, "mass of link 'arm' is nan; expected a finite number"),
    ({"m": [1]}, ShapeError, r"mass of link 'arm' must have shape \(\), found \(1,\)"),
    ({"m": "1"}, InputError, "mass of link 'arm' must hold real numbers"),
    ({"m": 1, "com": (0, 0)}, ShapeError, r"centre of mass of link 'arm' must have shape \(3,\)"),
    ({"m": 1, "I_com": 1}, ShapeError, r"inertia of link 'arm' must have shape \(3, 3\)"),
    ({"m": 1, "I_com": -np.eye(3)}, InertiaError, "'arm' .* smallest principal moment is -1"),
    ({"m": 1, "I_com": np.diag([1, 1, 3])}, InertiaError, r"'arm' .* 1 \+ 1 < 3, short by 1 kg"),
    ({"m": 1, "I_com": np.triu(np.ones((3, 3)))}, InertiaError, "'arm' is not symmetric"),
]


@pytest.mark.parametrize(("data", "error", "words"), BAD_LINKS)
def test_a_bad_link_is_refused_by_name(data, error, words):
    builder = Builder().link("base").link("arm", **data).joint("elbow", "revolute", "base", "arm")
    with pytest.raises(error, match=words):
        builder.build_model()


def test_impossible_inertia_can_be_used_on_request():
    builder = Builder().link("base").link("arm", 1, (0, 0, 0), np.diag([1, 1, 3]))
    builder.joint("elbow", "revolute", "base", "arm")
    with pytest.warns(UserWarning, match="link 'arm' is not a physical body"):
        assert builder.build_model(unphysical="warn").I_com[0, 2, 2] == 3
    assert builder.build_model(unphysical="allow").I_com[0, 2, 2] == 3
    with pytest.raises(ModelError, match="unphysical is 'yes'; expected error, warn, allow"):
        Builder().link("base").build_model(unphysical="yes")
