"""Links and joints must form one tree of different names; the message says where they do not."""

import numpy as np
import pytest

from kinetree import Builder
from kinetree.errors import InputError, ModelError, NameLookupError
from kinetree.files.description import JointDescription, LinkDescription, RobotDescription
from kinetree.model import build_model


def robot(joints, links="abcd"):
    """Links of one letter and revolute joints between them, such as "ab"."""
    builder = Builder("toy")
    for link in links:
        builder.link(link)
    for k, (parent, child) in enumerate(joints):
        builder.joint(f"j{k}", "revolute", parent, child)
    return builder


def test_a_tree_is_accepted():
    model = robot(["ab", "ac", "cd"]).build_model()
    assert model.base_name == "a" and model.parent == (-1, -1, 1)


@pytest.mark.parametrize(
    ("builder", "error", "words"),
    [
        (Builder("toy"), ModelError, "'toy' has no links; expected at least one"),
        (robot(["ab", "cd"]), ModelError, "2 links have no parent: 'a', 'c'; expected one root"),
        (robot([]), ModelError, "4 links have no parent: 'a', 'b', 'c', 'd'"),
        (robot(["aa", "bc", "cd"]), ModelError, "joint 'j0' joins 'a' to itself; expected two"),
        (robot(["ab", "cd", "dc"]), ModelError, "the links 'c' -> 'd' -> 'c' form a loop"),
        (
            robot(["ab", "bc", "cd", "da"]),
            ModelError,
            "'a' -> 'b' -> 'c' -> 'd' -> 'a' form a",
        ),
        (
            robot(["ab", "ac", "bd", "cd"]),
            ModelError,
            "'d' is the child of two joints, 'j2' and",
        ),
        (
            robot(["ab", "ac", "ad"], "abcda"),
            ModelError,
            "two links are called 'a'; every link ne",
        ),
        (
            robot(["ab", "ac", "ax"]),
            NameLookupError,
            "'j2' has child 'x', which is not a link. There are 'a'",
        ),
        (robot(["ab", "ac", "xd"]), NameLookupError, "'j2' has parent 'x', which is not a link"),
        (
            robot(["ab", "ac", "ad"]).joint("j0", "fixed", "a", "b"),
            ModelError,
            "two joints are called 'j0'; every joint needs its own name",
        ),
        (
            robot(["ab", "ac", "ad"]).frame("b", "a"),
            ModelError,
            "two frames are called 'b'; every frame needs its own name",
        ),
        (
            robot(["ab", "ac", "ad"]).frame("eye", "x"),
            NameLookupError,
            "frame 'eye' is fixed to 'x', which is not a link; the links are a, b, c, d",
        ),
    ],
)
def test_what_is_no_tree_is_refused_by_name(builder, error, words):
    with pytest.raises(error, match=words):
        builder.build_model()


def described(**change):
    """One joint, described by hand as a reader of files would."""
    data = {
        "name": "j",
        "type": "revolute",
        "parent": "a",
        "child": "b",
        "M_pc": np.eye(4),
        "A": np.array([0, 0, 1.0, 0, 0, 0]),
    }
    joint = JointDescription(**(data | change))
    links = (LinkDescription("a"), LinkDescription("b"))
    return RobotDescription(name="toy", links=links, joints=(joint,))


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"A": None}, InputError, "joint 'j' of type 'revolute' has no screw axis"),
        ({"A": np.zeros(6)}, InputError, "screw axis of joint 'j' is zero"),
        (
            {"A": np.array([0, 0, 1, 0, 0, 0.5])},
            ModelError,
            "pitch 0.5, which does not fit",
        ),
        ({"type": "prismatic"}, ModelError, "'j' is .*, which does not fit the type 'prismatic'"),
        ({"M_pc": np.zeros((4, 4))}, InputError, "home pose of joint 'j' has last row"),
        ({"M_pc": np.eye(3)}, InputError, r"home pose of joint 'j' must have shape \(4, 4\)"),
    ],
)
def test_a_description_that_contradicts_itself_is_refused(change, error, words):
    assert build_model(described()).n == 1
    with pytest.raises(error, match=words):
        build_model(described(**change))


def test_an_unknown_tool_is_refused_with_the_frames_that_exist():
    data = described()
    data = RobotDescription(name="toy", links=data.links, joints=data.joints, tool="hand")
    with pytest.raises(NameLookupError, match="tool frame 'hand' is unknown; frames are a, b"):
        build_model(data)


def test_a_long_chain_is_no_recursion():
    """A thousand links are checked link by link, not call by call."""
    builder = Builder().link("0")
    for k in range(1000):
        builder.link(str(k + 1)).joint(f"j{k}", "fixed", str(k), str(k + 1), at=(0, 0, 1))
    assert builder.build_model().frames["1000"].T_if[2, 3] == 1000
