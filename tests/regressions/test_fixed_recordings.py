"""Recordings with comments and further columns, and what `identify` may state."""

import numpy as np
import pytest

import kinetree as kt

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


@pytest.mark.parametrize(
    "comment", ["angles in degrees", "q: deg", "time unit: ms", "# position [deg], time [s]"]
)
def test_a_comment_that_states_a_unit_alone_is_refused_beside_columns_without_one(comment, written):
    with pytest.raises(kt.errors.ParseError, match="line 1"):
        kt.motion.read(written(f"# {comment}\n{HEADS}\n{ROWS}"), ROBOT)
    stated = written(f"# {comment}\nt [s],q1 [rad],q2 [rad]\n{ROWS}")
    assert np.array_equal(kt.motion.read(stated, ROBOT).q, Q)


def test_prose_that_mentions_a_unit_is_noted(written):
    text = f"# all angles were logged in degrees on day 3\n{HEADS}\n{ROWS}"
    notes = kt.motion.read(written(text), ROBOT).meta["notes"]
    assert sum("deg" in x for x in notes) == 1


def test_a_documented_comment_on_units_is_applied(written):
    found = kt.motion.read(written(f"# units: s, deg, deg\n{HEADS}\n{ROWS}"), ROBOT)
    np.testing.assert_allclose(found.q, np.deg2rad(Q), rtol=1e-15)


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
