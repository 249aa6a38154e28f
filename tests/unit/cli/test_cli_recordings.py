"""Recordings on the command line: every command reads every format, with one rule for rates."""

import json
import os
import shutil

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion import Trajectory, read

ROBOT = kt.robots.planar_2r()
J = ROBOT.model.joint_names
T = np.linspace(0, 1, 9)
Q = np.stack([np.sin(3 * T), np.cos(2 * T)], axis=1)


def lines(*columns, names):
    rows = np.column_stack(columns).tolist()
    return "\n".join([names, *(",".join(map(repr, x)) for x in rows)]) + "\n"


POSITIONS = lines(T, Q, names="t,q:joint1,q:joint2")


@pytest.fixture(scope="module")
def motion(program):
    """The positions as the library reads them, in a file of every format."""
    (program.folder / "q.csv").write_text(POSITIONS, encoding="utf-8")
    found = read(program.folder / "q.csv", ROBOT)
    found = found.replace(tau=ROBOT.inverse_dynamics(found.q, found.dq, found.ddq))
    found.to_csv(program.folder / "all.csv")
    found.to_npz(program.folder / "all.npz")
    return found


def test_missing_rates_are_differentiated_on_every_path(program, motion):
    note = "q.csv: dq and ddq are computed from the spline through q.\n"
    found = program("id planar_2r q.csv")
    assert found.stderr == f"kinetree: {note}"
    rows = np.array([[float(x) for x in row.split(",")] for row in found.stdout.splitlines()[1:]])
    assert np.array_equal(rows[:, 1:], motion.tau) and np.array_equal(rows[:, 0], T)
    assert note in program("check planar_2r q.csv", code=None).stderr
    peak = program.json("check planar_2r q.csv --effort 1000", code=None)["joints"][0]
    assert peak["peak_torque"] >= abs(motion.tau[:, 0]).max() * (1 - 1e-12)
    _, ddq = program.rows("fd planar_2r -", lines(T, Q, motion.tau, names="t,q1,q2,tau1,tau2"))
    np.testing.assert_allclose(np.array(ddq)[:, 1:], motion.ddq, rtol=1e-9, atol=1e-9)
    state = program.json("explain planar_2r q.csv --row 4")
    assert state["dq"] == motion.dq[3].tolist() and state["ddq"] == motion.ddq[3].tolist()
    heads, rows = program.rows("terms planar_2r q.csv")
    c = [k for k, head in enumerate(heads) if head.startswith("c:")]
    assert np.array_equal(np.array(rows)[:, c], ROBOT.coriolis_forces(motion.q, motion.dq))


def test_without_times_missing_rates_are_zero(program, motion):
    found = program("id planar_2r q.csv --columns t=")
    assert found.stderr == "kinetree: q.csv has no columns of dq and ddq: taken as zero.\n"
    rows = [[float(x) for x in row.split(",")] for row in found.stdout.splitlines()[1:]]
    assert rows == ROBOT.inverse_dynamics(Q, 0 * Q, 0 * Q).tolist()
    one = program("id planar_2r -", "t,q:joint1,q:joint2\n0,1,2\n", code=2).stderr
    assert "one sample alone has no rates" in one and "--columns t=: rates are zero then" in one


@pytest.mark.parametrize("file", ["all.csv", "all.npz", "all.parquet"])
def test_every_format_gives_the_same_rows(program, motion, file):
    if file.endswith("parquet"):
        pytest.importorskip("pyarrow")
        motion.to_parquet(program.folder / file)
    heads, rows = program.rows(f"id planar_2r {file}")
    assert heads == ["t", "tau:joint1", "tau:joint2"]
    assert np.array_equal(np.array(rows)[:, 1:], motion.tau)
    data = (program.folder / file).read_bytes()
    assert program(f"check planar_2r {file} --json", code=None).stdout
    if os.name == "posix":
        shell = program.shell(f"cat {file} | kinetree id planar_2r -")
        assert len(shell.stdout.splitlines()) == len(T) + 1, (shell.stderr, len(data))


def test_a_bag_is_read_by_its_topic(program):
    pytest.importorskip("rosbags")
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    state, stamp, header = (
        store.types[x]
        for x in (
            "sensor_msgs/msg/JointState",
            "builtin_interfaces/msg/Time",
            "std_msgs/msg/Header",
        )
    )
    path = program.folder / "two topics"
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        for topic, sign in (("/joint_states", 1), ("/wanted", -1)):
            own = writer.add_connection(topic, state.__msgtype__, typestore=store)
            for k, q in enumerate(Q):
                ns = 10**9 + round(T[k] * 1e9)
                time = header(stamp=stamp(sec=ns // 10**9, nanosec=ns % 10**9), frame_id="")
                none = np.zeros(0)
                message = state(
                    header=time,
                    name=list(J[::-1]),
                    position=sign * q[::-1],
                    velocity=none,
                    effort=none,
                )
                writer.write(own, ns, store.serialize_cdr(message, state.__msgtype__))
    words = program(["id", "planar_2r", "two topics"], code=2).stderr
    assert "/wanted (sensor_msgs/msg/JointState, 9 messages)" in words
    assert "--topic /joint_states" in words and "topic=" not in words
    found = program(["id", "planar_2r", "two topics", "--topic", "/joint_states"])
    assert "times are counted from the first, 1.000000000 s" in found.stderr
    tau = [[float(x) for x in row.split(",")][1:] for row in found.stdout.splitlines()[1:]]
    program("id planar_2r -", POSITIONS)
    _, expected = program.rows("id planar_2r -", POSITIONS)
    np.testing.assert_allclose(tau, np.array(expected)[:, 1:], rtol=1e-9)


def test_columns_are_mapped_on_the_command_line(program, motion):
    text = lines(1000 * T, Q[:, ::-1], T, names="clock,encB,encA,heat")
    wrong = program("id planar_2r -", text, code=2).stderr
    assert "'clock', 'encB', 'encA', 'heat' belong to nothing" in wrong
    assert "--columns clock=" in wrong and "{" not in wrong
    by_hand = "encA=q:joint1 encB=q:joint2 heat= clock=t[ms]"
    _, rows = program.rows(f"id planar_2r - --columns {by_hand}", text)
    np.testing.assert_allclose(np.array(rows)[:, 1:], motion.tau, rtol=1e-9, atol=1e-9)
    for words, says in (
        ("heat", "--columns is 'heat'; expected NAME=q:JOINT"),
        ("heat= heat=t", "--columns maps 'heat' twice"),
        ("haet=", "Did you mean 'heat'?"),
    ):
        assert says in program(f"check planar_2r - --columns {words}", text, code=2).stderr


def test_units_are_read_or_refused_on_the_command_line(program, motion):
    mapping = ["--columns", "encA=q:joint1 [mrad]", "encB=q:joint2 [mrad]"]
    text = lines(T, 1000 * Q[:, ::-1], names="t,encB,encA")
    for names, given in (
        (text, mapping),
        (text.replace("encA", "q1_mrad").replace("encB", "q2_mrad"), []),
    ):
        rows = program(["id", "planar_2r", "-", *given], names)
        found = [[float(x) for x in row.split(",")][1:] for row in rows.stdout.splitlines()[1:]]
        np.testing.assert_allclose(found, motion.tau, rtol=1e-9, atol=1e-9)
        assert "q in mrad, as stated, was converted" in rows.stderr
    wrong = program(["id", "planar_2r", "-", *mapping], text.replace("encA", "encA [deg]"), code=2)
    assert "there is no column 'encA' to map" in wrong.stderr
    mapping[1] = "encA [deg]=q:joint1 [mrad]"
    wrong = program(["id", "planar_2r", "-", *mapping], text.replace("encA", "encA [deg]"), code=2)
    assert "'encA [deg]' is in deg by the file and is mapped to" in wrong.stderr


def test_forces_that_id_writes_are_read_by_simulate(program, motion):
    program("id planar_2r all.csv -o forces.csv")
    found = program.json("simulate planar_2r --duration 0.2 --forces forces.csv --limits record")
    expected = ROBOT.simulate(
        np.zeros(2), duration=0.2, tau=kt.simulate.signal(motion.t, motion.tau, "linear"),
        limits="record",
    )  # fmt: skip
    assert found["tau"] == expected.tau.tolist()


def test_what_simulate_writes_is_read_back(program):
    line = "simulate planar_2r --q 0.3 -0.2 --duration 0.1 --limits record"
    whole = program.json(line)
    program(f"{line} -o motion.csv")
    found = read(program.folder / "motion.csv", ROBOT)
    for x in ("t", "q", "dq", "ddq", "tau"):
        assert getattr(found, x).tolist() == whole[x]


def test_files_in_degrees_state_it(program):
    line = "simulate planar_2r --q 20 10 --duration 0.1 --limits record --degrees -o turned.csv"
    program(line)
    with (program.folder / "turned.csv").open(encoding="utf-8") as file:
        assert file.readline().startswith("t,q:joint1 [deg],q:joint2 [deg],dq:joint1 [deg/s],")
    with_option = program.rows("id planar_2r turned.csv --degrees")
    without = program.rows("id planar_2r turned.csv")
    assert with_option == without
    heads, _ = program.rows("fd planar_2r turned.csv --degrees")
    assert heads == ["t", "ddq:joint1 [deg/s^2]", "ddq:joint2 [deg/s^2]"]


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_named_rows_with_rates_are_answered_as_they_come(program):
    program("id planar_2r")
    names = ",".join(["t", *(f"{x}:{j}" for x in ("q", "dq", "ddq") for j in J)])
    with program.start("id planar_2r -") as process:
        process.stdin.write(f"{names}\n0,1,2,3,4,5,6\n".encode())
        assert process.stdout.readline() == b"t,tau:joint1,tau:joint2\n"
        assert process.stdout.readline().startswith(b"0.0,")
        process.stdin.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.skipif(not shutil.which("bash") or os.name != "posix", reason="pipes of bash")
def test_a_pipe_of_the_shell_is_read_once(program, motion):
    found = program.shell("kinetree id planar_2r <(cat all.csv)")
    assert found.stdout == program("id planar_2r all.csv").stdout
    found = program.shell("kinetree check planar_2r <(cat q.csv) --json")
    assert json.loads(found.stdout)["samples"] == len(T)


def test_a_topic_of_a_text_is_refused(program):
    words = program("id planar_2r - --topic /x", POSITIONS, code=2).stderr
    assert "is not a ROS bag and has no topics; leave out --topic /x" in words


def test_identify_notes_how_the_recording_was_read(program):
    t = np.linspace(0, 3, 400)
    q = np.stack([np.sin(3 * t) + 0.3 * np.sin(7 * t), np.cos(2 * t) + 0.4 * np.sin(5 * t)], axis=1)
    spline = kt.motion.Trajectory(t=t, q=q, dq=0 * q, ddq=0 * q, model=ROBOT.model)
    assert isinstance(spline, Trajectory)
    dq = np.gradient(q, t, axis=0)
    tau = ROBOT.inverse_dynamics(q, dq, np.gradient(dq, t, axis=0))
    text = lines(t, q, tau, names="time,q1,q2,effort1,effort2")
    found = program(["identify", "planar_2r", "-", "-o", "found.urdf", "--json"], text)
    notes = json.loads(found.stdout)["notes"]
    assert any("q1 is joint1, q2 is joint2; likewise effort1 to effort2 (tau)" in x for x in notes)
    assert any("by a zero-phase low-pass" in x for x in notes)
