"""Everything that kinetree writes it reads back, bit for bit; other files against pandas."""

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinetree as kt
from kinetree.errors import InputError, ParseError
from kinetree.identify import make_recording, read_recording
from kinetree.model import random_model
from kinetree.motion import Trajectory, quintic, read
from motion_robots import with_joint_names

ROBOT = kt.robots.spatial_3r()
J = ROBOT.model.joint_names
RNG = np.random.default_rng(2)
SIGNALS = ("q", "dq", "ddq", "tau")
pandas = pytest.importorskip("pandas")


@pytest.fixture
def motion():
    plan = quintic([0.1, 0.2, 0.3], [1 / 3, -2, 1], 0.7, 0.05, robot=ROBOT)
    return plan.replace(tau=ROBOT.inverse_dynamics(plan.q, plan.dq, plan.ddq))


def same(one, other):
    assert np.array_equal(one.t, other.t)
    for x in SIGNALS:
        assert np.array_equal(getattr(one, x), getattr(other, x)), x


WRITERS = {
    "csv": lambda x, path: x.to_csv(path),
    "npz": lambda x, path: x.to_npz(path),
    "parquet": lambda x, path: x.to_parquet(path),
    "data frame.csv": lambda x, path: x.to_dataframe().to_csv(path),
    "reset.csv": lambda x, path: x.to_dataframe().reset_index().to_csv(path, index=False),
    "frame.parquet": lambda x, path: x.to_dataframe().to_parquet(path),
    "flat.csv": lambda x, path: flat(x.to_dataframe()).to_csv(path),
    "grouped.csv": lambda x, path: grouped(x.to_dataframe()).to_csv(path),
    "grouped.parquet": lambda x, path: grouped(x.to_dataframe()).to_parquet(path),
    "swapped.csv": lambda x, path: grouped(x.to_dataframe()).swaplevel(axis=1).to_csv(path),
    "tabs.csv": lambda x, path: grouped(x.to_dataframe()).to_csv(path, sep="\t"),
    "semicolons.csv": lambda x, path: flat(x.to_dataframe()).to_csv(path, sep=";"),
}


def flat(frame):
    return frame.set_axis(["_".join(reversed(x.split(":"))) for x in frame.columns], axis=1)


def grouped(frame):
    """The frame with columns of two levels, which pandas writes as two lines of names."""
    pairs = [tuple(x.split(":", 1)) for x in frame.columns]
    return frame.set_axis(pandas.MultiIndex.from_tuples(pairs, names=("quantity", "joint")), axis=1)


@pytest.mark.parametrize("robot", [ROBOT, None], ids=["robot", "alone"])
@pytest.mark.parametrize("writer", WRITERS)
def test_what_is_written_reads_back_to_the_same_bits(motion, writer, robot, tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / writer
    WRITERS[writer](motion, path)
    found = read(path, robot)
    same(motion, found)
    assert found.joint_names == J and not found.meta.get("notes")
    assert found.name == ("quintic" if writer == "npz" else path.stem)


def test_a_file_with_one_quantity_has_two_lines_of_names_too(motion, tmp_path):
    frame = grouped(motion.to_dataframe())[["q"]]
    frame.to_csv(tmp_path / "q.csv")
    assert np.array_equal(read(tmp_path / "q.csv", ROBOT).q, motion.q)


def test_data_frames_have_the_columns_of_csv_files(motion, tmp_path):
    motion.to_csv(tmp_path / "a.csv")
    stored = pandas.read_csv(tmp_path / "a.csv")
    frame = motion.to_dataframe().reset_index()
    pandas.testing.assert_frame_equal(stored, frame, rtol=1e-15)
    forces = ROBOT.gravity_forces(stored.sample(frac=1, axis=1, random_state=1))
    assert np.allclose(forces[list(J)], ROBOT.gravity_forces(motion.q))
    with pytest.raises(InputError, match=f"q: .*missing '{J[1]}'"):
        ROBOT.gravity_forces(stored.drop(columns=f"q:{J[1]}"))


@pytest.mark.parametrize("ending", ["csv", "npz", "parquet"])
def test_rates_that_are_forgotten_are_computed_and_not_written(motion, ending, tmp_path):
    pytest.importorskip("pyarrow")
    bare = motion.replace(dq=None, ddq=None)
    assert bare.computed == ("dq", "ddq") and motion.computed == () and bare.pieces is None
    np.testing.assert_allclose(bare.dq[1:-1], motion.dq[1:-1], atol=0.05)
    getattr(bare, f"to_{ending}")(tmp_path / f"a.{ending}")
    again = read(tmp_path / f"a.{ending}", ROBOT)
    same(bare, again)
    assert "dq and ddq are computed" in again.meta["notes"][0]
    moved = bare.replace(q=2 * bare.q)
    np.testing.assert_allclose(moved.dq, 2 * bare.dq, rtol=1e-12)
    np.testing.assert_allclose(motion.replace(ddq=None).ddq, motion.ddq, atol=1)


def test_rates_of_quaternions_are_not_computed():
    robot = kt.robots.quadruped()
    q = robot.random(3, rng=0)
    with pytest.raises(InputError, match=r"quaternions .* give dq"):
        Trajectory(t=range(3), q=q, model=robot.model)


def test_free_bases_read_back_from_every_table(tmp_path):
    robot = kt.robots.quadruped()
    q = np.array([robot.random(rng=k) for k in range(4)])
    rates = RNG.normal(size=(3, 4, robot.n))
    motion = Trajectory(t=range(4), q=q, dq=rates[0], ddq=rates[1], tau=rates[2],
                                  model=robot.model)  # fmt: skip
    for ending in ("csv", "parquet", "npz"):
        getattr(motion, f"to_{ending}")(tmp_path / f"a.{ending}")
        same(motion, read(tmp_path / f"a.{ending}", robot))


def test_recordings_read_back_to_the_same_bits(tmp_path):
    t = np.linspace(0, 2, 300)
    phase = t[:, None] * [1, 1.5, 2]
    q, dq, ddq = np.sin(phase), np.cos(phase) * [1, 1.5, 2], -np.sin(phase) * [1, 2.25, 4]
    tau = ROBOT.inverse_dynamics(q, dq, ddq)
    for given_rates in ((dq, ddq), (None, None)):
        recording = make_recording(ROBOT, t, q, tau, *given_rates)
        recording.to_csv(tmp_path / "a.csv")
        recording.to_parquet(tmp_path / "a.parquet")
        for ending in ("csv", "parquet"):
            same(recording, read_recording(tmp_path / f"a.{ending}", ROBOT))
    bare = kt.identify.recording.Recording(t, q, dq, ddq, tau)
    with pytest.raises(InputError, match="made without a robot, so its joints have no names"):
        bare.to_csv(tmp_path / "b.csv")


@pytest.mark.parametrize("line", ["sep=,", "\ufeffSEP=,\r", '"sep=,"'])
def test_the_line_of_the_separator_is_skipped(line, motion, tmp_path):
    motion.to_csv(tmp_path / "a.csv")
    text = f"{line}\n{(tmp_path / 'a.csv').read_text(encoding='utf-8')}"
    (tmp_path / "a.csv").write_bytes(text.encode())
    same(motion, read(tmp_path / "a.csv", ROBOT))


def test_a_compressed_text_is_read(motion, tmp_path):
    motion.to_csv(tmp_path / "a.csv")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    same(motion, read(tmp_path / "a.csv.gz", ROBOT))


def test_arrays_of_other_programs_are_numbered_sets(tmp_path):
    t, q, tau = np.arange(4.0), RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3))
    np.savez(tmp_path / "a.npz", time=t, qpos=q, torque=tau)
    found = read(tmp_path / "a.npz", ROBOT)
    assert np.array_equal(found.q, q) and np.array_equal(found.tau, tau)
    notes = "; ".join(found.meta["notes"])
    assert "qpos[0] is joint1" in notes and "computed from the spline through q" in notes
    np.savez(tmp_path / "b.npz", t=t, q=q, dof_names=J)
    again = read(tmp_path / "b.npz", ROBOT)
    assert np.array_equal(again.dq, found.dq) and np.array_equal(again.ddq, found.ddq)
    assert again.meta["notes"] == ("dq and ddq are computed from the spline through q",)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_arrays_of_one_name_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", t=np.arange(3.0), q=np.zeros((3, 3)))
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as archive:
        archive.writestr("q.npy", archive.read("q.npy"))
    with pytest.raises(ParseError, match="two arrays are called 'q'"):
        read(tmp_path / "a.npz", ROBOT)


def test_arrays_may_name_the_joints_in_their_cells(tmp_path):
    q, order = RNG.normal(size=(4, 3)), [2, 0, 1]
    columns = {"t": np.arange(4.0)}
    columns |= {f"position{k}": q[:, j] for k, j in enumerate(order)}
    columns |= {f"name{k}": np.array([J[j]] * 4) for k, j in enumerate(order)}
    np.savez(tmp_path / "a.npz", **columns)
    assert np.array_equal(read(tmp_path / "a.npz", ROBOT).q, q)
    columns["name1"][2] = J[1]
    np.savez(tmp_path / "a.npz", **columns)
    with pytest.raises(ParseError, match=f"a.npz, row 3: 'name1' is '{J[1]}' and was '{J[0]}'"):
        read(tmp_path / "a.npz", ROBOT)


def test_parquet_of_lists_and_of_time_stamps(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    stamps = np.datetime64("2026-01-01T00:00:00.000000001") + np.arange(4) * np.timedelta64(
        125, "ms"
    )
    q = RNG.normal(size=(4, 3))
    columns = {"timestamp": pyarrow.array(stamps), "observation.state": pyarrow.array(q.tolist())}
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    found = read(tmp_path / "a.parquet", ROBOT, columns={"observation.state[*]": "q"})
    assert np.array_equal(found.q, q) and np.array_equal(found.t, np.arange(4) / 8)


def test_time_differences_are_times(tmp_path):
    t, q = np.array([125, 250, 375], "m8[ms]"), RNG.normal(size=(3, 3))
    np.savez(tmp_path / "a.npz", t=t, q=q)
    np.savez(tmp_path / "b.npz", t=t.astype("m8[125ms]"), q=q)
    np.savez(tmp_path / "c.npz", t=np.datetime64(125, "125ms") + t.astype("m8[125ms]"), q=q)
    frame = pandas.DataFrame(q, columns=J, index=pandas.Index(t, name="t"))
    frame.to_parquet(tmp_path / "a.parquet")
    for name in ("a.npz", "b.npz", "a.parquet"):
        found = read(tmp_path / name, ROBOT)
        assert np.array_equal(found.t, [0.125, 0.25, 0.375]) and np.array_equal(found.q, q)
    assert np.array_equal(read(tmp_path / "c.npz", ROBOT).t, [0, 0.125, 0.25])  # dates


def test_a_missing_time_stamp_is_refused_with_its_row(tmp_path):
    stamps = np.datetime64("2026-01-01T00:00:00", "ms") + np.arange(4) * np.timedelta64(125, "ms")
    stamps[2] = np.datetime64("NaT")
    np.savez(tmp_path / "a.npz", timestamp=stamps, q=RNG.normal(size=(4, 3)))
    with pytest.raises(ParseError, match=r"a.npz, row 3: 'timestamp' is missing"):
        read(tmp_path / "a.npz", ROBOT)


NAMES = {
    "kinetree": "{quantity}:{joint}",
    "path": "/joint_states/{joint}/{word}",
    "ending": "{joint}_{word}",
    "beginning": "{word}_{joint}",
    "dot": "{joint}.{word}",
    "brackets": "{word}[{joint}]",
    "number": "{quantity}{number}",
    "index": "{word}[{index}]",
    "underscore": "{quantity}_{number}",
    "origin": "actual_{quantity}_{index}",
}
WORDS = {"q": "position", "dq": "velocity", "ddq": "acceleration", "tau": "effort"}


@settings(max_examples=60, deadline=None)
@given(
    dialects=st.lists(st.sampled_from(sorted(NAMES)), min_size=4, max_size=4),
    time=st.sampled_from(["t", "time", "timestamp", "Stamp", "secs", "__time", "time [s]"]),
    mark=st.sampled_from([",", ";", "\t"]),
    end=st.sampled_from(["\n", "\r\n"]),
    mode=st.sampled_from(["plain", "bom", "comment", "trailing", "quoted"]),
    seed=st.integers(0, 10**6),
)
def test_order_names_and_separators_do_not_change_the_motion(
    dialects, time, mark, end, mode, seed, tmp_path_factory
):
    rng = np.random.default_rng(seed)
    t = np.cumsum(rng.uniform(0.01, 1, size=5))
    true = {x: rng.normal(size=(5, 3)) * 10.0 ** rng.integers(-9, 9) for x in SIGNALS}
    columns = {time: t}
    for quantity, dialect in zip(SIGNALS, dialects, strict=True):
        for k, joint in enumerate(J):
            head = NAMES[dialect].format(
                quantity=quantity, joint=joint, word=WORDS[quantity], number=k + 1, index=k
            )
            columns[head] = true[quantity][:, k]
    order = rng.permutation(len(columns))
    heads = [list(columns)[k] for k in order]
    if mode == "quoted":
        heads = [f'"{x}"' for x in heads]
    lines = [mark.join(heads)]
    lines += [mark.join(repr(float(list(columns.values())[k][i])) for k in order) for i in range(5)]
    if mode == "trailing":
        lines = [x + mark for x in lines]
    if mode == "comment":
        lines.insert(0, "# made by a program; with, all: signs")
        lines.insert(3, "# here it paused")
    text = end.join(lines) + end
    path = tmp_path_factory.mktemp("law") / "a.csv"
    path.write_bytes((b"\xef\xbb\xbf" if mode == "bom" else b"") + text.encode())
    found = read(path, ROBOT)
    assert np.array_equal(found.t, t)
    for x in SIGNALS:
        assert np.array_equal(getattr(found, x), true[x]), (x, dialects)
    frame = pandas.read_csv(path, sep=mark, comment="#", dtype=str)  # an oracle
    for quantity, dialect in zip(SIGNALS, dialects, strict=True):
        head = NAMES[dialect].format(
            quantity=quantity, joint=J[1], word=WORDS[quantity], number=2, index=1
        )
        assert [float(x) for x in frame[head]] == getattr(found, quantity)[:, 1].tolist()


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.parquet", b"PAR1 and nothing more", "is not a Parquet file"),
        ("a.parquet", b"t,joint1\n0,1\n", "is not a Parquet file: it begins with"),
        ("a.parquet", b"", "is not a Parquet file: it is empty"),
        ("a.npz", b"PK\x03\x04 not really", "is not an NPZ file"),
        ("a.xlsx", b"PK\x03\x04 and so on", "a spreadsheet; save it as CSV UTF-8"),
        ("a.bag", b"t,joint1\n0,1\n", "is not a ROS bag file: it begins with"),
        ("a.mcap", b"\x89MCAP0\r\n", "cannot be read as a ROS bag|needs rosbags"),
        ("a.dat", b"\x89MCAP0\r\n", "a ROS bag; rename it so that it ends with .mcap"),
        ("a.csv", b"", "a.csv is empty; expected a line of names"),
        ("a.csv", b"# nothing\n#\n", "a.csv is empty"),
        ("a.csv", "t,joint1,joint2,joint3\n0,1,2,\u0663\n".encode(), "'joint3' is '\u0663'; exp"),
        ("a.csv", b"t,joint1,joint2,joint3\n0,1,2,1_000\n", "'joint3' is '1_000'"),
        ("a.csv", b"t,joint1,joint2,joint3\n0,1,2,\n", "'joint3' is empty; expected a number"),
        ("a.csv", b't,joint1,joint2,joint3\n0,1,2,"1,000"\n', "is '1,000'.*thousands separators"),
        ("a.csv", b't,joint1,joint2,"joint3\n0,1,2,3\n', "line 1: a quotation mark is not closed"),
        ("a.csv", b"t;joint1;joint2;joint3\n0,5;1;2;3\n", "'t' is '0,5'.*write 0.5 for 0,5"),
        ("a.csv", b"t,joint1,joint2,joint3\n0,1,2,3,\n", "line 2: 5 columns; expected 4"),
        ("a.csv", b"t,joint1,joint2,joint3\r0,1,2,3\r", "line 1: lines end with CR alone"),
        ("a.csv", b'"' + b"a" * 200_000 + b'"', "line 1 is not a line of CSV: field larger"),
        ("a.csv", b"t,0,1,2\n0,1,2,3\n", "columns '0', '1', '2' belong to nothing"),
        ("a.csv", b"\x00\x01\x02\xff\xfe", "line 1 is not text in UTF-8"),
    ],
)  # fmt: skip
def test_hostile_files_are_refused_in_words(name, content, says, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises((ParseError, kt.KinetreeError), match=says) as told:
        read(tmp_path / name, ROBOT)
    assert "\n" not in str(told.value)


def test_an_empty_parquet_is_refused(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    kind = pyarrow.float64()
    for names, says in (((), "no columns"), (("t", *J), "and no rows")):
        empty = pyarrow.table({x: pyarrow.array([], kind) for x in names})
        parquet.write_table(empty, tmp_path / "a.parquet")
        with pytest.raises(ParseError, match=says):
            read(tmp_path / "a.parquet", ROBOT)
    parquet.write_table(
        pyarrow.table({x: pyarrow.array([0.5, None], kind) for x in ("t", *J)}),
        tmp_path / "a.parquet",
    )
    with pytest.raises(ParseError, match=r"a.parquet, row 2: 't' is nan; expected a finite number"):
        read(tmp_path / "a.parquet", ROBOT)


def test_two_columns_of_one_name_are_refused_in_parquet_too(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table([np.arange(3.0)] * 5, names=["t", *J, J[0]])
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(ParseError, match=f"two columns are called '{J[0]}'"):
        read(tmp_path / "a.parquet", ROBOT)


def test_a_header_of_ten_thousand_columns_is_refused_shortly(tmp_path):
    heads = ",".join(["t", *(f"sensor_{k}_value" for k in range(10_000))])
    (tmp_path / "a.csv").write_text(
        heads + "\n" + ",".join(["0"] * 10_001) + "\n", encoding="utf-8"
    )
    with pytest.raises(ParseError, match="and 9988 more belong to nothing") as told:
        read(tmp_path / "a.csv", ROBOT)
    assert len(str(told.value)) < 900


def test_left_out_columns_may_hold_anything(tmp_path):
    text = "t,joint1,joint2,joint3,remark\n0,1,2,3,start\n1,2,3,4,\n2,3,4,5,nan\n"
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    found = read(tmp_path / "a.csv", ROBOT, columns={"remark": None})
    assert found.q.tolist() == [[1, 2, 3], [2, 3, 4], [3, 4, 5]]


def test_options_that_a_file_has_no_use_for_are_refused(motion, tmp_path):
    motion.to_npz(tmp_path / "a.npz")
    with pytest.raises(InputError, match="not a ROS bag and has no topics"):
        read(tmp_path / "a.npz", ROBOT, topic="/joint_states")
    with pytest.raises(InputError, match="an NPZ file of kinetree, which is in rad"):
        read(tmp_path / "a.npz", ROBOT, degrees=True)


def test_degrees_need_a_robot(tmp_path):
    (tmp_path / "a.csv").write_text("t,a\n0,1\n1,2\n", encoding="utf-8")
    with pytest.raises(InputError, match="degrees=True needs the robot"):
        read(tmp_path / "a.csv", degrees=True)


SHARED = Path(__file__).resolve().parents[5] / "shared"


@pytest.mark.skipif(not (SHARED / "recordings").exists(), reason="../shared/recordings is not here")
def test_a_measured_recording_is_read_as_pandas_reads_it(tmp_path):
    path = SHARED / "recordings" / "panda_gaz_2019" / "exciting_trajectory.csv.gz"
    robot, frame = kt.robots.panda(), pandas.read_csv(path, dtype=str).head(2000)
    names = robot.model.joint_names
    found = read(path, robot)
    assert len(found) == 20_544 and found.meta["notes"] == (
        "ddq is computed from the spline through dq",
    )
    for x in ("q", "dq", "tau"):
        for k, name in enumerate(names):
            assert getattr(found, x)[:2000, k].tolist() == [float(y) for y in frame[f"{x}:{name}"]]
    words = {"q": "position", "dq": "velocity", "tau": "effort"}
    heads = [x if x == "t" else f"{words[x.partition(':')[0]]}[{int(x[-1]) - 1}]" for x in frame]
    frame.set_axis(heads, axis=1).to_csv(tmp_path / "other.csv", sep=";", index=False)
    again = read(tmp_path / "other.csv", robot)
    assert np.array_equal(again.q, found.q[:2000]) and np.array_equal(again.tau, found.tau[:2000])


@pytest.mark.skipif(not (SHARED / "bad_inputs").exists(), reason="../shared/bad_inputs is not here")
def test_files_that_are_no_recordings_are_refused_in_one_line():
    for path in sorted((SHARED / "bad_inputs").iterdir()):
        for robot in (None, ROBOT):
            with pytest.raises(InputError) as told:
                read(path, robot)
            assert "\n" not in str(told.value) and len(str(told.value)) < 1000, path.name


ODD = [
    ("dq", "q"), ("t", "time"), ("1", "2"), ("a;b", "a,b"), ('a"b', "a/b"), ("q2", "q1"),
    ("a [deg]", "x_deg"), ("stamp", "sec"), ("name", "seq"), ("tau", "position"), ("#a", "%time"),
    ("joint_2", "J1"), ("q:a", "('q', 'a')"), ("\u00e9", "a b"), ("desired", "d"),
]  # fmt: skip


@pytest.mark.parametrize("names", ODD, ids=" and ".join)
def test_joints_of_any_name_read_back_with_their_robot(names, tmp_path):
    pytest.importorskip("pyarrow")
    robot = with_joint_names(kt.robots.planar_2r(), names)
    arrays = dict(zip(SIGNALS, RNG.normal(size=(4, 5, 2)), strict=True))
    motion = Trajectory(t=np.arange(5) / 4, **arrays, model=robot.model)
    for ending in ("csv", "npz", "parquet"):
        getattr(motion, f"to_{ending}")(tmp_path / f"a.{ending}")
        same(motion, read(tmp_path / f"a.{ending}", robot))
    grouped(motion.to_dataframe()).to_csv(tmp_path / "frame.csv")
    same(motion, read(tmp_path / "frame.csv", robot))


@pytest.mark.parametrize("kind", ["list", "large_list", "fixed"])
def test_lists_of_parquet_are_read_and_missing_ones_refused(kind, tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    of = {"list": pa.list_, "large_list": pa.large_list, "fixed": lambda x: pa.list_(x, 2)}[kind]
    path, rows = tmp_path / "a.parquet", [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]

    def message(q):
        table = pa.table({"t": [0.0, 0.1, 0.2][: len(q)], "q": pa.array(q, of(pa.float64()))})
        pq.write_table(table, path, row_group_size=2)
        with pytest.raises(ParseError) as told:
            kt.motion.read(path, kt.robots.planar_2r())
        return str(told.value)

    pq.write_table(pa.table({"t": [0.0, 0.1, 0.2], "q": pa.array(rows, of(pa.float64()))}), path)
    assert kt.motion.read(path, kt.robots.planar_2r()).q.tolist() == rows
    assert "row 2: 'q' is missing; expected a list" in message([rows[0], None, rows[2]])
    assert "row 3: 'q[1]' is nan" in message([*rows[:2], [0.5, None]])
    assert "no rows" in message([])
    if kind != "fixed":
        assert "differ in length" in message([rows[0], [0.1], rows[2]])
        assert "q" in message([[], [], []])


@pytest.mark.parametrize("cell", ["1" * 100_000, "x" * 100_000])
def test_a_message_shows_the_beginning_of_a_cell(cell, tmp_path):
    path = tmp_path / "a.csv"
    for head in ("t,q1,q2", "header.stamp.nsec [ns],q1,q2", "t_ns,q1,q2"):
        path.write_text(f"{head}\n{cell},{cell},2\n")
        with pytest.raises(ParseError) as caught:
            kt.motion.read(path, kt.robots.planar_2r())
        assert len(str(caught.value)) < 600


def test_a_file_of_matlab_is_refused_with_the_way(tmp_path):
    path = tmp_path / "a.mat"
    path.write_bytes(b"MATLAB 5.0 MAT-file, Platform: GLNXA64" + bytes(200))
    with pytest.raises(ParseError, match=r"is a MAT-file of MATLAB, which is not read\. Save"):
        kt.motion.read(path)


PLANAR = kt.robots.planar_2r()
A, B = PLANAR.model.joint_names


def test_batches_go_into_npz_and_one_motion_into_csv(tmp_path):
    robot = kt.robots.quadruped()
    q = np.tile(robot.neutral(), (4, 3, 1))
    dq = RNG.normal(size=(4, 3, robot.n))
    walk = Trajectory(t=range(4), q=q, dq=dq, ddq=dq, tau=dq, model=robot.model)
    walk.to_npz(tmp_path / "walk.npz")
    same(walk, read(tmp_path / "walk.npz", robot))
    with pytest.raises(InputError, match=r"need their robot: kt.motion.read\(path, robot\)"):
        read(tmp_path / "walk.npz")
    with pytest.raises(InputError, match=r"a CSV file takes one motion.*rollout"):
        walk.to_csv(tmp_path / "walk.csv")


def test_columns_come_in_any_order_and_names_may_hold_commas(tmp_path):
    names = ["up, down", 'the "left" one']
    motion = quintic([0, 0], [1, 2], 1, 0.1, joint_names=names)
    motion.to_csv(tmp_path / "odd.csv")
    assert read(tmp_path / "odd.csv").joint_names == tuple(names)
    text = f"dq:{B},t,q:{B},q:{A},dq:{A}\n1,0,2,3,4\n1,0.5,2.5,5,4\n\n1,1,3,7,4\n"
    (tmp_path / "mixed.csv").write_text(text, encoding="utf-8")
    found = read(tmp_path / "mixed.csv", PLANAR)
    assert np.array_equal(found.q, [[3, 2], [5, 2.5], [7, 3]])
    assert np.array_equal(found.dq, [[4, 1]] * 3)
    assert read(tmp_path / "mixed.csv").joint_names == (B, A)


def test_missing_rates_are_those_of_the_spline(tmp_path):
    t = np.linspace(0, 2, 201)
    lines = [f"t,{A},{B}", *(f"{x!r},{float(np.sin(x))!r},{x**3!r}" for x in t.tolist())]
    (tmp_path / "q.csv").write_text("\n".join(lines), encoding="utf-8")
    found = read(tmp_path / "q.csv", PLANAR)
    assert np.allclose(found.dq, np.stack([np.cos(t), 3 * t**2], 1), atol=1e-6)  # h^3
    assert np.allclose(found.ddq, np.stack([-np.sin(t), 6 * t], 1), atol=1e-3)  # h^2


GOOD = f"t,q:{A},q:{B}\n0,1,2\n0.1,1,2\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (GOOD.replace("t,", "t;"), "line 1: commas and semicolons in one line; expected one kind"),
        (GOOD + "0.1,1,2\n", r"line 4: t = 0\.1 s comes after t = 0\.1 s of line 3"),
        (GOOD + "0.2,nan,2\n", rf"line 4: 'q:{A}' is nan; expected a finite number"),
        (GOOD + "0.2,inf,2\n", r"line 4: .* is inf"),
        (GOOD + "\n0.2,1\n", r"line 5: 2 columns; expected 3"),
        (GOOD + "0.2,1,two\n", rf"line 4: 'q:{B}' is 'two'; expected a number"),
        (GOOD.replace("0,1,2\n0.1,1,2\n", ""), r"a line of names and no row of numbers"),
        ("t\n0\n", "q of joint1, joint2 is missing"),
    ],
)
def test_bad_csv_is_refused_with_the_line(text, says, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"bad\.csv.*" + says):
        read(path, PLANAR)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"t": None}, "no array t"),
        ({"t": [0, 0, 1]}, "times must increase"),
        ({"q": np.zeros((3, 5))}, r"q has shape \(3, 5\); expected \(T, \.\.\., 2\)"),
        ({"dq": np.zeros((2, 2))}, r"dq has shape \(2, 2\); expected \(3, 2\)"),
        ({"ddq": np.full((3, 2), np.nan)}, "ddq.* is nan"),
        ({"dof_names": ["hip", B]}, "unknown joint 'hip'"),
        ({"q": np.array([{}] * 3)}, "is not an NPZ file of arrays"),
    ],
)
def test_bad_npz_is_refused_with_the_reason(changes, says, tmp_path):
    arrays = {
        "t": [0, 1, 2],
        "dof_names": [A, B],
        **{x: np.zeros((3, 2)) for x in ("q", "dq", "ddq")},
    }
    arrays = {name: x for name, x in (arrays | changes).items() if x is not None}
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(InputError, match=says):
        read(tmp_path / "bad.npz", PLANAR)


@pytest.mark.parametrize("kind", ["spherical", "planar", "free"])
def test_rates_that_are_no_derivative_of_q_are_asked_for(tmp_path, kind):
    """The rates of a base in the plane are in its own axes, as those of quaternions are."""
    robot = kt.Robot(random_model(0, 1, types=(kind,)))
    names = ",".join(f"q:{name}" for name in robot.model.coordinate_names)
    q = ",".join(map(str, robot.neutral()))
    (tmp_path / "a.csv").write_text(f"t,{names}\n" + "".join(f"{t},{q}\n" for t in range(4)))
    with pytest.raises(InputError, match="Add the columns of dq"):
        read(tmp_path / "a.csv", robot)
