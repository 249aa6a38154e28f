"""Files as public repositories have them: without names, without times, in several parts."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError, ParseError
from kinetree.identify import read_recording
from kinetree.motion import excitation, read

ROBOT = kt.robots.spatial_3r()
MOTION = excitation(ROBOT, 6, 0.01)
TAU = ROBOT.inverse_dynamics(MOTION.q, MOTION.dq, MOTION.ddq)


def save(path, *columns, names=""):
    head = {"header": names, "comments": ""} if names else {}
    np.savetxt(path, np.column_stack(columns), delimiter=",", **head)
    return path


def test_columns_without_names_are_mapped_by_number(tmp_path):
    spare = np.zeros((len(TAU), 2))
    path = save(tmp_path / "log.csv", MOTION.t, MOTION.q, spare, 1000 * TAU)
    motion = read(path, ROBOT, columns={"1": "t", "2-4": "q", "7-9": "tau [mN m]"})
    assert np.allclose(motion.q, MOTION.q) and np.allclose(motion.tau, TAU)
    assert "columns that are left out: '5', '6'" in motion.meta["notes"]
    one_by_one = {"1": "t", **{str(k + 2): f"q:{x}" for k, x in enumerate(ROBOT.joint_names)}}
    assert np.allclose(read(path, ROBOT, columns=one_by_one).q, MOTION.q)


def test_names_that_repeat_are_told_apart_by_number(tmp_path):
    names = ",".join([*(f"Joint_{k}" for k in (1, 2, 3)), *(f"Joint_{k}" for k in (1, 2, 3))])
    path = save(tmp_path / "log.csv", MOTION.q, TAU, names=names)
    data = read_recording(path, ROBOT, columns={"1-3": "q", "4-6": "tau"}, rate=100)
    assert data.dt == pytest.approx(0.01)
    at = np.searchsorted(MOTION.t, data.t - 1e-6)
    assert np.allclose(data.q, MOTION.q[at], atol=1e-6) and np.allclose(data.tau, TAU[at])


def test_files_side_by_side_are_one_recording(tmp_path):
    save(tmp_path / "a.csv", MOTION.t, MOTION.q, names="t," + ",".join(ROBOT.joint_names))
    np.savetxt(tmp_path / "b.txt", TAU)  # blanks and no names
    save(tmp_path / "c.csv", TAU, names=",".join(f"- {x}_effort" for x in ROBOT.joint_names))
    motion = read(f"{tmp_path / 'a.csv'}+{tmp_path / 'c.csv'}", ROBOT)
    assert np.allclose(motion.tau, TAU) and np.allclose(motion.t, MOTION.t)
    with pytest.raises(ParseError, match=r"a\.csv has 602, b\.txt has 601"):
        read(f"{tmp_path / 'a.csv'}+{tmp_path / 'b.txt'}", ROBOT)


def test_clocks_of_joined_files_agree(tmp_path):
    forces = "t," + ",".join(f"tau:{x}" for x in ROBOT.joint_names)
    save(tmp_path / "q.csv", MOTION.t, MOTION.q, names="t," + ",".join(ROBOT.joint_names))
    save(tmp_path / "tau.csv", MOTION.t, TAU, names=forces)
    save(tmp_path / "late.csv", MOTION.t + 100, TAU, names=forces)
    motion = read(f"{tmp_path / 'q.csv'}+{tmp_path / 'tau.csv'}", ROBOT)
    assert np.allclose(motion.tau, TAU) and np.allclose(motion.t, MOTION.t)
    message = r"clocks of q\.csv and late\.csv disagree: in line 2, the first is at 0.* at 1"
    with pytest.raises(ParseError, match=message):
        read(f"{tmp_path / 'q.csv'}+{tmp_path / 'late.csv'}", ROBOT)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"1": "t", "2-9": "q"}, "columns 2-9 are mapped; the file has columns 1 to 7"),
        ({"1": "t", "2-3": "q"}, "expected q, dq, ddq or tau and 3 columns"),
        ({"1": "t", "2-4": "q", "4-6": "tau"}, "column 4 is mapped twice"),
        ({"1": "t", "2-4": "speed"}, "mapped to 'speed:joint1'; expected t"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(tmp_path, columns, message):
    path = save(tmp_path / "log.csv", MOTION.t, MOTION.q, TAU)
    with pytest.raises(ParseError, match=message):
        read(path, ROBOT, columns=columns)


def test_a_rate_is_above_zero_and_stands_alone(tmp_path):
    path = save(tmp_path / "log.csv", MOTION.t, MOTION.q, TAU)
    for columns, rate, message in (
        ({"2-4": "q", "5-7": "tau"}, 0.0, "the rate is 0 Hz"),
        ({"2-4": "q", "5-7": "tau"}, np.inf, "the rate is inf Hz; expected .* finite and above 0"),
        ({"1": "t", "2-4": "q", "5-7": "tau"}, 100.0, "leave out one of them"),
    ):
        with pytest.raises(InputError, match=message):
            read_recording(path, ROBOT, columns=columns, rate=rate)
