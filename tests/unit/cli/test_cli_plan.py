"""plan, excite, size and the reference of simulate, against formulas of a two-link arm.

The arm swings in a vertical plane; its joint forces are written out here, so that files of the
program are judged with NumPy alone.
"""

import csv
import math

import numpy as np
import pytest

import kinetree as kt

L, C = 0.5, (0.25, 0.2)  # m: length of the first link, centres of both
M, IYY = (3.0, 2.0), (0.08, 0.04)
EFFORT, SPEED = np.array([45.0, 12.0]), np.array([2.0, 3.0])
g = 9.81
LINK = (
    '<link name="{name}"><inertial><origin xyz="{c} 0 0"/><mass value="{m}"/><inertia ixx="{i}" '
    'iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
JOINT = (
    '<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/><origin '
    'xyz="{x} 0 0"/><axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="{f}" velocity="{v}"/>'
    "</joint>"
)
ARM = (
    '<robot name="arm"><link name="base"/>'
    + "".join(
        LINK.format(name=x, c=C[k], m=M[k], i=IYY[k]) for k, x in enumerate(("upper", "lower"))
    )
    + JOINT.format(name="lift", parent="base", child="upper", x=0, f=EFFORT[0], v=SPEED[0])
    + JOINT.format(name="bend", parent="upper", child="lower", x=L, f=EFFORT[1], v=SPEED[1])
    + "</robot>"
)


def forces(q, dq, ddq, payload=0.0):
    """tau of the arm, (T, 2), with a point mass at the origin of the lower link's frame."""
    (q1, q2), (v1, v2) = q.T, dq.T
    m1, m2, c1, c2 = *M, *C
    h = m2 * L * c2 * np.sin(q2)
    inner = IYY[1] + m2 * c2**2
    both = inner + m2 * L * c2 * np.cos(q2)
    M11 = IYY[0] + m1 * c1**2 + (m2 + payload) * L**2 + 2 * both - inner
    down = -g * m2 * c2 * np.cos(q1 + q2)
    weight = -g * (m1 * c1 + (m2 + payload) * L) * np.cos(q1) + down
    return np.column_stack(
        [
            M11 * ddq[:, 0] + both * ddq[:, 1] - h * (2 * v1 * v2 + v2**2) + weight,
            both * ddq[:, 0] + inner * ddq[:, 1] + h * v1**2 + down,
        ]
    )


def read(path):
    """t, q, dq and ddq of a file of the program."""
    with path.open(encoding="utf-8") as file:
        heads = next(csv.reader(file))
        table = np.array([[float(x) for x in row] for row in csv.reader(file)])
    joints = ("lift", "bend")
    columns = [[heads.index(f"{x}:{y}") for y in joints] for x in ("q", "dq", "ddq")]
    return table[:, 0], *(table[:, k] for k in columns)


@pytest.fixture(scope="module")
def arm(program):
    (program.folder / "arm.urdf").write_text(ARM, encoding="utf-8")
    (program.folder / "way.csv").write_text(
        "q:lift,q:bend\n0.2,0.1\n0.9,-0.4\n1.4,0.8\n", encoding="utf-8"
    )
    return program


def shares(t, q, dq, ddq):
    """The largest share of a limit of speed and of force."""
    assert np.abs(q).max() <= 2
    return np.abs(dq / SPEED).max(), np.abs(forces(q, dq, ddq) / EFFORT).max()


@pytest.mark.parametrize(
    ("line", "ends"),
    [
        ("--q 0.2 0.1 --to 1.4 -1", ((0.2, 0.1), (1.4, -1))),
        ("--to lift=1.2 / lift=0.3 bend=1.5 / lift=1 bend=-0.5", ((0, 0), (1, -0.5))),
        ("--through way.csv", ((0.2, 0.1), (1.4, 0.8))),
        ("--q 0.2 0.1 --to 1.4 -1 --time-optimal", ((0.2, 0.1), (1.4, -1))),
        ("--through way.csv --time-optimal", ((0.2, 0.1), (1.4, 0.8))),
    ],
)
def test_plans_are_within_the_limits_and_use_them(arm, line, ends):
    """Judged at 1 kHz; derivatives are differences of the positions, too."""
    for speed in (1.0, 0.7):
        arm(f"plan arm.urdf {line} --speed {speed} --dt 0.001 -o plan.csv")
        t, q, dq, ddq = read(arm.folder / "plan.csv")
        np.testing.assert_allclose(q[[0, -1]], ends, atol=1e-9)
        assert np.abs(dq[[0, -1]]).max() < 1e-9 and np.diff(t).max() <= 0.001 * (1 + 1e-9)
        steps = np.diff(q, axis=0) / np.diff(t)[:, None]
        off = np.abs(steps - (dq[1:] + dq[:-1]) / 2)  # where the acceleration jumps, jump h / 8
        assert np.quantile(off, 0.98) < 2e-4 and off.max() < 0.02
        fast, hard = shares(t, q, dq, ddq)
        assert fast <= speed * (1 + 1e-6) and hard <= 1 + 1e-6
        if speed == 1:
            assert max(fast, hard) > 0.999
        if speed < 1 or "optimal" not in line:  # samples do not show where forces jump
            arm("check arm.urdf plan.csv")


def test_one_goal_is_reached_on_a_straight_line_and_faster_with_time_optimal(arm):
    calm, fast = (arm.json(f"plan arm.urdf --to 1.2 -0.9 {x}") for x in ("", "--time-optimal"))
    for found in (calm, fast):
        q = np.array(found["q"])
        np.testing.assert_allclose(q[:, 1], q[:, 0] * (-0.9 / 1.2), atol=1e-9)
    assert fast["duration"] < 0.95 * calm["duration"]
    assert calm["path"] == "straight line" and calm["speed"] == 0.9
    in_degrees = arm.json(f"plan arm.urdf --to {math.degrees(1.2)} {math.degrees(-0.9)} --degrees")
    np.testing.assert_allclose(np.radians(in_degrees["q"]), calm["q"], atol=1e-9)


def test_limits_of_the_command_take_the_place_of_those_of_the_robot(arm):
    usual = arm.json("plan arm.urdf --to 1.2 0 --speed 1")
    slow = arm.json("plan arm.urdf --to 1.2 0 --speed 1 --velocity 0.5")
    assert np.abs(slow["dq"]).max() == pytest.approx(0.5, rel=1e-6)
    bent = arm.json("plan arm.urdf --to 1.2 0 --speed 1 --acceleration 1")
    assert np.abs(bent["ddq"]).max() == pytest.approx(1, rel=1e-3)
    given = arm.json("plan arm.urdf --to 1.2 0 --duration 4")
    assert given["duration"] == 4 and given["speed"] is None
    assert usual["duration"] < min(slow["duration"], bent["duration"])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("plan arm.urdf", ["--to"]),
        ("plan arm.urdf --to 0 0", ["start itself"]),
        ("plan arm.urdf --to 1 0 / 1 0", ["waypoint 1 itself"]),
        ("plan arm.urdf --to 3 0", ["'lift'", "3 rad", "limit 2 rad"]),
        ("plan arm.urdf --to 1 0 --duration 0.1", ["--duration is 0.1", "at least"]),
        ("plan arm.urdf --to 1 0 --duration 3 --speed 0.5", ["--duration and --speed"]),
        ("plan arm.urdf --to 1 0 --speed 1.5", ["--speed is 1.5"]),
        ("plan arm.urdf --to 1 0 --effort 10", ["'lift'", "weight", "limit 10 N m"]),
        ("plan arm.urdf --to 1 0 --through way.csv", ["--through"]),
        ("plan double_pendulum --to 1 0", ["no joint", "--duration"]),
        ("plan quadruped --to front_left_knee=0.5", ["'base'", "free"]),
        ("plan four_bar --to crank=1", ["--constraints none"]),
        ("excite quadruped", ["'base'", "free"]),
        ("excite arm.urdf --center 1.99 3", ["'bend'"]),
        ("size arm.urdf way.csv", ["t"]),
        ("size arm.urdf calm.csv --frame base", ["--payload"]),
        ("size arm.urdf calm.csv --motors way.csv", ["'q:lift'", "ratio"]),
    ],
)
def test_refusals_name_the_reason_in_one_paragraph(arm, line, words):
    arm("plan arm.urdf --to 1 0 -o calm.csv")
    found = arm(line, code=2)
    assert found.stdout == "" and found.stderr.count("\n") == 1
    assert [word for word in words if word not in found.stderr] == []


def test_excite_makes_a_motion_that_identify_takes(arm):
    about = arm.json("excite arm.urdf --duration 6 --dt 0.01 --rounds 30 -o excite.csv")
    assert about["condition"] < about["condition_before"]
    t, q, dq, ddq = read(arm.folder / "excite.csv")
    fast, hard = shares(t, q, dq, ddq)
    assert 0.3 < fast <= 0.81 and hard <= 1
    assert np.abs(np.concatenate([dq[[0, -1]], ddq[[0, -1]]])).max() < 1e-9
    arm("simulate arm.urdf --controller computed-torque --reference excite.csv --duration 6 "
        "-o record.csv")  # fmt: skip
    arm("identify arm.urdf record.csv -o found.urdf")
    still = np.column_stack([t, 0 * q, forces(0 * q, dq, ddq)])
    lines = "\n".join(",".join(map(repr, x)) for x in still.tolist())
    (arm.folder / "still.csv").write_text(f"t,q:lift,q:bend,tau:lift,tau:bend\n{lines}\n")
    refused = arm("identify arm.urdf still.csv -o never.urdf", code=None).stderr
    assert "kinetree excite" in refused and "Python" not in refused


@pytest.mark.parametrize("payload", [0.0, 1.5])
def test_sizes_are_integrals_over_the_motion(arm, payload):
    """Peak, RMS, power and energy from the formulas, on 20 times as many samples."""
    arm("plan arm.urdf --q 0.2 0.1 --to 1.4 -1 --dt 0.002 -o motion.csv")
    carried = f"--payload {payload} --frame lower" if payload else ""
    found = arm.json(f"size arm.urdf motion.csv {carried}")
    T = found["duration"]
    s = np.linspace(0, 1, 20001)[:, None]
    way = np.array([1.2, -1.1])
    q = [0.2, 0.1] + way * (10 * s**3 - 15 * s**4 + 6 * s**5)
    dq = way / T * (30 * s**2 - 60 * s**3 + 30 * s**4)
    ddq = way / T**2 * (60 * s - 180 * s**2 + 120 * s**3)
    tau = forces(q, dq, ddq, payload)
    power, t = tau * dq, T * s[:, 0]
    for k, load in enumerate(found["joints"]):

        def integral(x):
            return np.sum((x[1:] + x[:-1]) / 2 * np.diff(t))

        assert abs(load["peak_torque"]) == pytest.approx(np.abs(tau[:, k]).max(), rel=1e-5)
        assert abs(load["peak_speed"]) == pytest.approx(np.abs(dq[:, k]).max(), rel=1e-6)
        rms = np.sqrt(integral(tau[:, k] ** 2) / T)
        assert load["rms_torque"] == pytest.approx(rms, rel=1e-4)
        assert load["mean_power"] == pytest.approx(integral(power[:, k]) / T, rel=1e-3, abs=1e-3)
        drawn = integral(np.maximum(power[:, k], 0))
        assert load["drawn"] == pytest.approx(drawn, rel=1e-3, abs=1e-3)


def test_motors_are_compared_at_their_shaft(arm):
    """A gear of 50, with the inertia of the rotor and its loss, from the formulas."""
    arm("plan arm.urdf --q 0.2 0.1 --to 1.4 -1 --dt 0.001 -o motion.csv")
    t, q, dq, ddq = read(arm.folder / "motion.csv")
    tau = forces(q, dq, ddq)
    ratio, J, eta = 50.0, 2e-4, 0.8
    loss = np.where(tau * dq > 0, 1 / eta, np.where(tau * dq < 0, eta, 1.0))
    shaft = J * ratio * ddq + tau * loss / ratio
    peak = np.abs(shaft).max(axis=0)
    squares = shaft**2
    rms = np.sqrt(np.sum((squares[1:] + squares[:-1]) / 2 * np.diff(t)[:, None], axis=0) / t[-1])
    heads = "motor,ratio,peak,rated,speed,inertia,efficiency"
    (arm.folder / "motors.csv").write_text(
        f"{heads}\nweak,50,0.01,0.01,1000,,\n"
        f"strong,50,{1.1 * peak.max()},{1.1 * rms.max()},200,{J},{eta}\n"
    )
    found = arm.json("size arm.urdf motion.csv --motors motors.csv")["motors"]
    strong = [x for x in found if x["motor"]["name"] == "strong"]
    np.testing.assert_allclose([x["peak_torque"] for x in strong], peak, rtol=1e-9)
    np.testing.assert_allclose([x["rms_torque"] for x in strong], rms, rtol=1e-9)
    np.testing.assert_allclose([x["peak_speed"] for x in strong], ratio * np.abs(dq).max(axis=0))
    assert [x["ok"] for x in found] == [False, True, False, True]
    (arm.folder / "motors.csv").write_text("motor,ratio,peak,rated,speed\nweak,50,0.01,0.01,1000\n")
    shown = arm("size arm.urdf motion.csv --motors motors.csv", code=1).stdout
    assert "No motor is enough for lift, bend" in shown
    assert shown.count("NOT ENOUGH: torque, heating") == 2
    (arm.folder / "motors.csv").write_text("motor,ratio,peak,rated,speed\nslow,50,99,99,1\n")
    shown = arm("size arm.urdf motion.csv --motors motors.csv", code=1).stdout
    assert shown.count("NOT ENOUGH: speed") == 2 and "torque," not in shown


def test_the_place_of_a_payload_is_shown(arm):
    """Without a tool frame it is on the last axis, which the sentence says."""
    arm("plan arm.urdf --q 0.2 0.1 --to 1.4 -1 -o motion.csv")
    shown = " ".join(arm("size arm.urdf motion.csv --payload 2").stdout.split())
    assert "origin of 'lower', on the axis of joint 'bend', and asks no torque of" in shown
    plain, loaded = (arm.json(f"size arm.urdf motion.csv {x}") for x in ("", "--payload 2"))
    assert (plain["frame"], loaded["frame"]) == (None, "lower")
    bend = [x["joints"][1]["peak_torque"] for x in (plain, loaded)]
    assert bend[0] == pytest.approx(bend[1], rel=1e-12)  # the sentence is true
    tip = JOINT.format(name="end", parent="lower", child="tip", x=0.4, f=1, v=1)
    tip = '<link name="tip"/>' + tip.replace("revolute", "fixed")
    (arm.folder / "tip.urdf").write_text(ARM.replace("</robot>", f"{tip}</robot>"))
    shown = arm("size tip.urdf motion.csv --payload 2").stdout
    assert "origin of 'tip'.\n" in shown and "axis" not in shown


@pytest.mark.parametrize("ending", ["svg", "html", "png"])
def test_size_draws_the_torque_speed_plane(arm, ending):
    arm("plan arm.urdf --to 1.4 -1 -o motion.csv")
    arm(f"size arm.urdf motion.csv --plot plane.{ending}")
    data = (arm.folder / f"plane.{ending}").read_bytes()
    assert len(data) > 2000
    if ending == "svg":
        for words in (b"lift", b"bend", b"operating points", b"speed, rad/s"):
            assert words in data


def test_a_goal_is_reached_within_the_limits_by_default(arm):
    """The step that the limits forbid is a planned motion, and the program states it."""
    line = "simulate arm.urdf --controller computed-torque --to 1.4 -1"
    found = arm.json(line)
    assert found["reference"]["kind"] == "planned" and found["stopped"] is None
    t, q, dq, tau = (np.array(found[x]) for x in ("t", "q", "dq", "tau"))
    assert t[-1] >= found["reference"]["duration"] + 0.5
    np.testing.assert_allclose(q[-1], [1.4, -1], atol=1e-4)
    assert (np.abs(dq) <= SPEED).all() and (np.abs(tau) <= EFFORT).all()
    assert "planned within the limits" in arm(line).stdout
    step = arm(f"{line} --step", code=1)
    assert "Without --step" in step.stderr.split("--limits")[0]
    assert arm.json(f"{line} --step", code=1)["reference"]["kind"] == "step"
    planned = arm.json("plan arm.urdf --to 1.4 -1")
    assert found["reference"]["duration"] == planned["duration"]


def test_goals_that_cannot_be_planned_are_given_at_once_or_refused(arm):
    for line in (
        "four_bar --controller computed-torque --to crank=1.5",
        "double_pendulum --controller pd-gravity --kp 50 --kd 9 --to 0.2 0.1 --duration 0.1",
        "arm.urdf --controller computed-torque --duration 0.1",
    ):
        assert arm.json(f"simulate {line}")["reference"]["kind"] == "step"
    refused = arm("simulate arm.urdf --controller computed-torque --to 3 0", code=2).stderr
    assert "limit 2 rad" in refused and "--step" in refused
    short = arm("simulate arm.urdf --controller computed-torque --to 1.4 0 --duration 0.2").stderr
    assert "--duration ends" in short


def test_python_offers_the_plan_first(arm):
    robot = kt.load(arm.folder / "arm.urdf")
    goal = np.array([1.4, -1.0])
    with pytest.raises(kt.simulate.SimulationError, match=r"within_limits\(robot") as error:
        robot.simulate([0, 0], duration=1, controller=kt.controllers.ComputedTorque(goal))
    assert str(error.value).index("within_limits") < str(error.value).index("limits=")
    motion = kt.motion.within_limits(robot, [[0, 0], goal])
    run = robot.simulate(
        [0, 0], duration=motion.duration, controller=kt.controllers.ComputedTorque(motion)
    )
    np.testing.assert_allclose(run.q[-1], goal, atol=1e-5)
