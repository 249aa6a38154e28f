"""Options of a table of joints: one value for all, one a joint, none; and nothing passed over."""

import numpy as np
import pytest

from kinetree.errors import InputError, ModelError, ShapeError
from kinetree.files.description import Friction, Limits, Rotor, describe_screws
from kinetree.files.description.tables import per_joint
from kinetree.model import build_model

GOOD = {"S": [[0, 0, 1, 0, 0, 0]] * 2, "M": [np.eye(4)] * 2, "G": [np.eye(6)] * 2}


def build(**options):
    return build_model(describe_screws(**GOOD, **options))


def test_one_value_serves_all_joints_and_none_is_the_default():
    assert per_joint(3, 2, 0, "x") == [3, 3]
    assert per_joint(None, 2, 0, "x") == [0, 0]
    assert per_joint([1, None], 2, 0, "x") == [1, 0]
    assert per_joint(np.array([1, 2]), 2, 0, "x") == [1, 2]
    assert per_joint("word", 2, "", "x") == ["word", "word"]


def test_drive_data_reach_their_joints():
    model = build(
        friction=[None, Friction(0.1, (0.2, 0.3))],
        armature=[0.5, None],
        rotors=[None, Rotor(1e-3, 50)],
        limits=Limits(-1, 2, 3, 4),
    )
    first, second = model.joints
    assert first.friction.viscous == (0, 0) and second.friction.coulomb == (0.2, 0.3)
    assert (first.armature, second.armature) == (0.5, 0)
    assert [rotor.joint for rotor in model.rotors] == [1]
    assert first.limits == second.limits == Limits(-1, 2, 3, 4)


def test_names_are_given_or_counted():
    model = build()
    assert model.joint_names == ("joint1", "joint2") and model.link_names == ("link1", "link2")
    model = build(name="arm", joint_names=["a", None], link_names=["x", "y"], base_name="floor")
    assert model.joint_names == ("a", "joint2") and model.link_names == ("x", "y")
    assert model.base_name == "floor" and model.name == "arm"


@pytest.mark.parametrize(
    ("option", "error", "words"),
    [
        ({"gravty": (0, 0, 0)}, InputError, "no option 'gravty'; expected one of name, gravity"),
        ({"armature": [1]}, ShapeError, "armature has 1 entry; expected 2, one for each joint"),
        ({"armature": [1, -2]}, InputError, "armature of joint 'joint2' is -2.0; expected >= 0"),
        ({"armature": np.array([0, np.nan])}, InputError, "armature of joint 'joint2' is nan"),
        ({"armature": {0: 1}}, InputError, "armature is a dict, whose names have no meaning"),
        ({"friction": 0.1}, InputError, r"friction of joint 'joint1' is 0.1; .* Friction\(...\)"),
        ({"friction": [Friction()]}, ShapeError, "friction has 1 entry; expected 2"),
        ({"friction": [Friction(), Friction(-1)]}, InputError, "viscous .* 'joint2' is -1.0"),
        (
            {"rotors": 1e-3},
            InputError,
            r"rotor of joint 'joint1' is 0.001; .* Rotor\(...\) or",
        ),
        ({"limits": (-1, 1)}, InputError, r"limits of joint 'joint1' is -1; .* Limits\(...\)"),
        ({"limits": [(-1, 1)] * 2}, InputError, r"limits of joint 'joint1' is \(-1, 1\)"),
        ({"joint_names": ["a", "a"]}, ModelError, "two joints are called 'a'"),
        ({"joint_names": ["a"]}, ShapeError, "joint_names has 1 entry; expected 2"),
        ({"link_names": ["a", "base"]}, ModelError, "two links are called 'base'"),
        ({"base_name": "link1"}, ModelError, "two links are called 'link1'"),
    ],
)
def test_a_bad_option_is_refused_and_the_joint_named(option, error, words):
    with pytest.raises(error, match=words):
        build(**option)
