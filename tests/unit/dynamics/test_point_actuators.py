"""Actuators between points of links: forces, exact slopes, work, files and changed robots."""

from itertools import pairwise

import mpmath
import numpy as np
import pytest

import kinetree as kt
from kinetree import dynamics
from kinetree.dynamics.joints.actuation import actuate
from kinetree.model import build_model

A = kt.joints.Actuator
PATH = [("base", (0.2, 0.1, 0.9)), ("link1", (0.3, 0, 0.1)), ("link3", (0.1, 0.05, 0.2))]
LAW = A({}, (5, 0.7, -0.3), (0.4, -20, -3), points=PATH)
BUILD = kt.Builder("crane").link("base")
for k, axis in enumerate([(0, 0, 1), (0, 1, 0), (0, 1, 0)], 1):
    BUILD.link(f"link{k}", m=3 - k / 2, com=(0.2, 0.01 * k, 0.02), I_com=np.diag([0.1, 0.2, 0.2]))
    BUILD.joint(
        f"joint{k}", "revolute", f"link{k - 1}" if k > 1 else "base", f"link{k}",
        axis=axis, at=(0.3, 0, 0.1 * k),
    )  # fmt: skip
CRANE = BUILD.build().with_actuators(
    {"winch": A.position(PATH, 60, 4), "ram": LAW, "elbow": A.motor("joint2")}
)
STATE = np.array([0.3, -0.5, 0.8]), np.array([0.4, 0.7, -0.9]), np.array([0.6, 1.2, -0.3])


def length(model, q):
    """The length of the path, from the poses of its links."""
    poses = [dynamics.pose(model, q, link) for link, _ in PATH]
    at = [T[:3, :3] @ np.array(x) + T[:3, 3] for T, (_, x) in zip(poses, PATH, strict=True)]
    return sum(mpmath.sqrt((b - a) @ (b - a)) for a, b in pairwise(at))


def test_energy_grows_by_the_work_of_the_path():
    """A constant pull along a path has the potential -f L."""
    robot = CRANE.with_actuators({"ram": None, "elbow": None, "winch": A.motor(PATH)})
    run = robot.simulate(STATE[0], STATE[1], controls=[7.0], duration=0.4, limits="ignore")
    whole = robot.kinetic_energy(run.q, run.dq) + robot.potential_energy(run.q)
    whole -= 7.0 * np.array([float(length(robot.model, q)) for q in run.q])
    assert np.ptp(whole) < 1e-8 * np.abs(whole).max()


def test_implicit_steps_bear_a_stiff_servo_on_a_path():
    robot = CRANE.with_actuators({"ram": None, "elbow": None, "winch": A.position(PATH, 1e4, 1e4)})
    options = {"controls": [1.5], "duration": 0.1, "dt": 2e-3, "limits": "ignore"}
    fine = robot.simulate(STATE[0], **{**options, "dt": 1e-5}, method="rk4")
    run = robot.simulate(STATE[0], **options, method="implicit")
    assert np.abs(run.q[-1] - fine.q[-1]).max() < 0.02


def test_changed_robots_keep_their_paths():
    model = CRANE.model
    assert build_model(model.description, unphysical="allow").actuators == model.actuators
    held = CRANE.lock({"joint1": STATE[0][0]}).model
    whole = actuate(model, STATE[0], np.array([0, 0.7, -0.9]), STATE[2], np.zeros(0)).tau
    part = actuate(held, STATE[0][1:], STATE[1][1:], STATE[2], np.zeros(0)).tau
    assert part == pytest.approx(whole[1:], rel=1e-12)
    with pytest.raises(kt.errors.KinetreeError, match="'winch' passes is 'base'"):
        CRANE.subtree("link1")
    pair = CRANE.attach(CRANE, prefix="b/").model
    assert pair.actuator_names[3:] == ("b/winch", "b/ram", "b/elbow")
    still = CRANE.lock(dict.fromkeys(CRANE.model.joint_names, 0.0)).model
    assert still.actuators == ()
    assert any("actuator 'ram' has no effect: its points move" in x.text for x in still.notes)
