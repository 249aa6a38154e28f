"""Defaults are the same on the command line, in the workbench and in Python."""

import inspect
import json
import re
from dataclasses import fields

import numpy as np
import pytest

import kinetree as kt
from kinetree.cli.app import app
from kinetree.controllers import ComputedTorque
from kinetree.motion import check_limits
from kinetree.views.workbench.api import API
from kinetree.views.workbench.shelf import Shelf
from kinetree.views.workbench.state import plain

GAINS = {x.name: x.default for x in fields(ComputedTorque) if x.name in ("kp", "kd")}
# a command, the function of Python that it calls, and their options of one name
SHARED = {
    "simulate": (kt.Robot.simulate, "dt method limits"),
    "plan": (kt.motion.within_limits, "dt duration effort velocity acceleration"),
    "excite": (kt.identify.excite, "duration dt center use acceleration harmonics rounds seed"),
    "check": (check_limits, "effort velocity tolerance"),
}


def of_command(name):
    return inspect.signature(app[name].default_command).parameters


@pytest.mark.parametrize("name", SHARED)
def test_options_of_a_command_have_the_defaults_of_python(name):
    function, names = SHARED[name]
    python, command = inspect.signature(function).parameters, of_command(name)
    for option in names.split():
        assert command[option].default == python[option].default, option


def test_texts_of_the_help_state_the_defaults_of_python(program):
    texts = {x: program(f"{x} --help").stdout for x in ("simulate", "plan")}
    help_of = {x: re.sub(r"[│\s]+", " ", text) for x, text in texts.items()}
    assert f"({GAINS['kp']:g} and {GAINS['kd']:g} if left out)" in help_of["simulate"]
    speed = inspect.signature(kt.motion.within_limits).parameters["speed"].default
    assert f"at most 1; {speed:g} if left out" in help_of["plan"]


@pytest.fixture(scope="module")
def ask():
    shelf = Shelf()
    yield lambda name, /, **request: json.loads(json.dumps(plain(API[name](shelf, request))))
    shelf.close()


@pytest.mark.parametrize("name", ["panda", "ur5e", "four_bar", "quadruped", "scara"])
def test_every_door_starts_at_one_position(program, ask, name):
    robot = getattr(kt.robots, name)()
    start = robot.start_position()
    typed = program.json(f"terms {name}")["q"]
    np.testing.assert_allclose(typed, start, atol=1e-12)
    shown = np.array(ask("open", name=name)["rest"])
    np.testing.assert_allclose(shown, start, atol=1e-9)
    robot.simulate(start, duration=0.01, limits="record")


def test_gains_and_references_of_all_doors_agree(program, ask):
    """Computed torque on a UR5e to one goal: the same gains, the same way within the limits."""
    robot, goal = kt.robots.ur5e(), [1.0, -1.0, 1.0, 0.0, 0.5, 0.0]
    words = " ".join(map(str, goal))
    line = f"simulate ur5e --controller computed-torque --to {words} --dq 0.1 0 0 0 0 0"
    typed = program.json(line)
    plan = kt.motion.within_limits(robot, [robot.start_position(), goal])
    run = robot.simulate(
        robot.start_position(), [0.1, 0, 0, 0, 0, 0], duration=typed["t"][-1],
        controller=ComputedTorque(plan),
    )  # fmt: skip
    np.testing.assert_allclose(typed["q"], run.q, atol=1e-9)
    opened = ask("open", name="ur5e")
    preset = next(x for x in opened["presets"] if x["name"] == "go")
    assert {x: preset["gains"][x]["value"] for x in GAINS} == GAINS
    state = {"q": opened["rest"], "dq": [0.0] * 6, "ddq": [0.0] * 6}
    far = [6.0, -1.0, 1.0, 0.0, 6.0, 6.0]  # 3.6 s within the limits of speed
    found = ask("simulate", robot="ur5e", preset="go", target=far, **state)
    motion = kt.motion.within_limits(robot, [robot.start_position(), far])
    assert found["t"][-1] >= motion.duration
    limit = max(x.limits.velocity for x in robot.model.joints)
    assert np.abs(np.diff(found["q"], axis=0) / np.diff(found["t"])[:, None]).max() <= limit
