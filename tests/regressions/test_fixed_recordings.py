"""Recordings with comments and further columns, and what `identify` may state."""

import json

import numpy as np
import pytest

import kinetree as kt
from cli_program import Program

ROBOT = kt.robots.planar_2r()
Q = np.array([[0.1, 0.2], [0.15, 0.22], [0.21, 0.25]])
HEADS = "t,q1,q2"
ROWS = "\n".join(f"{k / 10},{a},{b}" for k, (a, b) in enumerate(Q))
PROSE = [
    "position: home",
    "effort: high",
    "time: Friday afternoon",
    "position in degrees of freedom order",
    "unit tests of the arm",
    "unit: test rig 4",
    'the 5" arm',
    "joint angles, then torques",
    "stopped at 20 deg",
    "angles in degrees",
]


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "log.csv"
        path.write_text(text + "\n")
        return path

    return write


@pytest.mark.parametrize("comment", PROSE)
@pytest.mark.parametrize("place", ["above", "below"])
def test_comments_in_prose_do_not_matter(comment, place, written):
    lines = [HEADS, *ROWS.split("\n")]
    lines.insert(0 if place == "above" else 2, f"# {comment}")
    assert np.array_equal(kt.motion.read(written("\n".join(lines)), ROBOT).q, Q)


def test_a_comment_that_states_units_for_the_columns_is_refused_with_the_way_out(written):
    text = f"# units: s, deg, deg\n{HEADS}\n{ROWS}"
    with pytest.raises(kt.errors.ParseError, match=r"line 1.*\[deg\]"):
        kt.motion.read(written(text), ROBOT)


def with_columns(names, cell):
    heads = ",".join([HEADS, *names])
    rows = [",".join([x, *[cell] * len(names)]) for x in ROWS.split("\n")]
    return "\n".join([heads, *rows])


@pytest.mark.parametrize("cell", ["31.5", "nan", "ok", ""])
def test_further_columns_are_ignored_with_one_note(cell, written):
    names = ["temp", "motor_current_1", "tcp_pos_x", "status"]
    found = kt.motion.read(written(with_columns(names, cell)), ROBOT)
    assert np.array_equal(found.q, Q)
    (note,) = [x for x in found.meta["notes"] if "not used" in x]
    assert all(x in note for x in names)


@pytest.mark.parametrize(
    "names", [["tau1_xyz", "tau2_xyz"], ["velocity"], ["tau1"], ["q3"], ["target_q1", "target_q2"]]
)
def test_columns_that_may_be_those_of_a_joint_are_refused(names, written):
    with pytest.raises(kt.errors.ParseError, match=names[0]):
        kt.motion.read(written(with_columns(names, "1.0")), ROBOT)


def test_a_misspelt_joint_is_no_further_column(written):
    text = f"t,joint1,jiont2\n{ROWS}"
    with pytest.raises(kt.errors.ParseError, match="jiont2"):
        kt.motion.read(written(text), ROBOT)


LOAD = (2.0, (0.02, -0.03, 0.08), np.diag([0.01, 0.012, 0.006]))


@pytest.fixture(scope="module")
def loaded():
    """A Panda, a motion, and its recording with a payload, at 100 Hz."""
    panda = kt.robots.panda()
    motion = kt.motion.excitation(panda, 10, 0.01, harmonics=5, seed=1)
    data = kt.identify.simulated_recording(
        panda.with_payload(*LOAD), motion, encoder_noise=2e-5, torque_noise=0.05, seed=2
    )
    return panda, motion, data


def test_a_payload_that_explains_little_has_a_warning(loaded):
    panda, _, data = loaded
    assert not kt.identify.identify_payload(panda, data).warnings
    noise = np.random.default_rng(0).normal(size=data.tau.shape) * data.tau.std(axis=0)
    slow = np.cumsum(noise, axis=0) / 40  # autocorrelated: no noise of sensors
    poor = kt.identify.make_recording(panda, data.t, data.q, data.tau + slow, data.dq, data.ddq)
    found = kt.identify.identify_payload(panda, poor)
    assert any("unexplained" in x for x in found.warnings) and "unexplained" in str(found)


def test_a_payload_shows_no_number_that_the_motion_does_not_determine(loaded):
    panda, motion, _ = loaded
    held = motion.replace(dq=0 * motion.dq, ddq=0 * motion.ddq)
    data = kt.identify.simulated_recording(panda.with_payload(*LOAD), held, torque_noise=0.05)
    found = kt.identify.identify_payload(panda, data)
    assert "principal moments" not in str(found) and "not determined" in str(found)


@pytest.fixture(scope="module")
def pendulum():
    """A double pendulum whose armature at the shoulder acts only with the inertia of the links."""
    robot = kt.robots.planar_2r()
    motion = kt.motion.excitation(robot, 10, 0.01, harmonics=3, seed=1)
    data = kt.identify.simulated_recording(
        robot, motion, encoder_noise=2e-5, torque_noise=0.1, seed=2
    )
    return robot, motion, data, kt.identify.identify(robot, data)


HIDDEN = "armature[joint1]"


def test_what_the_data_do_not_determine_has_no_value_in_reports(pendulum, tmp_path):
    found = pendulum[3]
    names = found.params.names
    assert not found.determined[names.index(HIDDEN)]
    assert found.determined[names.index("viscous[joint1]")]
    text = kt.identify.save_report(found, tmp_path).read_text(encoding="utf-8")
    (row,) = [x for x in text.splitlines() if x.startswith(f"| {HIDDEN}")]
    assert row.split("|")[2].strip() == "not determined"
    page = kt.views.identification_page(found)
    (row,) = [x for x in page.split("<tr>") if HIDDEN in x and "%" in x]
    assert "not determined" in row


def test_what_the_data_do_not_determine_has_no_value_on_the_command_line(
    pendulum, server, tmp_path
):
    pendulum[2].to_csv(tmp_path / "log.csv")
    program = Program(tmp_path, server)
    line = "identify planar_2r log.csv -o found.xml"
    shown = json.loads(program(f"{line} --json").stdout)
    by_name = {x["name"]: x for x in shown["unknowns"]}
    assert by_name[HIDDEN]["value"] is None and by_name[HIDDEN]["margin"] is None
    assert by_name["viscous[joint1]"]["value"] is not None
    (row,) = [x for x in program(line).stdout.splitlines() if x.startswith(HIDDEN)]
    assert row.count("not determined") == 1
