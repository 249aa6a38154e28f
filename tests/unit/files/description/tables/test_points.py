"""Points and axes at q = 0: frames at the points, the tip as tool, and bad lists refused.

That points give the same robot as every other builder is shown in test_screws.py.
"""

import numpy as np
import pytest

from kinetree import algorithms
from kinetree.errors import InertiaError, InputError, ModelError, ShapeError
from kinetree.files.description import describe_points
from kinetree.model import build_model

GOOD = {
    "P": [[0, 0, 0], [1, 0, 0]],
    "C": [[0.5, 0, 0], [1.5, 0, 0]],
    "k": [[0, 0, 1]] * 2,
    "m": [1, 1],
    "I_com": [np.eye(3)] * 2,
}


def build(**change):
    return build_model(describe_points(**(GOOD | change)))


def test_the_last_point_is_the_tip():
    model = build(P=[*GOOD["P"], [2, 0, 0]])
    assert model.tool == "tool"
    # cos(pi / 2) leaves 6e-17; lengths are of size one
    tip = algorithms.pose(model, [np.pi / 2, np.pi / 2])[:3, 3]
    assert np.allclose(tip, [-1, 1, 0], rtol=0, atol=4e-16)


def test_without_a_tip_the_tool_is_the_last_link():
    assert build().tool == "link2"


def test_inertias_are_in_the_axes_of_the_turned_frames():
    R = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    turned = build(R=[R, R], I_com=[np.diag([2, 1, 1.5])] * 2)
    straight = build(I_com=[np.diag([1, 2, 1.5])] * 2)
    for q in ([0.3, 0.4], [1.0, -2.0]):
        a, b = (algorithms.mass_matrix(model, q) for model in (turned, straight))
        assert np.allclose(a, b, rtol=0, atol=1e-14)  # entries of size 10, a few roundings


def test_one_type_and_one_pitch_serve_all_joints():
    model = build(types="helical", pitch=0.2)
    assert model.joint_types == ("helical", "helical")
    assert algorithms.pose(model, [1.0, 1.0])[2, 3] == pytest.approx(0.4, rel=1e-15)


BAD = [
    ({"P": [[0, 0, 0]]}, ShapeError, "there are 2 axes k, 1 points P and 2 centres C; expected"),
    ({"C": [[0, 0, 0]]}, ShapeError, "2 points P and 1 centres C; expected as many centres as"),
    ({"P": [[0, 0], [1, 0]]}, ShapeError, r"P must have shape \(any, 3\), found \(2, 2\)"),
    ({"C": [[0, 0, 0], [0, np.inf, 0]]}, InputError, r"C\[1, 1\] is inf"),
    ({"k": [[0, 0, 1], [0, 0, 0]]}, InputError, r"k\[1\] is zero; expected a direction"),
    ({"k": [[0, 0, 1], [0, 3, 4]]}, InputError, r"k\[1\] = .* has length 5; expected length 1"),
    ({"R": [np.eye(3), -np.eye(3)]}, InputError, r"R\[1\] is not a rotation.*det R = -1"),
    ({"R": np.eye(3)}, ShapeError, r"R must have shape \(2, 3, 3\), found \(3, 3\)"),
    ({"types": ["revolute", "hinge"]}, ModelError, r"types\[1\] is 'hinge'; expected revolute, pr"),
    ({"types": "spherical"}, ModelError, r"types\[0\] is 'spherical'; expected"),
    ({"types": "fixed"}, ModelError, r"types\[0\] is 'fixed'; expected"),
    ({"pitch": [1]}, ShapeError, "pitch has 1 entry; expected 2"),
    ({"types": "helical", "pitch": np.nan}, InputError, "pitch of joint 'joint1' is nan"),
    ({"types": "helical", "pitch": np.inf}, InputError, "pitch of joint 'joint1' is inf"),
    ({"m": [1, np.nan]}, InputError, r"m\[1\] is nan"),
    ({"m": [1, -3]}, InertiaError, "link 'link2' is not a physical body: its mass -3 kg"),
    ({"I_com": [np.eye(3), np.triu(np.ones((3, 3)))]}, InertiaError, "'link2' is not symmetric"),
    ({"parent": [-1, "a"]}, ModelError, r"parent\[1\] is 'a'; expected a whole number"),
    ({"Gravity": (0, 0, 0)}, InputError, "there is no option 'Gravity'; expected one of name, gr"),
]


@pytest.mark.parametrize(("change", "error", "words"), BAD)
def test_a_bad_list_is_refused_and_the_entry_named(change, error, words):
    with pytest.raises(error, match=words):
        build(**change)
