"""Headers that public tools write: read right by name or number, or refused with the fix."""

import time

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError, ParseError
from kinetree.model import random_model
from kinetree.motion import read
from motion_robots import with_joint_names

PANDA = kt.robots.panda()
J = PANDA.model.joint_names
N = len(J)
UR5 = kt.robots.ur5e()
U = UR5.model.joint_names
RNG = np.random.default_rng(5)
T = np.arange(6) / 8  # exact in binary, and in ms, us and ns
TRUE = {x: RNG.normal(size=(len(T), N)) for x in ("q", "dq", "ddq", "tau")}


def numbered(pattern, start=0, count=N):
    return [pattern.format(k) for k in range(start, start + count)]


def named(pattern, joints=J):
    return [pattern.format(x) for x in joints]


# tool | times | q | dq | ddq | tau: {0} and {1} number the joints, {j} names them
READ = """
kinetree | t | q:{j} | dq:{j} | | tau:{j}
ros2_joint_recorder | t | {j} | | |
a logger of numbered joints | time | q{1} | dq{1} | ddq{1} | tau{1}
spdlog of a Franka controller | time | q_{1} | | | tau_{1}
identification toolboxes | timestamp | q{1} | dq{1} | | tau{1}
pandas of a JointState array | stamp | position[{0}] | velocity[{0}] | | effort[{0}]
a JointTrajectory table | time_from_start | positions_{0} | velocities_{0} | accelerations_{0} |
PlotJuggler | __time | /joint_states/{j}/position | | | /joint_states/{j}/effort
PlotJuggler with a topic | __time | /a/joint_states/{j}/position | /a/joint_states/{j}/velocity | |
lerobot features | timestamp | {j}.pos | {j}.vel | |
webots and gym loggers | time | {j}_position | {j}_velocity | | {j}_torque
MuJoCo robot workbench | time | joint{1}_pos | joint{1}_vel | | joint{1}_torque
MuJoCo arrays | time | qpos[{0}] | qvel[{0}] | qacc[{0}] |
MATLAB writetable of matrices | t | q_{1} | qd_{1} | qdd_{1} | tau_{1}
Robotics System Toolbox | Time | JointPosition{1} | JointVelocity{1} | |
Drake's VectorLogSink to pandas | time | q_{j} | qdot_{j} | |
libfranka state alone | time | state.q[{0}] | state.dq[{0}] | | state.tau_J[{0}]
franka_ros to pandas | time | q[{0}] | | | tau_J_{0}
columns named by quantity first | secs | pos_{j} | vel_{j} | | effort_{j}
functions of joints | t | position({j}) | | | torque({j})
dots for derivatives | t | theta{1} | theta{1}_dot | theta{1}_ddot |
bare joint numbers | t | J{1} | | |
units in brackets | time [s] | q{1} [rad] | dq{1} [rad/s] | ddq{1} (rad/s^2) | tau{1} [Nm]
units as endings | time_s | joint_{1}_position_rad | joint_{1}_velocity_rad_s | |
pandas to_parquet of two levels | t | ('q', '{j}') | | | ('tau', '{j}')
ros2_control states | time | {j}/position | {j}/velocity | | {j}/effort
measured values alone | t | measured_{j}_position | | | {j}_measured_torque
"""
ROWS = [[x.strip() for x in line.split("|")] for line in READ.strip().splitlines()]


def table(times, columns, values=TRUE, t=T, mark=","):
    """A text of named columns, and the order of its columns is that of the dictionary."""
    heads, data = [times], [t]
    for quantity, own in columns.items():
        heads += own
        data += list(values[quantity][:, : len(own)].T)
    heads = [f'"{x}"' if mark in x else x for x in heads]
    rows = [mark.join(repr(float(x)) for x in row) for row in np.stack(data, axis=1)]
    return "\n".join([mark.join(heads), *rows]) + "\n"


def written(folder, text):
    path = folder / "recording.csv"
    path.write_text(text, encoding="utf-8")
    return path


def notes(motion):
    return "; ".join(motion.meta.get("notes", ()))


@pytest.mark.parametrize(("tool", "times", "patterns"), [(x, t, p) for x, t, *p in ROWS])
def test_headers_of_tools_are_read(tool, times, patterns, tmp_path):
    columns = {
        quantity: [pattern.format(k, k + 1, j=x) for k, x in enumerate(J)]
        for quantity, pattern in zip(TRUE, patterns, strict=True)
        if pattern
    }
    found = read(written(tmp_path, table(times, columns)), PANDA)
    assert np.array_equal(found.t, T) and found.joint_names == J
    for quantity in columns:
        assert np.array_equal(getattr(found, quantity), TRUE[quantity]), quantity
    by_number = not any(x in columns["q"][0] for x in J) and "'" not in columns["q"][0]
    assert ("in the order of the joints" in notes(found)) == by_number
    if by_number:
        assert all(f"{a} is {b}" in notes(found) for a, b in zip(columns["q"], J, strict=True))


def test_ur_rtde_with_blanks_between_columns(tmp_path):
    columns = {"q": numbered("actual_q_{}", 0, 6), "dq": numbered("actual_qd_{}", 0, 6),
               "tau": numbered("target_moment_{}", 0, 6)}  # fmt: skip
    found = read(written(tmp_path, table("timestamp", columns, mark=" ")), UR5)
    assert np.array_equal(found.q, TRUE["q"][:, :6])
    assert np.array_equal(found.tau, TRUE["tau"][:, :6])
    assert "actual_q_0 is shoulder_pan" in notes(found)
    assert "tau is the target value, 'target_moment_0'" in notes(found)


def test_rostopic_names_the_joints_in_its_cells(tmp_path):
    """rostopic echo -p: stamps in ns, names of the joints in the cells, in their own order."""
    heads = ["%time", "field.header.seq", "field.header.stamp", "field.header.frame_id"]
    heads += [f"field.{x}{k}" for x in ("name", "position", "velocity", "effort") for k in range(N)]
    order = list(reversed(range(N)))
    lines = [",".join(heads)]
    for k, t in enumerate(T):
        stamp = 1_600_000_000_123_456_789 + round(t * 1e9)
        cells = [stamp + 5, k, stamp, "base", *(J[j] for j in order)]
        cells += [repr(float(TRUE[x][k, j])) for x in ("q", "dq", "tau") for j in order]
        lines.append(",".join(map(str, cells)))
    found = read(written(tmp_path, "\n".join(lines)), PANDA)
    assert np.array_equal(found.t, T)
    for x in ("q", "dq", "tau"):
        assert np.array_equal(getattr(found, x), TRUE[x])
    assert "field.position0 is panda_joint7" in notes(found)
    assert "counted from the first, 1600000000.123456789 s" in notes(found)
    assert "'%time' is not used" in notes(found)
    wrong = "\n".join([*lines[:-1], lines[-1].replace(J[0], "panda_joint8")])
    with pytest.raises(ParseError, match=r"line 7: 'field.name6' is 'panda_joint8' and was"):
        read(written(tmp_path, wrong), PANDA)


def test_bagpy_names_the_joints_in_one_cell(tmp_path):
    heads = ["Time", "header.seq", "header.stamp.secs", "header.stamp.nsecs", "header.frame_id"]
    heads += ["name", *numbered("position_{}"), *numbered("velocity_{}")]
    names = '"[' + ", ".join(f"'{x}'" for x in reversed(J)) + ']"'
    lines = [",".join(heads)]
    for k, t in enumerate(T):
        cells = [1.6e9 + t + 0.01, k, 1600000000, round(t * 1e9), "base", names]
        cells += [repr(float(x)) for y in ("q", "dq") for x in TRUE[y][k, ::-1]]
        lines.append(",".join(map(str, cells)))
    found = read(written(tmp_path, "\n".join(lines)), PANDA)
    assert np.array_equal(found.q, TRUE["q"]) and np.array_equal(found.t, T)
    assert np.array_equal(found.dq, TRUE["dq"])


@pytest.mark.parametrize(
    ("heads", "divisor", "note"),
    [
        (["time_ms"], 1e3, "converted from ms to s"),
        (["t [ms]"], 1e3, "converted from ms to s"),
        (["timestamp_us"], 1e6, "counted from the first, 0"),
        (["stamp (ns)"], 1e9, "counted from the first, 0"),
    ],
)
def test_units_of_times_are_converted_and_noted(heads, divisor, note, tmp_path):
    text = table(heads[0], {"q": named("{}")}, t=T * divisor)
    found = read(written(tmp_path, text), PANDA)
    assert np.array_equal(found.t, T) and note in notes(found)


@pytest.mark.parametrize(
    ("sec", "nanosec"),
    [("sec", "nanosec"), ("secs", "nsecs"), ("header.stamp.sec", "header.stamp.nanosec"),
     ("header_stamp_secs", "header_stamp_nsecs"), ("stamp.sec", "stamp.nanosec")],
)  # fmt: skip
def test_seconds_and_nanoseconds_are_one_time(sec, nanosec, tmp_path):
    lines = [",".join([sec, nanosec, *J])]
    for k, t in enumerate(T):
        cells = [1_700_000_000, 999_999_999, *TRUE["q"][k].tolist()]
        cells[0] += 1 if t else 0
        cells[1] = cells[1] if not t else round(t * 1e9) - 1
        lines.append(",".join(map(repr, cells)))
    found = read(written(tmp_path, "\n".join(lines)), PANDA)
    assert np.array_equal(found.t, T)
    assert "counted from the first, 1700000000.999999999 s" in notes(found)


@pytest.mark.parametrize(("sec", "nanosec"), [(1.5, 5e8), (1, 2e9), (1, -5)])
def test_a_time_counts_once_in_seconds_and_nanoseconds(sec, nanosec, tmp_path):
    arrays = {"sec": np.array([0, sec]), "nanosec": np.array([0, nanosec]), "q": np.zeros((2, 7))}
    np.savez(tmp_path / "a.npz", **arrays)
    text = f"sec,nanosec,{','.join(J)}\n0,0{',0' * 7}\n{sec},{nanosec}{',0' * 7}\n"
    for path in (tmp_path / "a.npz", written(tmp_path, text)):
        with pytest.raises(ParseError, match="whole"):
            read(path, PANDA)


def test_degrees_are_read_where_they_are_stated(tmp_path):
    degrees = {x: np.rad2deg(TRUE[x]) for x in ("q", "dq")}
    said = {"q": numbered("q{} [deg]", 1), "dq": numbered("dq{} [deg/s]", 1)}
    found = read(written(tmp_path, table("t", said, degrees)), PANDA)
    np.testing.assert_allclose(found.q, TRUE["q"], rtol=1e-15)
    assert "q in deg, as stated, was converted" in notes(found)
    plain = {"q": numbered("q{}", 1), "dq": numbered("dq{}", 1)}
    again = read(written(tmp_path, table("t", plain, degrees)), PANDA, degrees=True)
    assert np.array_equal(again.q, found.q) and np.array_equal(again.dq, found.dq)
    ended = {"q": named("{}_position_deg"), "dq": named("{}_velocity_deg_s")}
    third = read(written(tmp_path, table("t", ended, degrees)), PANDA, degrees=True)
    assert np.array_equal(third.q, found.q)


Q1 = numbered("q{}", 1)
REFUSED = [
    ("half a set", "t", Q1[:5], r"5 numbered columns of q.*complete set of 7.*columns={'q1': 'q:"),
    ("numbers from 2", "t", numbered("q{}", 2), "from 1 to 7 or from 0 to 6"),
    (
        "one number too many",
        "t",
        numbered("q{}", 1, 8),
        r"8 numbered columns.*columns={'q\*': None}",
    ),
    ("a hole", "t", [*Q1[:6], "q9"], "complete set of 7"),
    ("one number twice", "t", [*Q1, "q01"], r"columns 'q1', 'q01' have the same number"),
    (
        "UR target and actual",
        "timestamp",
        numbered("actual_q_{}") + numbered("target_q_{}"),
        r"'actual_q_0' and 'target_q_0' both are q of panda_joint1.*columns={'target_q_\*': None}",
    ),
    (
        "libfranka state and command",
        "time",
        numbered("state.q[{}]") + numbered("cmd.q_d[{}]"),
        r"both are q of panda_joint1.*'cmd.q_d\[\*\]': None",
    ),
    (
        "JointTrajectoryControllerState",
        "time",
        numbered("error.positions[{}]"),
        r"'error.positions\[0\]'.*belong to nothing",
    ),
    ("a bare and a full name", "t", [*J, "q:panda_joint1"], "both are q of panda_joint1"),
    ("two columns alike", "t", [*J, J[0]], "two columns are called 'panda_joint1': number 2 and"),
    (
        "a misspelt joint",
        "t",
        [*J[:6], "panda_jiont7"],
        r"Did you mean 'panda_joint7'\?.*leave it out",
    ),
    ("another robot", "t", named("q:{}", U), "unknown joint 'shoulder_pan'"),
    ("InSight's arm", "time(s)", [f"enc{k}(rad)" for k in range(1, 8)], "columns 'enc1.rad.'"),
    ("lerobot's array", "timestamp", numbered("observation.state[{}]"), "belong to nothing"),
    ("PX4's stamps", "timestamp_sample", J, "no column 't'"),
    ("libfranka's duration", "duration", J, "no column 't'.*columns={'NAME': 't'}"),
    ("%time alone", "%time", J, r"unit is not certain.*columns={'%time': 't\[ns\]'}"),
    ("nanoseconds alone", "nanosec", J, r"nanoseconds, and no column has the seconds"),
    (
        "a quantity without joint",
        "t",
        [*J, "velocity"],
        "column 'velocity' states no joint, neither by name",
    ),
    ("a pandas index", "t", ["", *J], r"column 2 has no name.*columns={'': None}"),
    ("degrees for a rate", "t", named("{} [deg/s]"), "expected rad or another unit of q"),
    ("an unknown unit", "t", named("{} [foo]"), r"'panda_joint1 \[foo\]'.*belong to nothing"),
    (
        "degrees here and there",
        "t",
        [*named("{} [deg]", J[:6]), J[6]],
        "q of panda_joint1 is stated in deg, and q of panda_joint7 has no unit",
    ),
    (
        "two times",
        "t",
        ["time", *J],
        r"'t', 'time' are times; expected one.*columns={'time': None}",
    ),
    ("a missing joint", "t", J[:6], "q of panda_joint7 is missing"),
    ("rates of one joint", "t", [*J, "dq:panda_joint1"], "dq of panda_joint2, .* is missing"),
]


@pytest.mark.parametrize(("case", "times", "heads", "says"), REFUSED, ids=[x[0] for x in REFUSED])
def test_doubtful_headers_are_refused_with_the_fix(case, times, heads, says, tmp_path):
    values = {"q": RNG.normal(size=(len(T), len(heads)))}
    with pytest.raises(InputError, match=says) as told:
        read(written(tmp_path, table(times, {"q": list(heads)}, values)), PANDA)
    assert str(told.value).startswith("recording.csv, line 1: ")


def test_a_unit_that_contradicts_the_option_is_refused(tmp_path):
    text = table("t", {"q": named("{} [rad]")})
    with pytest.raises(ParseError, match="stated in rad, and degrees=True states degrees"):
        read(written(tmp_path, text), PANDA, degrees=True)
    mixed = table("t", {"q": named("{} [deg]"), "dq": named("dq:{}")})
    with pytest.raises(
        ParseError, match=r"q of panda_joint1 is stated in deg, and dq of .*1 has no"
    ):
        read(written(tmp_path, mixed), PANDA)


@pytest.mark.parametrize("stamp", [1_700_000_000_000, 1_700_000_000_000_000_000])
def test_stamps_that_cannot_be_seconds_are_refused(stamp, tmp_path):
    text = table("timestamp", {"q": list(J)}, t=stamp + np.arange(6) * 1e6)
    with pytest.raises(ParseError, match=r"cannot be seconds.*columns={'timestamp': 't\[ns\]'}"):
        read(written(tmp_path, text), PANDA)


def test_columns_are_mapped_by_hand(tmp_path):
    heads = [*numbered("enc{}", 1), "temperature", *numbered("actual_current_{}")]
    values = {"q": np.hstack([TRUE["q"], TRUE["dq"][:, :1], TRUE["tau"]])}
    path = written(tmp_path, table("clock", {"q": heads}, values, t=T * 1e3))
    columns = {"clock": "t[ms]", "temperature": None, "actual_current_*": "tau"}
    found = read(path, PANDA, columns=columns | {"enc*": "q"})
    assert np.array_equal(found.q, TRUE["q"]) and np.array_equal(found.tau, TRUE["tau"])
    assert np.array_equal(found.t, T)
    by_name = {f"enc{k + 1}": f"q:{J[k]}" for k in range(N)}
    assert np.array_equal(read(path, PANDA, columns=columns | by_name).q, TRUE["q"])


def degrees_of(pattern):
    return {"q": [pattern.format(k + 1) for k in range(N)]}, {"q": np.degrees(TRUE["q"])}


@pytest.mark.parametrize("pattern", ["enc{} [deg]", "enc{}_deg", "enc_deg{}", "enc_deg[{}]"])
def test_columns_by_hand_keep_the_unit_of_their_name(pattern, tmp_path):
    heads, values = degrees_of(pattern)
    path = written(tmp_path, table("clock [ms]", heads, values, t=T * 1e3))
    by_name = {head: f"q:{J[k]}" for k, head in enumerate(heads["q"])}
    stars = {pattern.format("*"): "q"}
    for columns in (by_name, stars):
        found = read(path, PANDA, columns={"clock [ms]": "t", **columns})
        assert np.allclose(found.q, TRUE["q"], rtol=0, atol=1e-15)
        assert np.allclose(found.t, T, rtol=0, atol=1e-15)
        assert "q in deg, as stated, was converted" in found.meta["notes"]


@pytest.mark.parametrize("pattern", ["Joint{}", "joint_{}", "JOINT-{}_pos"])
def test_numbers_do_not_overrule_the_name_of_a_joint_in_other_letters(pattern, tmp_path):
    path = written(tmp_path, f"t,{pattern.format(1)},{pattern.format(2)}\n0,1,2\n1,3,4\n")
    robot = kt.robots.planar_2r()
    assert np.array_equal(read(path, robot).q, [[1, 2], [3, 4]])
    with pytest.raises(ParseError, match="several readings, q:joint2 and q:joint1"):
        read(path, with_joint_names(robot, ("joint2", "joint1")))


def test_a_column_of_opposite_sign_is_not_the_quantity(tmp_path):
    for heads in (["-q1", "q2"], ["-joint1_pos", "joint2_pos"]):
        path = written(tmp_path, f"t,{','.join(heads)}\n0,1,2\n1,2,3\n")
        with pytest.raises(ParseError):
            read(path, kt.robots.planar_2r())


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"clok": "t"}, r"there is no column 'clok' to map.*Did you mean 'clock'\?"),
        ({"clock": "time"}, "expected t, t.ms., q:JOINT"),
        ({"clock": "q:panda_jont1"}, r"Did you mean 'panda_joint1'\?"),
        ({"clock": "q"}, "expected a joint with it, such as q:panda_joint1"),
        ({"clock": "t", "cl*": None}, "is mapped twice"),
    ],
)
def test_wrong_mappings_are_refused(columns, says, tmp_path):
    path = written(tmp_path, table("clock", {"q": list(J)}))
    with pytest.raises(ParseError, match=says):
        read(path, PANDA, columns=columns)


def test_a_joint_called_like_a_number_or_a_time_is_not_guessed(tmp_path):
    names = ("q2", "q1")
    robot = kt.robots.planar_2r()
    model = with_joint_names(robot, names)
    text = "t,q1,q2\n0,1,2\n1,3,4\n"
    with pytest.raises(
        ParseError, match=r"column 'q1' has several readings.*columns={'q1': 'q:q1'}"
    ):
        read(written(tmp_path, text), model)
    found = read(written(tmp_path, text), model, columns={"q1": "q:q1", "q2": "q:q2"})
    assert np.array_equal(found.q, [[2, 1], [4, 3]])
    text = "stamp,other\n0,1\n1,2\n"
    with pytest.raises(ParseError, match=r"is a joint of .* and a usual name of the times"):
        read(written(tmp_path, text), with_joint_names(robot, ("stamp", "other")))
    same = read(written(tmp_path, "t,q1,q2\n0,1,2\n1,3,4\n"), with_joint_names(robot, ("q1", "q2")))
    assert np.array_equal(same.q, [[1, 2], [3, 4]])


def test_numbers_do_not_state_the_coordinates_of_a_free_base(tmp_path):
    robot = kt.robots.quadruped()
    heads = numbered("qpos[{}]", 0, robot.nq)
    values = {"q": np.tile(robot.neutral(), (len(T), 1))}
    with pytest.raises(ParseError, match=r"has joints with several. Name them: q:base.qw"):
        read(written(tmp_path, table("t", {"q": heads}, values)), robot)


def test_one_joint_needs_no_number(tmp_path):
    robot = kt.Robot(random_model(0, 1, types=("revolute",)))
    text = "time,theta,velocity,effort\n0,1,2,3\n1,2,2,4\n"
    found = read(written(tmp_path, text), robot)
    assert found.q.tolist() == [[1], [2]] and found.tau.tolist() == [[3], [4]]


@pytest.mark.parametrize(
    ("heads", "joints"),
    [
        ("t,left,right", ("left", "right")),
        ("time,left_pos,right_pos,left_vel,right_vel", ("left", "right")),
        ("t,q:left,q:right,dq:left,dq:right", ("left", "right")),
        ("t,q1,q2", ("joint_1", "joint_2")),
        ("t,joint1,joint2", ("joint1", "joint2")),
        ("__time,/joint_states/left/position,/joint_states/right/position", ("left", "right")),
        ("t,position[0],position[1],effort[0],effort[1]", ("joint_1", "joint_2")),
    ],
)
def test_without_a_robot_the_names_are_those_of_the_file(heads, joints, tmp_path):
    width = heads.count(",") + 1
    rows = [",".join(repr(float(x)) for x in [t, *RNG.normal(size=width - 1)]) for t in T]
    found = read(written(tmp_path, "\n".join([heads, *rows])))
    assert found.joint_names == joints
    assert np.array_equal(found.q[0], [float(x) for x in rows[0].split(",")[1:3]])


def test_two_sets_by_name_are_refused_with_a_pattern(tmp_path):
    heads = named("{}_position") + named("target_{}_position")
    values = {"q": RNG.normal(size=(len(T), len(heads)))}
    path = written(tmp_path, table("t", {"q": heads}, values))
    with pytest.raises(ParseError, match=r"columns={'target_\*_position': None}"):
        read(path, PANDA)
    found = read(path, PANDA, columns={"target_*_position": None})
    assert np.array_equal(found.q, values["q"][:, :N])


def test_a_column_of_other_names_is_refused(tmp_path):
    path = written(tmp_path, "t,name,joint1,joint2\n0,run,1,2\n1,run,2,3\n")
    with pytest.raises(ParseError, match=r"column 'name' has 'run'; expected names of joints"):
        read(path, kt.robots.planar_2r())
    assert read(path, kt.robots.planar_2r(), columns={"name": None}).q.tolist() == [[1, 2], [2, 3]]


FINGERS = """<robot name="gripper"><link name="palm"/>{links}{joints}</robot>"""
LINK = """<link name="{}"><inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{0}" type="revolute"><parent link="palm"/><child link="{1}"/>
  <axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="1" velocity="1"/>{2}</joint>"""


def test_a_joint_that_follows_another_has_no_column(tmp_path):
    joints = JOINT.format("left", "l", "") + JOINT.format("right", "r", '<mimic joint="left"/>')
    text = FINGERS.format(links=LINK.format("l") + LINK.format("r"), joints=joints)
    robot = kt.load_string(text)
    for heads in ("t,left_pos,right_pos", "t,left,right"):
        path = written(tmp_path, heads + "\n0,1,1\n1,2,2\n")
        assert read(path, robot).q.tolist() == [[1], [2]]
        assert heads.split(",")[2] in notes(read(path, robot))
    path = written(tmp_path, "t,q:left,q:right\n0,1,1\n1,2,2\n")
    with pytest.raises(ParseError, match=r"'right' follows 'left' and has no entry.*out: colu"):
        read(path, robot)
    assert read(path, robot, columns={"q:right": None}).q.tolist() == [[1], [2]]


def test_the_work_for_a_name_does_not_grow_with_the_units_in_it(tmp_path):
    """A header of 16,384 names of 250 signs that are all unit words took minutes."""
    heads = [f"{x}{k}" for k in range(500) for x in ("q_deg_per_s_" * 20, "m_s_" * 60)]
    start = time.process_time()
    with pytest.raises(ParseError, match="belong to nothing"):
        read(written(tmp_path, ",".join(["t", *heads]) + "\n" + "0," * 1000 + "0\n"), PANDA)
    assert time.process_time() - start < 10  # s; about one


@pytest.mark.parametrize("comment", ["# 0,1,2", "# made on a bench", "# t,q1"])
def test_a_comment_that_does_not_name_every_column_is_no_header(comment, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"{comment}\n0,1,2\n1,1,2\n")
    with pytest.raises(ParseError, match="columns without names"):
        read(path, kt.robots.planar_2r())
