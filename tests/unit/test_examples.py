"""Every example runs as it stands, without a warning, and says what it promises."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))
# a line of each that shows its point
SAYS = {
    "01_build_and_print": r"\[0, 90\] degrees: the tip stands at \[-1.  0. -1.\] m",
    "02_inverse_dynamics": r"shape for many states: \(10000, 6\)",
    "03_newton_euler_step_by_step": r"tau by space   \[-65\.0917 -52\.4313\] N m",
    "04_forward_dynamics": r"energy changed by \de-(09|1\d) J",
    "07_export": r"exported NumPy and the kernel differ by \d\.\de-1\d in M",
    "08_explain": r"Coriolis: +\[-76\*thetadot1\*thetadot2\*sin\(theta2\)/5, 0\]",
    "09_simulate": r"exact parameters: error \de-1\d rad",
    "10_trajectory": r"the CSV file reads back to the same bits: True",
    "11_limits": r"timed anew it takes 0\.8\d* s: True",
    "13_identify": r"of 62 intervals hold",
    "14_torch_fit_a_mass": r"mass of the load: 2\.50 kg",
    "15_jax_predictive_control": r"reached: 1\.20, -0\.60 rad",
    "16_monte_carlo": r"one worker and four write the same file: True",
    "17_gymnasium_pandas": r"mean distance from the goal 0\.\d+ m",
    "05_many_robots_at_once": r"planets, robots, joints: \(2, 1000, 6\)",
}


def output(path: Path) -> str:
    command = [sys.executable, "-W", "error", str(path)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr
    assert found.stderr == ""
    return found.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs(path):
    said = output(path)
    assert re.search(SAYS.get(path.stem, "."), said), said


def test_the_parts_of_tau_add_up():
    said = output(FOLDER / "02_inverse_dynamics.py")
    whole, parts = re.search(r"one state: (.*)\nsum of its parts: (.*)\n", said).groups()
    assert whole == parts


def test_examples_are_numbered_and_explained():
    assert set(SAYS) <= {path.stem for path in EXAMPLES}
    assert [path.name[:2] for path in EXAMPLES] == [f"{k + 1:02}" for k in range(len(EXAMPLES))]
    for path in EXAMPLES:
        assert path.read_text(encoding="utf-8").startswith('"""')
