"""Every example and task runs as it stands, without a warning, and prints what it promises."""

import contextlib
import io
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))
MECHANISMS = sorted((FOLDER / "iftomm").glob("*.py"))
TASKS = sorted((FOLDER / "tasks").glob("*.py"))
PAGE = (FOLDER.parent / "docs" / "optimal.md").read_text(encoding="utf-8")  # shows some results
MOST_LINES = 8  # of a task
# a line of each that shows its point
SAYS = {
    "01_build_and_print": r"\[0, 90\] degrees: the tip stands at \[-1.  0. -1.\] m",
    "02_inverse_dynamics": r"one state: (.*)\nsum of its parts: \1\n",
    "03_newton_euler_step_by_step": r"tau by space   \[-65\.0917 -52\.4313\] N m",
    "04_forward_dynamics": r"energy changed by \de-(09|1\d) J",
    "05_many_robots_at_once": r"planets, robots, joints: \(2, 1000, 6\)",
    "07_export": r"largest difference 0\.\d+ of the allowed one: passed",
    "08_explain": r"Coriolis: +\[-76\*theta1_dot\*theta2_dot\*sin\(theta2\)/5, 0\]",
    "09_simulate": r"exact parameters: error \de-1\d rad",
    "10_trajectory": r"the CSV file reads back to the same bits: True",
    "11_limits": r"timed anew it takes 0\.8\d* s: True",
    "13_identify": r"of 62 intervals hold",
    "14_torch_fit_a_mass": r"mass of the load: 2\.50 kg",
    "15_jax_predictive_control": r"reached: 1\.20, -0\.60 rad",
    "16_monte_carlo": r"four workers give the same bits: True",
    "17_gymnasium_pandas": r"mean distance from the goal 0\.\d+ m",
    "18_swing_up": r"upright after 6 s, to 0\.00\d rad; elbow at most 10\.0 N m",
    "20_shift_weight": r"places: True\n.*\n.* left foot 85%(.*\n)*the ground never pulls: True",
    "21_hop": r"the last generation hops [1-9]\d?\.\d m in 5 s",
    "19_reach_within_limits": r"without barriers.* violated: 1\nwith barriers.* violated: 0",
}
ERRORS = {
    "a01_pendulum": 2e-7,
    "a02_four_bars": 2e-6,
    "a03_squeezer": 2e-8,
    "a04_bricard": 5e-9,
    "a05_governor": 2e-10,
}  # beside the references, m, m/s or rad, with the default method
ANSWERS = {
    "1_gravity_of_a_urdf": r"'shoulder': 13\.183, 'elbow': 1\.937",
    "2_pendulum_with_pd": r"pivot after 3 s: \[0\.\d+\] rad",
    "3_recording_against_limits": r"speed of .shoulder.: 2\.1563 rad/s",
    "4_equations_in_latex": r"g = \\left\[\\begin\{matrix\}0",
    "5_friction_from_data": r"shoulder .*viscous=\(0\.\d+.*\nelbow .*viscous=\(0\.\d+",
    "6_c_code": r"arm_dynamics\.c: \d{4} bytes",
}
# what a script has in a process of its own
ALONE = ("torch", "jax", "gymnasium", "environments", "kt.studies")


def output(path: Path) -> str:
    """Text that a script prints; warnings are errors.

    It runs in this process unless it needs one of its own.
    """
    if any(word in path.read_text(encoding="utf-8") for word in ALONE):
        command = [sys.executable, "-W", "error", str(path)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr
        return ended.stdout
    printed, complaints = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complaints):
        runpy.run_path(str(path), run_name="__main__")
    assert complaints.getvalue() == ""
    return printed.getvalue()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed = output(path)
    assert re.search(SAYS.get(path.stem, "."), printed), printed
    for shown in re.findall(rf"{path.name}` prints\n\n```text\n(.*?)```", PAGE, re.DOTALL):
        start = printed.index(shown.splitlines()[0])
        found = "\n".join(printed[start:].splitlines()[: shown.count("\n")]) + "\n"
        assert re.sub(r"[\d. ]+", " ", found) == re.sub(r"[\d. ]+", " ", shown)
        numbers = [[float(x) for x in re.findall(r"\d+\.\d", text)] for text in (found, shown)]
        assert numbers[0] == pytest.approx(numbers[1], rel=0.1, abs=0.3)


@pytest.mark.parametrize("path", MECHANISMS, ids=lambda path: path.stem)
def test_the_mechanism_moves_as_its_reference(path):
    (error,) = re.findall(r"error at the end: (\S+)", output(path))
    assert float(error) < ERRORS[path.stem]


def test_examples_are_numbered_and_explained():
    assert set(SAYS) <= {path.stem for path in EXAMPLES}
    assert [path.name[:2] for path in EXAMPLES] == [f"{k + 1:02}" for k in range(len(EXAMPLES))]
    for path in EXAMPLES:
        assert path.read_text(encoding="utf-8").startswith('"""')


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the tasks and their data, in which they run."""
    place = tmp_path_factory.mktemp("tasks") / "tasks"
    return Path(shutil.copytree(FOLDER / "tasks", place))


@pytest.mark.parametrize("path", TASKS, ids=lambda path: path.stem)
def test_the_task_is_done_in_few_lines(folder, path, monkeypatch):
    monkeypatch.chdir(folder)
    assert re.search(ANSWERS[path.stem], output(folder / path.name))
    _, _, code = path.read_text(encoding="utf-8").split('"""', 2)
    assert len([line for line in code.splitlines() if line.strip()]) <= MOST_LINES
    if path.stem == "2_pendulum_with_pd":
        assert (folder / "pendulum.png").read_bytes().startswith(b"\x89PNG")
    if path.stem == "6_c_code" and shutil.which("gcc") and os.name == "posix":
        command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-c", "arm_dynamics.c"]
        subprocess.run(command, cwd=folder, check=True)


def test_the_friction_is_that_of_the_recording(folder):
    robot = kt.load(folder / "arm.urdf")
    recording = kt.identify.read_recording(folder / "recording.csv", robot)
    friction = kt.identify.identify(robot, recording).friction
    numbers = [(friction[x].viscous[0], friction[x].coulomb[0]) for x in ("shoulder", "elbow")]
    np.testing.assert_allclose(numbers, [(0.9, 1.2), (0.4, 0.6)], rtol=0.15)
