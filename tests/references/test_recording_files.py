"""Recordings as CSV, NPZ, Parquet and ROS bags: the numbers that are read, and what is refused.

The tables have names of columns and units that every reader of recordings has to read. What a
column means is stated by its name, by [unit] in it, or by `columns=`; further columns are ignored
with a note, and what may be meant in two ways is refused with the line and the column.
"""

import gzip

import numpy as np
import pytest
from robot_files import SHARED, parse

import kinetree as kt
from kinetree.errors import InputError, KinetreeError, ParseError
from kinetree.identify import read_recording
from kinetree.motion import Trajectory, excitation, quintic, read

PANDA, ROBOT, TWO = kt.robots.panda(), kt.robots.spatial_3r(), kt.robots.planar_2r()
J, K = PANDA.joint_names, ROBOT.joint_names
RNG = np.random.default_rng(5)
T = np.arange(6) / 8  # exact in binary, and in ms, us and ns
TRUE = {x: RNG.normal(size=(6, 7)) for x in ("q", "dq", "ddq", "tau")}
SIGNALS = tuple(TRUE)


def same(one, other):
    assert np.array_equal(one.t, other.t)
    for x in SIGNALS:
        assert np.array_equal(getattr(one, x), getattr(other, x)), x


def notes(motion):
    return "; ".join(motion.meta.get("notes", ()))


def table(times, columns, values=TRUE, t=T, mark=","):
    """A text of named columns."""
    heads, data = [times], [t]
    for quantity, names in columns.items():
        heads += names
        data += list(values[quantity][:, : len(names)].T)
    rows = [mark.join(repr(float(x)) for x in row) for row in np.stack(data, axis=1)]
    return "\n".join([mark.join(heads), *rows]) + "\n"


def written(folder, text, name="a.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# what is written reads back


@pytest.fixture
def motion():
    plan = quintic([0.1, 0.2, 0.3], [1 / 3, -2, 1], 0.7, 0.05, robot=ROBOT)
    return plan.replace(tau=ROBOT.inverse_dynamics(plan.q, plan.dq, plan.ddq))


WRITERS = {
    "csv": lambda x, path: x.to_csv(path),
    "npz": lambda x, path: x.to_npz(path),
    "parquet": lambda x, path: x.to_parquet(path),
    "frame.csv": lambda x, path: x.to_dataframe().to_csv(path),
    "reset.csv": lambda x, path: x.to_dataframe().reset_index().to_csv(path, index=False),
    "frame.parquet": lambda x, path: x.to_dataframe().to_parquet(path),
    "semicolons.csv": lambda x, path: x.to_dataframe().to_csv(path, sep=";"),
    "tabs.csv": lambda x, path: x.to_dataframe().to_csv(path, sep="\t"),
}


@pytest.mark.parametrize("robot", [ROBOT, None], ids=["robot", "alone"])
@pytest.mark.parametrize("writer", WRITERS)
def test_what_is_written_reads_back_to_the_same_bits(motion, writer, robot, tmp_path):
    pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    path = tmp_path / f"a.{writer}"
    WRITERS[writer](motion, path)
    found = read(path, robot)
    same(motion, found)
    assert found.joint_names == K and not notes(found)


def test_motions_of_free_bases_and_batches_read_back(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    robot = kt.robots.quadruped()
    q = np.array([robot.random(rng=k) for k in range(4)])
    dq, ddq, tau = RNG.normal(size=(3, 4, robot.n))
    walk = Trajectory(t=range(4), q=q, dq=dq, ddq=ddq, tau=tau, model=robot.model)
    for ending in ("csv", "parquet", "npz"):
        getattr(walk, f"to_{ending}")(tmp_path / f"a.{ending}")
        same(walk, read(tmp_path / f"a.{ending}", robot))
    dq = RNG.normal(size=(4, 3, robot.n))
    batch = np.tile(q[:, None], (1, 3, 1))
    walks = Trajectory(t=range(4), q=batch, dq=dq, ddq=dq, tau=dq, model=robot.model)
    walks.to_npz(tmp_path / "b.npz")
    same(walks, read(tmp_path / "b.npz", robot))
    with pytest.raises(InputError):
        walks.to_csv(tmp_path / "b.csv")


ODD_NAMES = [("dq", "q"), ("t", "time"), ("1", "2"), ("a;b", "a,b"), ('a"b', "a/b"),
             ("a [deg]", "x_deg"), ("\u00e9", "a b")]  # fmt: skip


@pytest.mark.parametrize("names", ODD_NAMES)
def test_joints_of_any_name_read_back_with_their_robot(names, tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    builder = kt.Builder("odd").link("base").link("a", 1).link("b", 1)
    builder.joint(names[0], "revolute", "base", "a").joint(names[1], "revolute", "a", "b")
    robot = builder.build()
    arrays = dict(zip(SIGNALS, RNG.normal(size=(4, 5, 2)), strict=True))
    odd = Trajectory(t=np.arange(5) / 4, **arrays, model=robot.model)
    for ending in ("csv", "npz", "parquet"):
        getattr(odd, f"to_{ending}")(tmp_path / f"a.{ending}")
        same(odd, read(tmp_path / f"a.{ending}", robot))


def test_recordings_of_identification_read_back(tmp_path):
    plan = excitation(ROBOT, 3, 0.01)
    tau = ROBOT.inverse_dynamics(plan.q, plan.dq, plan.ddq)
    data = kt.identify.make_recording(ROBOT, plan.t, plan.q, tau, plan.dq, plan.ddq)
    data.to_csv(tmp_path / "a.csv")
    same(data, read_recording(tmp_path / "a.csv", ROBOT))


# text


@pytest.mark.parametrize(("before", "end", "mark"), [
    ("", "\n", ","), ("\ufeff", "\r\n", ";"), ("# by a program; with, all: signs\n", "\n", "\t"),
    ("sep=,\n", "\n", ","), ("# angles of joint 3 jumped 2 times\n", "\n", " "),
])  # fmt: skip
def test_marks_ends_comments_and_order_do_not_change_the_motion(before, end, mark, tmp_path):
    order = RNG.permutation(7)
    values = {x: y[:, order] for x, y in TRUE.items()}
    columns = {x: [f"{x}:{J[k]}" for k in order] for x in reversed(SIGNALS)}
    lines = table("t", columns, values, mark=mark).splitlines()
    lines.insert(3, "# here it paused")
    path = written(tmp_path, before + end.join(lines) + end)
    found = read(path, PANDA)
    assert np.array_equal(found.t, T) and found.joint_names == J
    for x in SIGNALS:
        assert np.array_equal(getattr(found, x), TRUE[x]), x
    packed = written(tmp_path, gzip.compress(path.read_bytes()), "a.csv.gz")
    same(found, read(packed, PANDA))


NAMES = """
t | q:{j} | dq:{j} | ddq:{j} | tau:{j}
t | {j} | dq:{j} | | effort:{j}
time | q{1} | dq{1} | ddq{1} | tau{1}
time | q[{0}] | dq[{0}] | | tau[{0}]
timestamp | {j}_position | {j}_velocity | | {j}_effort
time | position[{0}] | velocity[{0}] | | effort[{0}]
time [s] | q{1} [rad] | dq{1} [rad/s] | ddq{1} [rad/s^2] | tau{1} [Nm]
"""


@pytest.mark.parametrize("line", NAMES.strip().splitlines())
def test_names_of_columns_give_quantities_and_joints(line, tmp_path):
    times, *patterns = (x.strip() for x in line.split("|"))
    columns = {
        quantity: [pattern.format(k, k + 1, j=x) for k, x in enumerate(J)]
        for quantity, pattern in zip(TRUE, patterns, strict=True)
        if pattern
    }
    found = read(written(tmp_path, table(times, columns)), PANDA)
    assert np.array_equal(found.t, T) and found.joint_names == J
    for quantity in columns:
        assert np.array_equal(getattr(found, quantity), TRUE[quantity]), quantity


def test_further_columns_are_ignored_with_one_note(tmp_path):
    text = table("t", {"q": [*(f"q:{x}" for x in K), "temperature", "tcp_x"]})
    found = read(written(tmp_path, text), ROBOT)
    assert np.array_equal(found.q, TRUE["q"][:, :3])
    (note,) = [x for x in found.meta["notes"] if "temperature" in x]
    assert "tcp_x" in note
    text = "t,joint1,joint2,joint3,remark\n0,1,2,3,start\n1,2,3,4,\n2,3,4,5,nan\n"
    found = read(written(tmp_path, text), ROBOT, columns={"remark": None})
    assert found.q.tolist() == [[1, 2, 3], [2, 3, 4], [3, 4, 5]]


def test_a_joint_that_follows_another_needs_no_column(tmp_path):
    parts = "".join(
        f'<link name="{x}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" '
        f'ixz="0" iyz="0"/></inertial></link><joint name="{name}" type="continuous">'
        f'<parent link="palm"/><child link="{x}"/>{more}</joint>'
        for x, name, more in (("l", "left", ""), ("r", "right", '<mimic joint="left"/>'))
    )
    robot = parse(f'<robot name="gripper"><link name="palm"/>{parts}</robot>')
    path = written(tmp_path, "t,left\n0,1\n1,2\n")
    assert read(path, robot).q.tolist() == [[1], [2]]


# units


UNITS = {  # quantity, unit in brackets: how many of it are one SI unit
    ("q", "deg"): 180 / np.pi, ("q", "mrad"): 1e3, ("q", "rev"): 0.5 / np.pi,
    ("dq", "deg/s"): 180 / np.pi, ("dq", "rpm"): 30 / np.pi, ("dq", "mrad/s"): 1e3,
    ("tau", "mNm"): 1e3, ("tau", "Ncm"): 100, ("tau", "kNm"): 1e-3,
}  # fmt: skip


def in_unit(quantity, unit, factor):
    """Columns of a quantity in a unit; all angles state theirs where one is not in rad."""
    names = {"q": ["q1", "q2"], "dq": ["dq1", "dq2"], "tau": ["tau1", "tau2"]}
    own = {"q": "rad", "dq": "rad/s", "tau": "Nm", quantity: unit}
    columns = {x: [f"{name} [{own[x]}]" for name in names[x]] for x in names}
    return columns, TRUE | {quantity: TRUE[quantity] * factor}


@pytest.mark.parametrize(("quantity", "unit"), UNITS)
def test_units_in_brackets_are_converted(quantity, unit, tmp_path):
    columns, values = in_unit(quantity, unit, UNITS[quantity, unit])
    found = read(written(tmp_path, table("t", columns, values)), TWO)
    for x in ("q", "dq", "tau"):
        np.testing.assert_allclose(getattr(found, x), TRUE[x][:, :2], rtol=1e-14, atol=1e-15)
    by_hand = {name: f"{x}:joint{k + 1}" for x in columns for k, name in enumerate(columns[x])}
    again = read(written(tmp_path, table("t", columns, values)), TWO, columns=by_hand)
    same(found, again)
    bare = {x: [name.partition(" ")[0] for name in columns[x]] for x in columns}
    stated = {
        f"{x}{k}": f"{x}:joint{k} [{columns[x][0].split('[')[1]}" for x in bare for k in (1, 2)
    }
    again = read(written(tmp_path, table("t", bare, values)), TWO, columns=stated)
    same(found, again)


CLOCKS = {"time [ms]": 1e3, "t [us]": 1e6, "stamp [ns]": 1e9, "t [s]": 1, "t [min]": 1 / 60}


@pytest.mark.parametrize("clock", CLOCKS)
def test_units_of_times_are_converted(clock, tmp_path):
    text = table(clock, {"q": list(J)}, t=T * CLOCKS[clock])
    np.testing.assert_allclose(read(written(tmp_path, text), PANDA).t, T, rtol=1e-15)


def test_times_far_from_zero_are_counted_from_the_first(tmp_path):
    text = table("timestamp", {"q": list(J)}, t=1.6e9 + T)
    assert np.array_equal(read(written(tmp_path, text), PANDA).t, T)
    with pytest.raises(ParseError, match="timestamp"):  # these are no seconds
        text = table("timestamp", {"q": list(J)}, t=1.7e18 + np.arange(6) * 1e6)
        read(written(tmp_path, text), PANDA)


def test_degrees_are_read_where_the_caller_says_so(tmp_path):
    values = {x: np.rad2deg(TRUE[x]) for x in ("q", "dq")}
    columns = {x: [f"{x}:{name}" for name in J] for x in values}
    path = written(tmp_path, table("t", columns, values))
    found = read(path, PANDA, degrees=True)
    np.testing.assert_allclose(found.q, TRUE["q"], rtol=1e-14)
    np.testing.assert_allclose(found.dq, TRUE["dq"], rtol=1e-14)
    assert np.array_equal(read(path, PANDA).q, values["q"])
    with pytest.raises(InputError, match="degrees"):
        read(path, degrees=True)  # a robot may have slides


@pytest.mark.parametrize("unit", ["foo", "deg/s", "A", "s", "Nm", "m", "%"])
def test_a_unit_that_is_not_one_of_the_quantity_is_refused(unit, tmp_path):
    text = f"t,q:joint1 [{unit}],q:joint2 [{unit}]\n0,1,2\n1,2,3\n"
    with pytest.raises(ParseError):
        read(written(tmp_path, text), TWO)


def test_comments_that_are_prose_change_nothing(tmp_path):
    text = "# we measured 30 deg of play, and 5 A at most; t = 0 is noon\nt,q1,q2\n0,1,2\n1,2,3\n"
    assert read(written(tmp_path, text), TWO).q.tolist() == [[1, 2], [2, 3]]


# columns by hand


def test_columns_are_mapped_by_hand(tmp_path):
    heads = [*(f"enc{k}" for k in range(1, 8)), "temperature", *(f"current{k}" for k in range(7))]
    values = {"q": np.hstack([TRUE["q"], TRUE["dq"][:, :1], TRUE["tau"]])}
    path = written(tmp_path, table("clock", {"q": heads}, values, t=T * 1e3))
    columns = {"clock": "t[ms]", "temperature": None, "current*": "tau", "enc*": "q"}
    found = read(path, PANDA, columns=columns)
    assert np.array_equal(found.q, TRUE["q"]) and np.array_equal(found.tau, TRUE["tau"])
    assert np.array_equal(found.t, T)
    by_name = {f"enc{k + 1}": f"q:{J[k]}" for k in range(7)}
    columns = {x: y for x, y in columns.items() if x != "enc*"} | by_name
    same(found, read(path, PANDA, columns=columns))


def test_stars_stand_for_the_same_text_on_both_sides(tmp_path):
    units = {"q": "deg", "dq": "deg/s"}
    heads = {x: [f"{x} of fer_{k + 1} [{u}]" for k in range(7)] for x, u in units.items()}
    path = written(tmp_path, table("t", heads))
    columns = {f"{x} of fer_* [*]": f"{x}:panda_joint*" for x in units}
    found = read(path, PANDA, columns=columns)
    np.testing.assert_allclose(found.q, np.deg2rad(TRUE["q"]), rtol=1e-14)
    np.testing.assert_allclose(found.dq, np.deg2rad(TRUE["dq"]), rtol=1e-14)
    with pytest.raises(ParseError, match="panda_jointq"):
        read(path, PANDA, columns={"* of fer_* [*]": "q:panda_joint*"})


@pytest.mark.parametrize("names", ["time_ms,q1,q2", "t,q1_deg,q2_deg", "t,q1,q2,tau1_mNm,tau2_mNm"])
def test_units_outside_of_brackets_are_never_ignored(names, tmp_path):
    rows = "\n".join(",".join([str(k)] * (names.count(",") + 1)) for k in range(3))
    with pytest.raises(ParseError):
        read(written(tmp_path, f"{names}\n{rows}\n"), TWO)


@pytest.mark.parametrize(
    ("columns", "word"),
    [({"clok": "t"}, "clok"), ({"clock": "time"}, "time"), ({"clock": "q"}, "clock"),
     ({"clock": "q:panda_jont1"}, "panda_jont1"), ({"clock": "t", "cl*": None}, "clock")],
)  # fmt: skip
def test_a_mapping_that_does_not_fit_is_refused(columns, word, tmp_path):
    path = written(tmp_path, table("clock", {"q": list(J)}))
    with pytest.raises(ParseError) as caught:
        read(path, PANDA, columns=columns)
    assert word in str(caught.value)


def test_columns_without_names_are_mapped_by_number(tmp_path):
    motion = excitation(ROBOT, 3, 0.01)
    tau = ROBOT.inverse_dynamics(motion.q, motion.dq, motion.ddq)
    spare = np.zeros((len(tau), 2))
    np.savetxt(tmp_path / "log.csv", np.column_stack([motion.t, motion.q, spare, 1e3 * tau]),
               delimiter=",")  # fmt: skip
    found = read(tmp_path / "log.csv", ROBOT, columns={"1": "t", "2-4": "q", "7-9": "tau [mNm]"})
    assert np.allclose(found.q, motion.q) and np.allclose(found.tau, tau)
    for columns in ({"1": "t", "2-19": "q"}, {"1": "t", "2-3": "q"}, {"1": "t", "2-4": "speed"}):
        with pytest.raises(InputError):
            read(tmp_path / "log.csv", ROBOT, columns=columns)


# rates that are missing


def test_missing_rates_are_those_of_the_spline(tmp_path):
    t = np.linspace(0, 2, 201)
    lines = ["t,joint1,joint2", *(f"{x!r},{float(np.sin(x))!r},{x**3!r}" for x in t.tolist())]
    found = read(written(tmp_path, "\n".join(lines)), TWO)
    assert np.allclose(found.dq, np.stack([np.cos(t), 3 * t**2], 1), atol=1e-6)  # h^3
    assert np.allclose(found.ddq, np.stack([-np.sin(t), 6 * t], 1), atol=1e-3)  # h^2
    assert found.tau is None and "dq" in notes(found)


@pytest.mark.parametrize("kind", ["spherical", "planar", "free"])
def test_rates_that_are_no_derivative_of_q_are_asked_for(tmp_path, kind):
    builder = kt.Builder("one").link("base").link("a", 1, I_com=np.eye(3))
    robot = builder.joint("j", kind, "base", "a").build()
    names = ",".join(f"q:{name}" for name in robot.coordinate_names)
    q = ",".join(map(str, robot.neutral()))
    path = written(tmp_path, f"t,{names}\n" + "".join(f"{t},{q}\n" for t in range(4)))
    with pytest.raises(InputError):
        read(path, robot)


# what is refused

GOOD = "t,q:joint1,q:joint2\n0,1,2\n0.1,1,2\n"
BAD = {  # text: words of the message
    GOOD.replace("t,", "t;"): "line 1",
    GOOD + "0.1,1,2\n": "line 4",  # time stands still
    GOOD + "0.05,1,2\n": "line 4",
    GOOD + "0.2,nan,2\n": "line 4;q:joint1",
    GOOD + "0.2,inf,2\n": "line 4;q:joint1",
    GOOD + "nan,1,2\n": "line 4;'t'",
    GOOD + "0.2,,2\n": "line 4;q:joint1",
    GOOD + "\n0.2,1\n": "line 5",
    GOOD + "0.2,1,2,3\n": "line 4",
    GOOD + "0.2,1,two\n": "line 4;q:joint2;two",
    GOOD + "0.2,1,1_000\n": "line 4;1_000",
    GOOD + "0.2,1,\u0663\n": "line 4;q:joint2",
    GOOD + '0.2,1,"1,000"\n': "line 4;1,000",
    "t;joint1;joint2\n0,5;1;2\n": "line 2;0,5",
    't,joint1,"joint2\n0,1,2\n': "line 1",
    "t,q:joint1,q:joint2\n": "a.csv",
    "": "a.csv",
    "# nothing\n": "a.csv",
    "t\n0\n": "joint1;joint2",
    "t,q:joint1\n0,1\n1,2\n": "joint2",
    "t,q:joint1,q:joint2,q:hip\n0,1,2,3\n": "hip",
    "t,q:joint1,q:joint2,q:joint1\n0,1,2,3\n": "q:joint1",
    "t,joint1,joint2,q:joint1\n0,1,2,3\n": "joint1",
    "t,q:joint1,q:joint2,dq:joint1\n0,1,2,3\n1,1,2,3\n": "dq;joint2",
    "t,time,q:joint1,q:joint2\n0,0,1,2\n": "time",
    "q:joint1,q:joint2\n1,2\n": "'t'",
    "t,q2,q3\n0,1,2\n": "q",
    "0,1,2\n1,1,2\n": "names",
    "t,q1,q2,q3\n0,1,2,3\n": "q",
    "t,q:joint1 [deg],q:joint2\n0,1,2\n1,2,3\n": "joint1;joint2",
}


@pytest.mark.parametrize("text", BAD)
def test_a_bad_csv_is_refused_with_the_line_and_the_column(text, tmp_path):
    with pytest.raises(InputError) as caught:
        read(written(tmp_path, text), TWO)
    message = str(caught.value)
    assert "a.csv" in message and "\n" not in message and len(message) < 900
    for word in BAD[text].split(";"):
        assert word in message


BYTES = [
    ("a.parquet", b"PAR1 and nothing more"), ("a.parquet", b"t,joint1\n0,1\n"), ("a.parquet", b""),
    ("a.npz", b"PK\x03\x04 not really"), ("a.xlsx", b"PK\x03\x04 and so on"),
    ("a.bag", b"t,joint1\n0,1\n"), ("a.mcap", b"\x89MCAP0\r\n"), ("a.dat", b"\x89MCAP0\r\n"),
    ("a.csv", b"\x00\x01\x02\xff\xfe"), ("a.csv", b'"' + b"a" * 200_000 + b'"'),
    ("a.mat", b"MATLAB 5.0 MAT-file" + bytes(200)), ("a.csv.gz", b"no gzip"),
    ("a.csv", b"t,joint1,joint2\n0," + b"1" * 100_000 + b"x,2\n"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content"), BYTES, ids=range(len(BYTES)))
def test_files_that_are_no_recordings_are_refused(name, content, tmp_path):
    with pytest.raises(KinetreeError) as caught:
        read(written(tmp_path, content, name), TWO)
    assert name in str(caught.value) and len(str(caught.value)) < 900


def test_a_file_that_is_not_there_and_a_folder_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "nowhere.csv", TWO)
    with pytest.raises(InputError):
        read(tmp_path, TWO)


# NPZ and Parquet


def test_arrays_of_other_programs_are_numbered_sets(tmp_path):
    q, tau = RNG.normal(size=(2, 4, 3))
    np.savez(tmp_path / "a.npz", time=np.arange(4.0), qpos=q, torque=tau)
    found = read(tmp_path / "a.npz", ROBOT)
    assert np.array_equal(found.q, q) and np.array_equal(found.tau, tau)
    t = np.array([125, 250, 375, 500], "m8[ms]")
    np.savez(tmp_path / "b.npz", t=t, q=q)
    assert np.array_equal(read(tmp_path / "b.npz", ROBOT).t, [0.125, 0.25, 0.375, 0.5])


BAD_ARRAYS = {
    "t": None, "t ": [0, 0, 1], "q": np.zeros((3, 5)), "dq": np.zeros((2, 2)),
    "ddq": np.full((3, 2), np.nan), "dof_names": ["hip", "joint2"], "q ": np.array([{}] * 3),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_a_bad_npz_is_refused_by_the_name_of_the_array(name, tmp_path):
    arrays = {"t": [0, 1, 2], "dof_names": list(TWO.joint_names)}
    arrays |= {x: np.zeros((3, 2)) for x in ("q", "dq", "ddq")}
    arrays = {x: y for x, y in (arrays | {name.strip(): BAD_ARRAYS[name]}).items() if y is not None}
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(InputError) as caught:
        read(tmp_path / "a.npz", TWO)
    word = {"dof_names": "hip", "q ": "a.npz", "t ": "time"}.get(name, name)
    assert word in str(caught.value)


def test_columns_of_parquet_may_be_lists_and_time_stamps(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    stamps = np.datetime64("2026-01-01T00:00:00.000000001") + np.arange(4) * np.timedelta64(
        125, "ms"
    )
    q, path = RNG.normal(size=(4, 2)), tmp_path / "a.parquet"
    parquet.write_table(pa.table({"timestamp": pa.array(stamps), "q": pa.array(q.tolist())}), path)
    found = read(path, TWO)
    assert np.array_equal(found.q, q) and np.array_equal(found.t, np.arange(4) / 8)
    for rows, word in (([[0.1, 0.2], None], "row 2"), ([[0.1, 0.2], [0.1]], "q"), ([], "rows"),
                       ([[0.1, 0.2], [0.3, None]], "row 2")):  # fmt: skip
        of = pa.list_(pa.float64())
        parquet.write_table(pa.table({"t": [0.0, 0.1][: len(rows)], "q": pa.array(rows, of)}), path)
        with pytest.raises(ParseError, match=word):
            read(path, TWO)


# ROS bags

STATE = "sensor_msgs/msg/JointState"
START = 1_700_000_000_123_456_789
BAG_T = np.arange(5) / 16
Q, DQ, TAU = RNG.normal(size=(3, 5, 3))


class Bag:
    """Messages of topics, to be written in any of the formats."""

    def __init__(self, kind):
        from rosbags.typesys import Stores, get_typestore

        self.kind, self.messages = kind, []
        self.store = get_typestore(Stores.ROS1_NOETIC if kind == "bag" else Stores.ROS2_HUMBLE)

    def make(self, type, **fields):
        return self.store.types[type](**fields)

    def header(self, ns):
        own = {"seq": 0} if self.kind == "bag" else {}
        stamp = self.make("builtin_interfaces/msg/Time", sec=ns // 10**9, nanosec=ns % 10**9)
        return self.make("std_msgs/msg/Header", stamp=stamp, frame_id="", **own)

    def state(self, ns, names, q, dq=(), tau=(), topic="/joint_states", received=None):
        message = self.make(
            STATE, header=self.header(ns), name=list(names), position=np.array(q, float),
            velocity=np.array(dq, float), effort=np.array(tau, float),
        )  # fmt: skip
        self.messages.append((topic, STATE, ns if received is None else received, message))

    def write(self, folder):
        from rosbags import rosbag1, rosbag2

        path = folder / ("a.bag" if self.kind == "bag" else "a")
        if self.kind == "bag":
            writer, turn = rosbag1.Writer(path), self.store.serialize_ros1
        else:
            plugin = rosbag2.StoragePlugin["MCAP" if self.kind == "mcap" else "SQLITE3"]
            writer = rosbag2.Writer(path, version=9, storage_plugin=plugin)
            turn = self.store.serialize_cdr
        with writer:
            own = {}
            for topic, kind, received, message in self.messages:
                if topic not in own:
                    own[topic] = writer.add_connection(topic, kind, typestore=self.store)
                writer.write(own[topic], received, turn(message, kind))
        return path


@pytest.fixture(params=["mcap", "db3", "bag"])
def bag(request):
    pytest.importorskip("rosbags", reason="reading bags needs rosbags")
    return Bag(request.param)


def fill(bag, topic="/joint_states", more=()):
    """States whose names come in another order in every message."""
    for k, t in enumerate(BAG_T):
        order = np.roll(np.arange(3), k)
        names = [*(K[j] for j in order), *more]
        q, dq, tau = (np.append(x[k, order], np.zeros(len(more))) for x in (Q, DQ, TAU))
        bag.state(START + round(t * 1e9), names, q, dq, tau, topic=topic)


def test_states_of_a_bag_are_aligned_by_name(bag, tmp_path):
    fill(bag)
    path = bag.write(tmp_path)
    found = read(path, ROBOT)
    assert np.array_equal(found.t, BAG_T)
    for x, y in ((found.q, Q), (found.dq, DQ), (found.tau, TAU)):
        assert np.array_equal(x, y)
    assert read(path).joint_names == K
    if path.is_dir():
        inner = next(x for x in path.iterdir() if x.suffix in (".mcap", ".db3"))
        assert np.array_equal(read(inner, ROBOT).q, Q)


def test_a_topic_of_a_bag_is_chosen_by_name(bag, tmp_path):
    fill(bag)
    for k, t in enumerate(BAG_T):
        bag.state(START + round(t * 1e9), K, DQ[k], topic="/other")
    path = bag.write(tmp_path)
    with pytest.raises(InputError, match=r"(?s)/joint_states.*/other"):
        read(path, ROBOT)
    assert np.array_equal(read(path, ROBOT, topic="/joint_states").q, Q)
    assert np.array_equal(read(path, ROBOT, topic="/other").q, DQ)
    with pytest.raises(InputError, match="/joint_state"):
        read(path, ROBOT, topic="/joint_state")


def test_joints_of_a_bag_are_left_out_and_renamed_by_hand(bag, tmp_path):
    fill(bag, more=("finger",))
    path = bag.write(tmp_path)
    assert np.array_equal(read(path, ROBOT, columns={"finger": None}).q, Q)
    other = Bag(bag.kind)
    for k in range(5):
        other.state(START + k * 10**8, ["a", *K[1:]], Q[k])
    (tmp_path / "b").mkdir()
    assert np.array_equal(read(other.write(tmp_path / "b"), ROBOT, columns={"a": f"q:{K[0]}"}).q, Q)
    every = Bag(bag.kind)
    for k in range(5):
        every.state(START + k * 10**8, [f"fer_{x}" for x in K], Q[k])
        every.state(START + k * 10**8 + 1, ["gripper"], [0.04])
    (tmp_path / "c").mkdir()
    found = read(every.write(tmp_path / "c"), ROBOT, columns={"fer_*": "q:*"})
    assert np.array_equal(found.q, Q) and "gripper" in notes(found)


def test_stamps_of_zero_and_efforts_of_nan_are_absent(bag, tmp_path):
    """Times are those of the bag then; ros2_control has NaN where a robot measures nothing."""
    for k, t in enumerate(BAG_T):
        bag.state(0, K, Q[k], DQ[k], [np.nan] * 3, received=START + round(t * 1e9))
    found = read(bag.write(tmp_path), ROBOT)
    assert np.array_equal(found.t, BAG_T) and np.array_equal(found.q, Q)
    assert found.tau is None and "tau" in notes(found)


ODD_MESSAGES = [  # of number 3 of five: its time in ms, names, q, and what the message names
    (1, K, Q[2], "message 3"), (0, K, Q[2], "message 3"), (2, K[:2], Q[2, :2], "message 3"),
    (2, K, [1, 2, np.nan], "message 3"), (2, (K[0], *K), [9, *Q[2]], "message 3"),
    (2, K, Q[2, :2], "message 3"),
]  # fmt: skip


@pytest.mark.parametrize("case", ODD_MESSAGES, ids=range(len(ODD_MESSAGES)))
def test_odd_messages_of_a_bag_are_refused_with_their_number(case, tmp_path):
    pytest.importorskip("rosbags", reason="reading bags needs rosbags")
    bag = Bag("db3")
    for k in range(5):
        ms, names, q = case[:3] if k == 2 else (k, K, Q[k])
        bag.state(START + ms * 10**6, names, q, received=START + k)
    with pytest.raises(ParseError, match=case[3]):
        read(bag.write(tmp_path), ROBOT)


@pytest.mark.skipif(not (SHARED / "recordings").exists(), reason="no given recordings")
def test_a_given_recording_is_read_as_pandas_reads_it():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    path = SHARED / "recordings" / "panda_gaz_2019" / "exciting_trajectory.csv.gz"
    frame, found = pandas.read_csv(path, dtype=str, nrows=500), read(path, PANDA)
    assert len(found) == 20_544
    for x in ("q", "dq", "tau"):
        for k, name in enumerate(J):
            assert getattr(found, x)[:500, k].tolist() == [float(y) for y in frame[f"{x}:{name}"]]
