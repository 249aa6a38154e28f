"""ROS bags of three formats, written here with rosbags: aligned by name, refused by name."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError, ParseError
from kinetree.motion import read

pytest.importorskip("rosbags", reason="reading bags needs rosbags")

from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin
from rosbags.rosbag2 import Writer as Writer2
from rosbags.typesys import Stores, get_typestore

ROBOT = kt.robots.spatial_3r()
J = ROBOT.model.joint_names
RNG = np.random.default_rng(8)
T = np.arange(5) / 16
Q, DQ, TAU = RNG.normal(size=(3, 5, 3))
START = 1_700_000_000_123_456_789
KINDS = ["mcap", "db3", "bag"]
STATE, PLAN = "sensor_msgs/msg/JointState", "trajectory_msgs/msg/JointTrajectory"


class Bag:
    """Messages of topics, to be written in any of the formats."""

    def __init__(self, kind):
        self.kind = kind
        self.store = get_typestore(Stores.ROS1_NOETIC if kind == "bag" else Stores.ROS2_HUMBLE)
        self.messages = []

    def type(self, name):
        return self.store.types[name]

    def stamp(self, ns):
        return self.type("builtin_interfaces/msg/Time")(sec=ns // 10**9, nanosec=ns % 10**9)

    def header(self, ns):
        own = {"seq": 0} if self.kind == "bag" else {}
        return self.type("std_msgs/msg/Header")(stamp=self.stamp(ns), frame_id="", **own)

    def state(self, ns, names, q, dq=(), tau=(), topic="/joint_states", received=None):
        message = self.type(STATE)(
            header=self.header(ns), name=list(names), position=np.array(q, float),
            velocity=np.array(dq, float), effort=np.array(tau, float),
        )  # fmt: skip
        self.messages.append((topic, STATE, ns if received is None else received, message))

    def plan(self, names, times, q, dq=None, ddq=None, topic="/plan", received=START):
        points = []
        for k, t in enumerate(times):
            ns = round(t * 1e9)
            start = self.type("builtin_interfaces/msg/Duration")(
                sec=ns // 10**9, nanosec=ns % 10**9
            )
            rest = [np.zeros(0) if x is None else np.array(x[k], float) for x in (dq, ddq)]
            points.append(
                self.type("trajectory_msgs/msg/JointTrajectoryPoint")(
                    positions=np.array(q[k], float), velocities=rest[0], accelerations=rest[1],
                    effort=np.zeros(0), time_from_start=start,
                )
            )  # fmt: skip
        message = self.type(PLAN)(header=self.header(0), joint_names=list(names), points=points)
        self.messages.append((topic, PLAN, received, message))

    def other(self, topic="/chatter"):
        kind = "std_msgs/msg/String"
        self.messages.append((topic, kind, START, self.type(kind)(data="hello")))

    def write(self, folder, name="recording"):
        if self.kind == "bag":
            path = folder / f"{name}.bag"
            writer, turn = Writer1(path), self.store.serialize_ros1
        else:
            path = folder / name
            plugin = StoragePlugin.MCAP if self.kind == "mcap" else StoragePlugin.SQLITE3
            writer, turn = Writer2(path, version=9, storage_plugin=plugin), self.store.serialize_cdr
        with writer:
            own = {}
            for topic, kind, _, _ in self.messages:
                if topic not in own:
                    own[topic] = writer.add_connection(topic, kind, typestore=self.store)
            for topic, kind, received, message in self.messages:
                writer.write(own[topic], received, turn(message, kind))
        return path


@pytest.fixture(params=KINDS)
def bag(request):
    return Bag(request.param)


def fill(bag, **options):
    """States whose names come in another order in every message."""
    for k, t in enumerate(T):
        order = np.roll(np.arange(3), k)
        bag.state(
            START + round(t * 1e9), [J[j] for j in order], Q[k, order], DQ[k, order],
            TAU[k, order], **options,
        )  # fmt: skip


def test_states_are_aligned_by_name_in_every_message(bag, tmp_path):
    fill(bag)
    bag.other()
    path = bag.write(tmp_path)
    found = read(path, ROBOT)
    assert np.array_equal(found.t, T)
    for x, y in ((found.q, Q), (found.dq, DQ), (found.tau, TAU)):
        assert np.array_equal(x, y)
    assert "times are counted from the first, 1700000000.123456789 s" in found.meta["notes"]
    if path.is_dir():  # the file in it alone
        inner = next(x for x in path.iterdir() if x.suffix in (".mcap", ".db3"))
        assert np.array_equal(read(inner, ROBOT).q, Q)
    without = read(path)
    assert without.joint_names == J and np.array_equal(without.q, Q)


def test_messages_of_a_bag_count_towards_the_limit_of_a_recording(bag, tmp_path, monkeypatch):
    fill(bag)
    path = bag.write(tmp_path)
    monkeypatch.setenv("KINETREE_RECORDING_SIZE", "3K")  # five messages take 1 kB each at least
    with pytest.raises(ParseError, match=r"/joint_states has .* of numbers; at most 3.0 KiB"):
        read(path, ROBOT)


def test_missing_rates_are_computed_and_noted(bag, tmp_path):
    for k, t in enumerate(T):
        bag.state(START + round(t * 1e9), J, Q[k])
    found = read(bag.write(tmp_path), ROBOT)
    assert found.tau is None and found.dq.shape == (5, 3)
    assert "dq and ddq are computed from the spline through q" in found.meta["notes"]


def test_stamps_of_zero_give_way_to_those_of_the_bag(bag, tmp_path):
    for k, t in enumerate(T):
        bag.state(0, J, Q[k], DQ[k], received=START + round(t * 1e9))
    found = read(bag.write(tmp_path), ROBOT)
    assert np.array_equal(found.t, T)
    assert "the stamps of the messages are zero; times are those of the bag" in found.meta["notes"]


@pytest.mark.parametrize("start", [START, 10**9, 10**14])
def test_a_first_message_without_a_stamp_is_refused(start, bag, tmp_path):
    for k, t in enumerate(T):
        bag.state(k and start + round(t * 1e9), J, Q[k], received=START + round(t * 1e9))
    with pytest.raises(ParseError, match=r"message 1 has the stamp 0, and message 2 1.* s: the"):
        read(bag.write(tmp_path), ROBOT)


def test_nanoseconds_of_a_second_and_more_are_refused(bag, tmp_path):
    fill(bag)
    stamp = bag.messages[2][3].header.stamp
    object.__setattr__(stamp, "nanosec", 1_000_000_001)
    with pytest.raises(ParseError, match=r"message 3: .*nanoseconds from 0 to 999999999"):
        read(bag.write(tmp_path), ROBOT)


def test_clocks_of_simulations_begin_at_zero(bag, tmp_path):
    for k, t in enumerate(T - T[0]):
        bag.state(round(t * 1e9), J, Q[k], received=START + round(t * 1e9))
    assert np.allclose(read(bag.write(tmp_path), ROBOT).t, T - T[0], rtol=0, atol=1e-9)


def test_several_topics_are_refused_with_their_list(bag, tmp_path):
    fill(bag)
    fill(bag, topic="/desired/joint_states")
    with pytest.raises(InputError, match="several topics"):
        read(bag.write(tmp_path, "two"), ROBOT)
    bag.plan(J, [0, 1], Q)
    path = bag.write(tmp_path)
    for number in ("0", "x", "-1"):
        with pytest.raises(InputError, match=f"ends with #{number}; expected a number"):
            read(path, ROBOT, topic=f"/plan#{number}")
    with pytest.raises(InputError, match=r"several topics: .*/joint_states \(sensor_msgs/msg/JointState, 5 messages\).*/plan \(trajectory_msgs/msg/JointTrajectory, 1 message\).*topic='/desired/joint_states'"):  # fmt: skip # noqa: E501
        read(path, ROBOT)
    assert np.array_equal(read(path, ROBOT, topic="/joint_states").q, Q)
    with pytest.raises(InputError, match=r"no topic /joint_state;.*Did you mean '/joint_states'\?"):
        read(path, ROBOT, topic="/joint_state")


def test_other_topics_are_refused(bag, tmp_path):
    bag.other()
    path = bag.write(tmp_path)
    with pytest.raises(ParseError, match=r"no topic of type .*/chatter \(std_msgs/msg/String, 1"):
        read(path, ROBOT)
    with pytest.raises(InputError, match=r"/chatter has messages std_msgs/msg/String; expected"):
        read(path, ROBOT, topic="/chatter")


def test_trajectories_are_read_from_their_start(bag, tmp_path):
    bag.plan(reversed(J), T + 0.25, Q[:, ::-1], DQ[:, ::-1], TAU[:, ::-1])
    found = read(bag.write(tmp_path), ROBOT)
    assert np.array_equal(found.t, T + 0.25)
    assert np.array_equal(found.q, Q) and np.array_equal(found.dq, DQ)
    assert np.array_equal(found.ddq, TAU) and found.tau is None


def test_one_of_several_trajectories_is_chosen_by_its_number(bag, tmp_path):
    bag.plan(J, T, Q)
    bag.plan(J, T, DQ, received=START + 1)
    path = bag.write(tmp_path)
    with pytest.raises(InputError, match=r"2 trajectories: #1 \(5 points\), #2 \(5 points\).*#1'"):
        read(path, ROBOT)
    assert np.array_equal(read(path, ROBOT, topic="/plan#2").q, DQ)
    with pytest.raises(InputError, match="there is no #3"):
        read(path, ROBOT, topic="/plan#3")


def test_unknown_joints_are_refused_and_left_out_by_hand(bag, tmp_path):
    for k, t in enumerate(T):
        ns = START + round(t * 1e9)
        bag.state(ns, [*J, "finger"], [*Q[k], 9], [*DQ[k], 9])
        bag.state(ns + 1000, ["finger"], [9], [9])
    path = bag.write(tmp_path)
    with pytest.raises(
        ParseError, match=r"does not have the joints 'finger'.*columns={'finger': None}"
    ):
        read(path, ROBOT)
    found = read(path, ROBOT, columns={"finger": None})
    assert np.array_equal(found.q, Q)
    assert "5 messages without joints of the robot left out" in found.meta["notes"]
    with pytest.raises(ParseError, match=r"no joint 'thumb' to map"):
        read(path, ROBOT, columns={"thumb": None})


def test_joints_are_renamed_by_hand(bag, tmp_path):
    for k, t in enumerate(T):
        bag.state(START + round(t * 1e9), ["a", *J[1:]], Q[k])
    path = bag.write(tmp_path)
    assert np.array_equal(read(path, ROBOT, columns={"a": f"q:{J[0]}"}).q, Q)
    with pytest.raises(ParseError, match=r"in SI units by their definition. Leave out \[deg\]"):
        read(path, ROBOT, columns={"a": f"q:{J[0]} [deg]"})


@pytest.mark.parametrize("bag", KINDS[:1], indirect=True)  # the same code reads all kinds
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda k: {"ns": 0 if k == 2 else k}, "message 3: its time .* does not come after"),
        (lambda k: {"ns": min(k, 3)}, "message 5: its time .* of message 4; times must increase"),
        (lambda k: {"names": J[: 2 if k == 1 else 3]}, "message 2: 'joint3' is missing"),
        (lambda k: {"dq": () if k == 3 else DQ[k]}, "message 4: 0 numbers of dq for 3 joints"),
        (lambda k: {"q": np.where(k == 4, np.nan, Q[k])}, "message 5: q of 'joint1' is nan"),
        (lambda k: {"names": [J[0], J[0], J[2]]}, "message 1: joint 'joint1' is there twice"),
    ],
)
def test_odd_messages_are_refused_with_their_number(bag, change, says, tmp_path):
    for k in range(5):
        own = {"ns": k, "names": J, "q": Q[k], "dq": DQ[k]} | change(k)
        names = own["names"]
        ns = START + own.pop("ns") * 10**6
        bag.state(ns, names, own["q"][: len(names)], own["dq"][: len(names)], received=START + k)
    with pytest.raises(ParseError, match=says):
        read(bag.write(tmp_path), ROBOT)


def test_efforts_that_are_all_nan_are_absent(bag, tmp_path):
    """ros2_control fills interfaces that a robot lacks with NaN."""
    for k, t in enumerate(T):
        bag.state(START + round(t * 1e9), J, Q[k], DQ[k], [np.nan] * 3)
    found = read(bag.write(tmp_path), ROBOT)
    assert found.tau is None
    assert "tau is NaN in every message and taken as absent" in found.meta["notes"]


def test_damaged_bags_are_refused_in_words(bag, tmp_path):
    fill(bag)
    path = bag.write(tmp_path)
    if path.is_dir():
        path = next(x for x in path.iterdir() if x.suffix in (".mcap", ".db3"))
    whole = path.read_bytes()
    for share in (0.3, 0.6, 0.9):
        path.write_bytes(whole[: int(share * len(whole))])
        try:
            read(path, ROBOT)
        except InputError as error:
            assert "\n" not in str(error) and path.name in str(error)
    path.write_text("t,joint1\n0,1\n", encoding="utf-8")
    with pytest.raises(ParseError, match=r"is not a ROS bag file: it begins with"):
        read(path, ROBOT)


def test_a_topic_of_a_file_without_topics_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("t,joint1,joint2,joint3\n0,1,2,3\n1,2,3,4\n", encoding="utf-8")
    with pytest.raises(InputError, match="not a ROS bag and has no topics; leave out topic='/x'"):
        read(path, ROBOT, topic="/x")
    with pytest.raises(InputError, match=r"a folder without metadata.yaml; expected a recording"):
        read(tmp_path, ROBOT)


@pytest.mark.parametrize("mode", ["FILE", "MESSAGE"])
@pytest.mark.parametrize("huge", [False, True])
def test_compressed_bags_are_read_unless_they_unpack_to_very_much(mode, huge, tmp_path):
    bag = Bag("db3")
    for k, t in enumerate(T):
        bag.state(START + round(t * 1e9), J, Q[k])
    if huge:  # 80 MB of zeros take a few kB
        bag.state(START + 10**9, J, np.zeros(10**7))
    writer = Writer2(tmp_path / "bag", version=8)
    writer.set_compression(CompressionMode[mode], CompressionFormat.ZSTD)
    with writer:
        own = writer.add_connection("/joint_states", STATE, typestore=bag.store)
        for _, kind, received, message in bag.messages:
            writer.write(own, received, bag.store.serialize_cdr(message, kind))
    if huge:
        with pytest.raises(ParseError, match=r"unpacks to more than .* at most 100 times its size"):
            read(tmp_path / "bag", ROBOT)
    else:
        assert np.array_equal(read(tmp_path / "bag", ROBOT).q, Q)
