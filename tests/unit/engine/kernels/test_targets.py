"""Kernels and motions have the type of their target, for type checkers as at run time."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import kinetree as kt
from kinetree.engine import CudaKernel, Kernel

ROBOT = kt.robots.double_pendulum()
FACTS = """
from typing import assert_type
import kinetree as kt
from kinetree.engine.cuda.kernel import CudaKernel
from kinetree.engine.kernel import Kernel
from kinetree.simulate.gpu.rollouts import GpuTrajectory
from kinetree.motion.trajectory import Trajectory

def facts(robot: kt.Robot) -> None:
    assert_type(robot.compile("pose"), Kernel)
    assert_type(robot.compile("pose", free=["mass"], wrenches=True, target="cpu"), Kernel)
    assert_type(robot.compile("pose", frame="tool", target="cuda"), CudaKernel)
    assert_type(robot.derivative("pose", ["q", "dq"], frame=None), Kernel)
    assert_type(robot.derivative("pose", target="cuda"), CudaKernel)
    assert_type(robot.simulate([0.0], duration=1.0), Trajectory)
    assert_type(robot.simulate([0.0], duration=1.0, target="cuda"), GpuTrajectory)
    robot.compile("pose", colour=3)  # pyright: ignore[reportCallIssue]
"""


def test_type_checkers_know_what_a_target_gives(tmp_path):
    pytest.importorskip("pyright", reason="types are checked where pyright is installed")
    script = tmp_path / "facts.py"
    script.write_text(FACTS)
    settings = {"include": ["facts.py"], "extraPaths": [str(Path(kt.__file__).parents[1])]}
    settings["reportUnnecessaryTypeIgnoreComment"] = "error"
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "-p", str(tmp_path)]
    found = subprocess.run(command, capture_output=True, text=True)
    if "errors" not in found.stdout:
        pytest.skip(f"pyright cannot be run here: {found.stderr[-200:]}")
    assert found.returncode == 0, found.stdout


def test_the_kinds_are_those_of_the_overloads():
    assert isinstance(ROBOT.compile("gravity_forces"), Kernel)
    assert isinstance(ROBOT.compile("gravity_forces", target="cuda"), CudaKernel)
    assert isinstance(ROBOT.derivative("gravity_forces"), Kernel)
    assert isinstance(ROBOT.derivative("gravity_forces", target="cuda"), CudaKernel)


def test_options_that_are_not_there_are_named():
    with pytest.raises(TypeError, match=r"compile\(\) got an unexpected keyword argument 'colour'"):
        ROBOT.compile("pose", colour=3)
