"""Mimic joints share degrees of freedom; circles and impossible pairs are refused by name.

A mimic joint is the constraint q = G q_own: M = G^T M_free G and tau = G^T tau_free exactly, and
to the rounding of these sums here, 1e-12 as the issue grants to formulations that agree.
"""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinetree as kt
from kinetree import Builder, algorithms
from kinetree.errors import InputError, ModelError, NameLookupError
from kinetree.files.description import Friction, Mimic, Rotor
from kinetree.model import random_body, random_direction, random_pose

SAME = 1e-12
seeds = st.integers(0, 10**6)
# joint3 follows joint1, joint2 follows joint3 (a forward reference), joint4 moves by itself
FOLLOWS = {2: ("joint3", -1.5, 0.2), 3: ("joint1", 0.7, -0.1)}
G = np.array([[1, 0], [-1.5 * 0.7, 0], [0.7, 0], [0, 1]])
OFFSET = np.array([0, 0.2 - 1.5 * -0.1, -0.1, 0])


def arm(seed, *, mimic):
    """Four joints with friction and rotors, two of which follow others when `mimic`."""
    rng = np.random.default_rng(seed)
    builder = Builder(gravity=(1, 2, -9)).link("link0")
    for k in range(1, 5):
        data = {
            "at": random_pose(rng),
            "axis": random_direction(rng),
            "pitch": 0.2,
            "friction": Friction((0.3, 0.4), 0, lambda dq: 0.1 * dq * dq * dq),
            "armature": rng.uniform(0, 0.1),
            "rotor": Rotor(rng.uniform(0, 1e-2), rng.uniform(-9, 9), None, "link1"),
        }
        follows = Mimic(*FOLLOWS[k]) if mimic and k in FOLLOWS else None
        builder.link(f"link{k}", *random_body(rng)).joint(
            f"joint{k}", "helical", f"link{k - 1}", f"link{k}", mimic=follows, **data
        )
    return builder.build_model()


@settings(max_examples=25)
@given(seeds)
def test_a_mimic_joint_is_the_constraint_that_it_states(seed):
    tied, free = arm(seed, mimic=True), arm(seed, mimic=False)
    q, dq, ddq = np.random.default_rng(seed).normal(size=(3, 2))
    whole = G @ q + OFFSET
    M, expected = algorithms.mass_matrix(tied, q), G.T @ algorithms.mass_matrix(free, whole) @ G
    assert np.linalg.norm(M - expected) <= SAME * np.linalg.norm(expected)
    tau = algorithms.inverse_dynamics(tied, q, dq, ddq)
    expected = G.T @ algorithms.inverse_dynamics(free, whole, G @ dq, G @ ddq)
    assert np.linalg.norm(tau - expected) <= SAME * np.linalg.norm(expected)
    a, b = algorithms.pose(tied, q), algorithms.pose(free, whole)
    assert np.linalg.norm(a - b) <= SAME * np.linalg.norm(b)


def test_a_chain_of_mimic_joints_ends_at_the_joint_that_moves():
    model = arm(0, mimic=True)
    assert model.joint_names == ("joint1", "joint4") and model.n == model.nq == 2
    assert [joint.follows for joint in model.joints] == [None, "joint1", "joint1", None]
    assert model.joints[1].scale == pytest.approx(-1.05, rel=1e-15)
    assert model.joints[1].offset == pytest.approx(0.35, rel=1e-15)


def pair(first=None, second=None, types=("revolute", "revolute")):
    builder = Builder()
    for name in "abc":
        builder.link(name, 1.0)
    builder.joint("first", types[0], "a", "b", mimic=first)
    return builder.joint("second", types[1], "b", "c", mimic=second)


@pytest.mark.parametrize(
    ("builder", "error", "words"),
    [
        (pair(Mimic("first")), ModelError, "first -> first mimic each other in a circle"),
        (
            pair(Mimic("second"), Mimic("first")),
            ModelError,
            "the joints first -> second -> first mimic each other in a circle; one of them must",
        ),
        (pair(Mimic("third")), NameLookupError, "'first' mimics 'third', .* are first, second"),
        (
            pair(Mimic("second"), types=("revolute", "fixed")),
            NameLookupError,
            "'first' mimics 'second', which is not a moving joint; the moving joints are first",
        ),
        (
            pair(Mimic("second"), types=("revolute", "free")),
            ModelError,
            r"'first' \(revolute\) mimics 'second' \(free\); both must have one degree of freedom",
        ),
        (
            pair(Mimic("second"), types=("planar", "revolute")),
            ModelError,
            r"'first' \(planar\) mimics 'second' \(revolute\); both must have one",
        ),
        (pair(Mimic("second", np.nan)), InputError, "mimic multiplier of joint 'first' is nan"),
        (pair(Mimic("second", 1, "x")), InputError, "mimic offset of joint 'first' must hold real"),
    ],
)
def test_a_bad_mimic_joint_is_refused_by_name(builder, error, words):
    with pytest.raises(error, match=words):
        builder.build_model()


GRIPPER = """<robot name="gripper"><link name="base"/>{links}
<joint name="left" type="{kind}"><parent link="base"/><child link="l"/><axis xyz="0 0 1"/>
<limit lower="0" upper="0.8" velocity="2" effort="5"/></joint>
<joint name="middle" type="{kind}"><parent link="base"/><child link="m"/><axis xyz="0 0 1"/>
<mimic joint="left" multiplier="-2" offset="0.1"/></joint>
<joint name="right" type="{kind}"><parent link="base"/><child link="r"/><axis xyz="0 0 1"/>
<mimic joint="middle" multiplier="-0.5" offset="0.05"/>{limit}</joint></robot>"""
LINK = """<link name="{}"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""


def notes_of_gripper(limit, kind="revolute"):
    """Notes on the last joint: its position is that of `left`, by way of `middle`."""
    text = GRIPPER.format(links="".join(map(LINK.format, "lmr")), kind=kind, limit=limit)
    robot = kt.load_string(text.replace('offset="0.1"/>', 'offset="0.1"/>' + FREE))
    assert robot.model.joints[2].limits == kt.Limits()
    assert robot.model.joints[0].limits == kt.Limits(0, 0.8, 2, 5)
    return [note.text for note in robot.model.notes if "'right'" in note.text]


FREE = '<limit lower="-9" upper="9" velocity="9" effort="9"/>'


@pytest.mark.parametrize(
    ("limit", "beyond"),
    [
        ('<limit lower="0" upper="0.8" velocity="2" effort="1"/>', ""),
        ('<limit lower="-1" upper="1" velocity="3" effort="9"/>', ""),
        ('<limit lower="0" upper="0.7" velocity="2" effort="9"/>', "from 0 to 0.8 rad .*0 to 0.7"),
        ('<limit lower="-0.8" upper="0" velocity="2" effort="9"/>', "0 to 0.8 rad .*-0.8 to 0"),
        ('<limit lower="0" upper="1" velocity="1.5" effort="9"/>', r"up to 2 rad/s .*own: 1.5\)$"),
        ('<limit lower="0.1" upper="1" velocity="1" effort="9"/>', "0.1 to 1.* and at up to 2 rad"),
    ],
)
def test_limits_of_a_mimic_joint_in_a_file_are_noted(limit, beyond):
    first, *others = notes_of_gripper(limit)
    assert "limits of mimic joints are not used" in first and "'middle', 'right'" in first
    if beyond:
        (found,) = others
        assert found.startswith("joint 'right' follows 'left', which may move it")
        assert re.search(beyond, found)
    else:
        assert not others


def test_a_sliding_mimic_joint_has_notes_in_metres():
    limit = '<limit lower="0" upper="0.7" velocity="1" effort="9"/>'
    assert re.search(r"0.8 m .* 2 m/s", notes_of_gripper(limit, "prismatic")[1])


def test_the_builder_refuses_limits_of_a_mimic_joint():
    builder = Builder().link("base").link("a", 1.0).link("b", 1.0)
    builder.joint("left", "revolute", "base", "a", limits=kt.Limits(0, 1))
    with pytest.raises(InputError, match=r"'right' follows 'left' .* limits to 'left': the range"):
        builder.joint(
            "right", "revolute", "base", "b", mimic=Mimic("left", -1), limits=kt.Limits(-1, 0)
        )
    builder.joint("right", "revolute", "base", "b", mimic=Mimic("left", -1))
    assert not [note for note in builder.build_model().notes if "limits" in note.text]
