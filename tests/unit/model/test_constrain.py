"""Records of constraints over a model: what they mean, and what is refused by name."""

import pickle

import numpy as np
import pytest

import kinetree as kt
from closed_loops import slider_crank, slider_crank_position, slider_crank_tree
from kinetree.constraints import Couple, Hold, Loop, Rod
from kinetree.errors import InputError, ModelError, NameLookupError, ShapeError

BAD = {
    "no frame": (Loop("pin", "tp"), NameLookupError, "'tp'; expected one of .*'tip'"),
    "itself": (Loop("tip", "bar"), ModelError, "both are fixed in link 'bar'"),
    "base": (Hold("base", "point", (0, 0, 0)), ModelError, "both are fixed in the base"),
    "kind": (Loop("pin", "tip", "hinge"), InputError, "point, axis, plane, pose"),
    "axis": (Loop("pin", "tip", "axis", "w"), InputError, "expected one of x, y, z"),
    "held kind": (Hold("tip", "axis", (0, 0, 0)), InputError, "point, pose"),
    "held pose": (Hold("tip", "pose", (0, 0, 0)), InputError, "expected a pose"),
    "held shape": (Hold("tip", "point", (0, 0)), ShapeError, r"position \(3,\) or a pose"),
    "length": (Rod("pin", "tip", 0), InputError, "expected above 0.*Loop of kind 'point'"),
    "no joint": (Couple("crank", {"rodd": 1}), NameLookupError, "expected one of .crank."),
    "own joint": (Couple("crank", {"crank": 2}), ModelError, "uses twice"),
    "nothing": (Couple("crank", None), InputError, "expected {'crank': 0.5}"),
    "no powers": (Couple("crank", {"rod": ()}), InputError, "no coefficient"),
    "record": ("loop", InputError, "expected a Loop, Hold, Couple or Rod"),
    "NaN": (Rod("pin", "tip", float("nan")), InputError, "length of constraint"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_records_are_refused_by_name(case):
    record, error, text = BAD[case]
    with pytest.raises(error, match=text) as caught:
        slider_crank_tree().constrained({"closing": record})
    assert "closing" in str(caught.value)


def test_bad_collections_and_motors_are_refused():
    tree, loop = slider_crank_tree(), {"loop": Loop("pin", "tip")}
    with pytest.raises(InputError):
        tree.constrained([Loop("pin", "tip")])
    with pytest.raises(NameLookupError):
        tree.constrained(loop).constrained({"lop": None})
    with pytest.raises(NameLookupError):
        tree.constrained(loop, actuated=["krank"])
    with pytest.raises(InputError):
        tree.constrained(loop, actuated="crank")
    with pytest.raises(InputError):
        tree.constrained(loop, actuated={"crank": 0})
    with pytest.raises(InputError):
        tree.constrained(loop, actuated={"crank": 1, "slide": 2000})


def test_spherical_joints_cannot_be_coupled():
    builder = kt.Builder("ball").link("base").link("a", m=1, I_com=np.eye(3))
    builder.link("b", m=1, I_com=np.eye(3))
    builder.joint("hip", "spherical", "base", "a").joint("knee", "revolute", "a", "b")
    with pytest.raises(ModelError):
        builder.build().constrained({"gear": Couple("hip", {"knee": 1})})


def test_changed_robots_keep_their_constraints():
    robot, q = slider_crank(actuated=["crank"]), slider_crank_position(0.4)
    heavier = robot.with_payload(3.0, frame="pin")
    for other in (heavier, robot.with_gravity((0, 0, 0)), robot.with_tool("new", (0, 0, 0.1))):
        assert kt.constraints.mobility(other) == kt.constraints.mobility(robot) or str(
            kt.constraints.mobility(other)
        ) == str(kt.constraints.mobility(robot))
        ddq = other.forward_dynamics(q, [0, 0, 0], [1, 0, 0])
        assert np.abs(kt.constraints.jacobian(other, q) @ ddq).max() < 1e-9
    still = [0.0, 0.0, 0.0]
    first, second = (x.forward_dynamics(q, still, still)[0] for x in (robot, heavier))
    assert abs(first - second) > 1e-3


def test_constraints_are_pickled():
    robot, q = slider_crank(), slider_crank_position(0.4)
    again = pickle.loads(pickle.dumps(robot))
    assert (kt.constraints.jacobian(again, q) == kt.constraints.jacobian(robot, q)).all()


def test_a_follower_counts_with_its_own_position():
    """knee = 2 hip + 0.1 by mimic, and elbow = 3 knee by a constraint."""
    builder = kt.Builder("leg").link("base")
    for name in ("a", "b", "c"):
        builder.link(name, m=1, com=(0.1, 0, 0), I_com=np.eye(3))
    builder.joint("hip", "revolute", "base", "a")
    builder.joint("knee", "revolute", "a", "b", mimic=kt.joints.Mimic("hip", 2, 0.1))
    builder.joint("elbow", "revolute", "b", "c")
    robot = builder.build().constrained({"gear": Couple("elbow", {"knee": 3})})
    q = kt.constraints.project(robot, [0.4, 0.0], keep=["hip"])
    assert abs(q[1] - 3 * (2 * 0.4 + 0.1)) < 1e-12
    assert kt.constraints.jacobian(robot, q).tolist() == [[-6.0, 1.0]]
