"""Joint axes: the screw of each type, the type of each screw, and axes that do not fit."""

import numpy as np
import pytest

from kinetree.errors import InputError, ModelError, ShapeError
from kinetree.files.description import joint_screw
from kinetree.files.description.joints import check_kind
from kinetree.spatial import screw

POINT, AXIS = (1, 2, 3), (0, 0.6, 0.8)


@pytest.mark.parametrize("type", ["spherical", "planar", "free", "fixed"])
def test_other_joints_have_no_screw(type):
    assert joint_screw(type, AXIS, 0, POINT, "j") is None


@pytest.mark.parametrize(
    ("type", "pitch", "words"),
    [
        ("revolute", 0.1, "axis is .*, pitch 0.1, which does not fit the type 'revolute'"),
        ("revolute", np.inf, "axis is .*, a translation, which does not fit the type 'revolute'"),
        ("prismatic", 0, "pitch 0, which does not fit the type 'prismatic'"),
        ("helical", np.inf, "a translation, which does not fit the type 'helical'"),
    ],
)
def test_an_axis_that_does_not_fit_its_joint_is_refused(type, pitch, words):
    with pytest.raises(ModelError, match=words):
        check_kind(screw((1, 0, 0), (0, 0, 1), pitch), type, "axis")


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (("hinge", AXIS, 0, POINT), ModelError, "joint 'j' has type 'hinge'; expected one of rev"),
        ((None, AXIS, 0, POINT), ModelError, "joint 'j' has type None"),
        (("revolute", (0, 0, 0), 0, POINT), InputError, "axis of joint 'j' is zero"),
        (("revolute", (0, 0, 2), 0, POINT), InputError, "'j' = .* has length 2; expected length 1"),
        (("prismatic", (0, 0), 0, POINT), ShapeError, r"axis of joint 'j' must have shape \(3,\)"),
        (("helical", AXIS, np.inf, POINT), InputError, "pitch of joint 'j' is inf"),
        (("helical", AXIS, None, POINT), InputError, "pitch of joint 'j' is None"),
        (("revolute", AXIS, 0, (1, 2)), ShapeError, "point on the axis of joint 'j' must have sh"),
        (("revolute", AXIS, 0, (1, 2, np.nan)), InputError, r"of joint 'j'\[2\] is nan"),
    ],
)
def test_bad_data_of_a_joint_are_refused_and_the_joint_named(arguments, error, words):
    with pytest.raises(error, match=words):
        joint_screw(*arguments, "j")
