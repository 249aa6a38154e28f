"""`kt.testing`: sound robots pass, broken numbers fail by name; the conformance of this machine."""

import os
import subprocess
import sys

import numpy as np
import pytest

import kinetree as kt
from kinetree.testing import check_robot


@pytest.mark.parametrize("name", ["planar_2r", "panda", "cart_pole", "humanoid"])
def test_sound_robots_pass(name):
    report = check_robot(getattr(kt.robots, name)(), states=2, kernel_names=())
    assert report.ok and not report.failures and len(report.lines) > 10
    assert all(line.error is None or line.error < line.limit for line in report.lines)


@pytest.mark.parametrize("name", ["gravity_forces", "mass_matrix", "inverse_dynamics"])
def test_a_wrong_result_fails_by_its_name(name, monkeypatch):
    robot = kt.robots.planar_2r()
    kernel = robot.compile(name)

    def plant(wrong):
        monkeypatch.setattr(kt.Robot, "compile", lambda *_: wrong)

    plant(lambda *state, **options: kernel(*state, **options) * (1 + 1e-6))
    report = check_robot(robot, states=1, kernel_names=[name])
    assert not report.ok and [x.law for x in report.failures] == [f"robot.{name}"]
    plant(lambda *state, **options: np.zeros(5))
    assert not check_robot(robot, states=1, kernel_names=[name]).ok


def test_a_negative_mass_fails_the_definiteness_of_M():
    builder = kt.Builder("arm").link("base").link("upper", 1.0, (0.2, 0, 0), np.eye(3))
    builder.joint("turn", "revolute", "base", "upper").link("hole", -4.0, (0.5, 0, 0))
    builder.joint("slide", "prismatic", "upper", "hole", axis=(1, 0, 0))
    robot = builder.build(unphysical="allow")
    report = check_robot(robot, states=1, kernel_names=())
    assert [x.law for x in report.failures] == ["M is positive definite"]
    assert "M is positive definite" in str(report)


def test_a_robot_with_several_tips_is_checked():
    builder = kt.Builder("tree").link("base")
    for name, joint, axis in (("a", "j", (0, 1, 0)), ("b", "k", (1, 0, 0))):
        builder.link(name, 1.0, (0, 0, 0.1), I_com=0.01 * np.eye(3))
        builder.joint(joint, "revolute", "base", name, axis=axis)
    assert check_robot(builder.build(), states=1).ok


def test_options_of_the_conformance_suite():
    command = [sys.executable, "-W", "error", "-m", "kinetree.testing", "--json"]
    listed = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True).stdout
    assert "--json" in listed and all(len(x) <= 80 for x in listed.splitlines())
    wrong = subprocess.run([*command, "--no-such-option"], capture_output=True, text=True)
    assert wrong.returncode == 2 and wrong.stdout == "" and "Traceback" not in wrong.stderr


def test_environment_variables_are_checked():
    run = {"capture_output": True, "text": True, "check": False}
    code = (
        "import kinetree as kt, numpy as np\n"
        "kt.robots.planar_2r().gravity_forces(np.zeros((200_000, 2)))"
    )
    for name, value in (("KINETREE_THREADS", "many"), ("KINETREE_CACHE", "banana")):
        command, environment = [sys.executable, "-c", code], os.environ | {name: value}
        found = subprocess.run(command, env=environment, **run)
        assert found.returncode == 1 and f"InputError: the environment variable {name}" in (
            found.stderr
        )
