"""The six tasks of a newcomer: scripts of at most eight lines, each with its answer."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt

FOLDER = Path(__file__).parents[2] / "examples" / "tasks"
SCRIPTS = sorted(FOLDER.glob("*.py"))
MOST_LINES = 8
SAYS = {
    "1_gravity_of_a_urdf": r"'shoulder': 13\.183, 'elbow': 1\.937",
    "2_pendulum_with_pd": r"pivot after 3 s: \[0\.\d+\] rad",
    "3_recording_against_limits": r"speed of .shoulder.: 2\.1563 rad/s",
    "4_equations_in_latex": r"g = \\left\[\\begin\{matrix\}0",
    "5_friction_from_data": r"shoulder .*viscous=0\.\d+.*\nelbow .*viscous=0\.\d+",
    "6_c_code": r"arm_dynamics\.c: \d{4} bytes",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("tasks")
    return Path(shutil.copytree(FOLDER, made / "tasks"))


def output(folder, name):
    command = [sys.executable, "-W", "error", f"{name}.py"]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr
    return found.stdout


@pytest.mark.parametrize("name", SAYS)
def test_the_task_is_done(folder, name):
    assert re.search(SAYS[name], output(folder, name))


def test_every_script_is_short_and_listed():
    assert [path.stem for path in SCRIPTS] == sorted(SAYS)
    for path in SCRIPTS:
        _, _, code = path.read_text(encoding="utf-8").split('"""', 2)
        assert len([line for line in code.splitlines() if line.strip()]) <= MOST_LINES, path.name


def test_the_pendulum_is_drawn(folder):
    output(folder, "2_pendulum_with_pd")
    assert (folder / "pendulum.png").read_bytes().startswith(b"\x89PNG")


def test_the_friction_is_that_of_the_recording(folder):
    robot = kt.load(folder / "arm.urdf")
    found = kt.identify.identify(
        robot, kt.identify.read_recording(folder / "recording.csv", robot)
    ).friction
    np.testing.assert_allclose(
        [found["shoulder"].viscous, found["elbow"].viscous], [0.9, 0.4], rtol=0.15
    )
    np.testing.assert_allclose(
        [found["shoulder"].coulomb, found["elbow"].coulomb], [1.2, 0.6], rtol=0.15
    )


def test_the_c_code_compiles(folder):
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("no gcc here")
    output(folder, "6_c_code")
    command = [compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-c", "arm_dynamics.c"]
    subprocess.run(command, cwd=folder, check=True)
