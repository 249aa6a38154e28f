"""Springs of a model: names, mimic joints, refusals in words, and changed robots."""

import pickle

import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms
from kinetree.errors import InputError, ModelError, NameLookupError
from kinetree.model import build_model, describe_model, random_model

Q = np.array([0.3, -0.7, 0.4])


def arm(**springs):
    """Two hinges and a slide; "twin" follows the first hinge at -2 q + 0.25."""
    body = {"m": 1, "com": (0.1, 0, 0), "I_com": np.eye(3) / 100}
    builder = kt.Builder("arm").link("base")
    for name in ("upper", "lower", "tip", "side"):
        builder.link(name, **body)
    builder.joint("hip", "revolute", "base", "upper", axis=(0, 1, 0))
    builder.joint("knee", "revolute", "upper", "lower", at=(0.3, 0, 0), axis=(0, 1, 0))
    builder.joint("slide", "prismatic", "lower", "tip", axis=(1, 0, 0))
    twin = kt.Mimic("hip", -2, 0.25)
    builder.joint("twin", "revolute", "base", "side", axis=(0, 1, 0), mimic=twin)
    for name, spring in springs.items():
        builder.spring(name, spring)
    return builder.build()


def forces(robot, q=Q):
    return algorithms.spring_forces(robot.model, q)


def test_a_spring_pulls_its_own_joint_to_its_rest_position():
    robot = arm(knee=kt.Spring(20, rest=0.1))
    assert forces(robot) == pytest.approx([0, 20 * (-0.7 - 0.1), 0])
    assert algorithms.spring_energy(robot.model, Q) == pytest.approx(20 / 2 * 0.8**2)


def test_a_spring_between_joints_acts_on_each_by_its_coefficient():
    robot = arm(tie=kt.Spring(5, rest=0.2, joints={"hip": 1, "knee": -3}))
    x = 0.3 + 3 * 0.7 - 0.2
    assert forces(robot) == pytest.approx([5 * x, -15 * x, 0])


def test_a_spring_of_a_mimic_joint_acts_through_its_leader():
    robot = arm(twin=kt.Spring(5, rest=0.1))
    stands = -2 * 0.3 + 0.25
    assert forces(robot) == pytest.approx([-2 * 5 * (stands - 0.1), 0, 0])
    energy = algorithms.spring_energy(robot.model, Q)
    assert energy == pytest.approx(5 / 2 * (stands - 0.1) ** 2)
    both = arm(tie=kt.Spring(5, joints={"hip": 1, "twin": 1}))
    assert forces(both) == pytest.approx([-5 * (-0.3 + 0.25), 0, 0])


def test_springs_are_added_replaced_and_removed_by_name():
    robot = arm(knee=kt.Spring(20))
    changed = robot.with_springs({"knee": kt.Spring(1), "tie": kt.Spring(2, 0, {"hip": 1})})
    assert [x.name for x in changed.model.springs] == ["knee", "tie"]
    assert forces(changed) == pytest.approx([0.6, -0.7, 0])
    assert not changed.with_springs({"knee": None, "tie": None}).model.springs
    with pytest.raises(NameLookupError, match="no spring 'x' to remove; the springs are knee"):
        robot.with_springs({"x": None})


@pytest.mark.parametrize(
    ("name", "spring", "error", "words"),
    [
        ("hip", kt.Spring(-1), InputError, "stiffness of spring 'hip' is -1.*expected >= 0"),
        ("hip", kt.Spring(float("nan")), InputError, "stiffness of spring 'hip'"),
        ("hip", kt.Spring(1, float("inf")), InputError, "rest position of spring 'hip'"),
        ("hop", kt.Spring(1), NameLookupError, "'hop', which is not a moving joint.*hip, knee"),
        ("tie", kt.Spring(1, 0, {}), InputError, "joints of spring 'tie'.*{'hip': 1"),
        ("tie", kt.Spring(1, 0, {"hip": 0}), InputError, "coefficient of joint 'hip'.* is 0"),
        ("hip", 3, InputError, "spring 'hip' is 3; expected a record Spring"),
    ],
)
def test_impossible_springs_are_refused_in_words(name, spring, error, words):
    with pytest.raises(error, match=words):
        arm().with_springs({name: spring})


def test_joints_of_several_degrees_of_freedom_are_refused():
    model = random_model(1, 3, types=("spherical", "planar", "free"))
    for joint in model.joints:
        with pytest.raises(ModelError, match=f"{joint.name!r}, which is {joint.type}"):
            model.with_springs({joint.name: kt.Spring(1)})


def test_a_builder_takes_a_name_once():
    with pytest.raises(InputError, match="has a spring 'hip' already"):
        kt.Builder("x").spring("hip", kt.Spring(1)).spring("hip", kt.Spring(2))


@pytest.mark.parametrize("seed", range(6))
def test_records_and_pickles_give_the_same_springs(seed):
    model = random_model(seed, 6, mimic=True, springs=True, drives=False)
    assert model.springs
    again = build_model(describe_model(model), unphysical="allow")
    assert again.springs == model.springs
    assert pickle.loads(pickle.dumps(model)).springs == model.springs
    assert model.astype(float).springs == model.springs


def test_a_locked_joint_shifts_the_rest_of_a_spring_between_joints():
    robot = arm(tie=kt.Spring(5, 0.2, {"hip": 1, "knee": -3}), hip=kt.Spring(7, 0.1))
    locked = robot.lock({"knee": -0.7})
    rest = [0, 2]
    assert forces(locked, Q[rest]) == pytest.approx(forces(robot)[rest], rel=1e-14)
    both = robot.lock({"hip": 0.3, "knee": -0.7})
    assert not both.model.springs
    texts = [note.text for note in both.model.notes]
    assert "spring 'tie' has no effect: its joints are fixed" in texts


def test_locking_keeps_the_joint_forces_of_the_other_joints():
    model = random_model(3, 5, springs=True, drives=False)
    q, rest = algorithms.random(model, np.random.default_rng(0)), np.zeros(4)
    locked = kt.Robot(model).lock({"joint3": q[2]}).model
    others = [0, 1, 3, 4]
    found = algorithms.bias_forces(locked, q[others], rest)
    assert found == pytest.approx(algorithms.bias_forces(model, q, np.zeros(5))[others], rel=1e-12)


def test_a_part_keeps_its_springs_and_refuses_to_cut_one():
    robot = arm(slide=kt.Spring(5, 0.2), tie=kt.Spring(1, 0, {"knee": 1, "slide": 2}))
    part = robot.subtree("upper")
    assert forces(part, Q[1:]) == pytest.approx(forces(robot)[1:])
    with pytest.raises(ModelError, match=r"acts on slide and on knee.*Lock .knee. first"):
        robot.subtree("lower")


def test_attached_robots_bring_their_springs_under_the_prefix():
    robot = arm(tie=kt.Spring(5, 0.2, {"hip": 1, "knee": -3}), hip=kt.Spring(7, 0.1))
    pair = robot.attach(robot, "tip", prefix="b/")
    assert [x.name for x in pair.model.springs] == ["tie", "hip", "b/tie", "b/hip"]
    found = forces(pair, np.concatenate([Q, 2 * Q]))
    assert found == pytest.approx([*forces(robot), *forces(robot, 2 * Q)])
