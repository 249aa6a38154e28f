"""The limit checker: every violation of motions with known peaks is found, none is invented."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError, NameLookupError
from kinetree.motion import LimitError, Trajectory, cubic, quintic, sinusoid, spline, trapezoid
from motion_robots import GRAVITY, INERTIA, MASS, PANDA_END, PANDA_START, lift, pendulum, wheel

W = 2 * np.pi * 0.7  # of the sines
ROOT3 = np.sqrt(3)

# motion of a wheel by 1 rad (or of amplitude 1), and its peaks of position, speed and acceleration;
# odd steps and phases put the peaks between the samples
MOTIONS = {
    "cubic": (cubic([0], [1], 2, 0.0107), (1, 3 / 4, 6 / 4)),
    "quintic": (quintic([0], [1], 2, 0.0107), (1, 15 / 16, 10 / ROOT3 / 4)),
    "trapezoid": (
        trapezoid([0], [1], velocity=0.8, acceleration=3, dt=0.0107),
        (1, 0.8, 3),
    ),
    "sine": (sinusoid([0], [1], [0.7], 3, 0.0107, phase=0.2), (1, W, W * W)),
    "negative sine": (sinusoid([0], [-1], [0.7], 1.0, 0.0107), (1, W, W * W)),
    "coarse sine": (sinusoid([0], [1], [0.7], 3, 0.03, phase=0.2), (1, W, W * W)),
    "spline": (  # (3 t - t^3) / 2 and back again: a kink of acceleration at its peak
        spline([[0], [1], [0]], [0, 1, 2], 0.0107, ends="natural"),
        (1, 1.5, 3),
    ),
}
# peaks between samples are found to (w h)^4 / 100: 2e-8 with fine steps, 3e-6 with coarse ones
MARGIN = {name: 1e-5 if name.startswith("coarse") else 2e-6 for name in MOTIONS}


@pytest.mark.parametrize("name", MOTIONS)
@pytest.mark.parametrize("side", [-1, 1])
def test_violations_are_found_exactly_where_the_peak_exceeds_the_limit(name, side):
    motion, (position, speed, acceleration) = MOTIONS[name]
    near = 1 + side * MARGIN[name]
    found = {
        "position": wheel(upper=position * near, lower=-position * near),
        "speed": wheel(velocity=speed * near),
        "torque": wheel(effort=INERTIA * acceleration * near),
    }
    for quantity, robot in found.items():
        named = motion.replace(joint_names=("spin",), model=robot.model)
        report = robot.check(named)
        assert {v.quantity for v in report.violations} == ({quantity} if side < 0 else set())
        assert report.ok == (side > 0)
        assert report.violated("spin", quantity) == (side < 0)


@pytest.mark.parametrize("name", MOTIONS)
def test_peaks_are_those_of_the_formula(name):
    motion, (position, speed, acceleration) = MOTIONS[name]
    robot = wheel()
    load = robot.check(motion.replace(joint_names=("spin",), model=robot.model)).joint("spin")
    found = max(abs(load.lowest), load.highest), abs(load.peak_speed), abs(load.peak_torque)
    wanted = position, speed, INERTIA * acceleration
    assert found == pytest.approx(wanted, rel=MARGIN[name])


def test_every_violation_of_every_joint_is_told_with_its_times():
    robot = kt.robots.planar_2r()
    limits = kt.Limits(-0.5, 0.5, 2.0)
    joints = tuple(_with(joint, limits) for joint in robot.model.joints)
    robot = kt.Robot(robot.model.replace(joints=joints))
    motion = sinusoid([0, 0], [1, 0.4], [0.5, 1.0], 2.0, 0.001, robot=robot)
    report = robot.check(motion)
    found = [(v.joint, v.quantity, np.sign(v.limit)) for v in report.violations]
    first, second = robot.model.joint_names
    # amplitudes 1 and 0.4 against 0.5; speeds pi and 0.8 pi against 2, at each passage of zero
    assert found == [
        (first, "position", 1), (first, "position", -1),
        (first, "speed", 1), (first, "speed", 1), (first, "speed", -1),
        (second, "speed", 1), (second, "speed", 1), (second, "speed", 1),
        (second, "speed", -1), (second, "speed", -1),
    ]  # fmt: skip
    upper = report.violations[0]
    assert (upper.start, upper.t, upper.end) == pytest.approx((1 / 6, 0.5, 5 / 6), abs=1e-6)
    assert upper.value == pytest.approx(1, abs=1e-9)


def _with(joint, limits):
    import dataclasses

    return dataclasses.replace(joint, limits=limits)


def test_gravity_is_counted():
    """A pendulum from hanging to level: tau = ddq + g sin q, and at the end g alone."""
    motion = quintic([0], [np.pi / 2], 100, 0.05, robot=pendulum())
    assert pendulum(GRAVITY * 1.001).check(motion).ok
    report = pendulum(GRAVITY * 0.999).check(motion)
    assert [v.quantity for v in report.violations] == ["torque"]
    assert report.slower is None and report.scaling.overloads[0].gravity


def test_means_powers_and_energies_of_a_sine():
    """Over whole periods: RMS = peak / sqrt 2, no net work but that of viscous friction b."""
    b = 0.3
    robot = wheel(friction=kt.Friction(viscous=b))
    motion = sinusoid([0], [1], [1.0], 3.0, 0.001, robot=robot)
    load, w = robot.check(motion).joint("spin"), 2 * np.pi
    peak = np.hypot(INERTIA * w * w, b * w)
    assert abs(load.peak_torque) == pytest.approx(peak, rel=1e-9)
    assert load.rms_torque == pytest.approx(peak / np.sqrt(2), rel=1e-12)
    assert load.mean_torque == pytest.approx(0, abs=1e-10)
    assert load.work == pytest.approx(3 * b * w * w / 2, rel=1e-12)
    assert load.mean_power == pytest.approx(b * w * w / 2, rel=1e-12)
    # P = -I w^3 sin cos + b w^2 cos^2 = b w^2 / 2 + hypot(I w^3, b w^2) / 2 at most
    most = (b * w * w + np.hypot(INERTIA * w**3, b * w * w)) / 2
    assert load.peak_power == pytest.approx(most, rel=1e-8)
    assert load.drawn > load.work


def test_forces_of_the_trajectory_count_before_those_of_the_model():
    robot = lift(effort=100)
    motion = quintic([0], [1], 5, robot=robot)
    assert robot.check(motion).joint("rise").mean_torque == pytest.approx(MASS * GRAVITY, rel=1e-6)
    measured = motion.replace(tau=np.full((len(motion), 1), 101.0))
    report = robot.check(measured)
    assert report.violations[0].value == 101 and report.violations[0].end == 5


def test_other_limits_can_be_asked_for():
    motion, _ = MOTIONS["sine"]
    robot = wheel()
    named = motion.replace(joint_names=("spin",), model=robot.model)
    assert robot.check(named).ok
    assert not robot.check(named, velocity=W * 0.999).ok
    assert not robot.check(named, effort=[INERTIA * W * W * 0.999]).ok
    for bad, says in (([1, 2], r"shape \(2,\)"), (0, "above 0"), (np.nan, "above 0")):
        with pytest.raises(InputError, match=says):
            robot.check(named, effort=bad)


@pytest.mark.parametrize("wrong", [-0.1, float("nan"), float("inf")])
def test_a_tolerance_that_would_forgive_everything_is_refused(wrong):
    robot = wheel()
    motion = MOTIONS["sine"][0].replace(joint_names=("spin",), model=robot.model)
    with pytest.raises(InputError, match=r"tolerance is .*; expected a share"):
        robot.check(motion, tolerance=wrong)


def test_one_sample_is_a_motion_too():
    robot = lift(effort=20)
    still = Trajectory(t=[0], q=[[0]], dq=[[0]], ddq=[[0]], model=robot.model)
    report = robot.check(still)
    assert not report.ok and report.joint("rise").rms_torque == pytest.approx(MASS * GRAVITY)


def test_free_bases_are_checked_where_they_have_limits():
    robot = kt.robots.quadruped()
    q = np.tile(robot.neutral(), (5, 1))
    zero = np.zeros((5, robot.n))
    motion = Trajectory(t=np.arange(5.0), q=q, dq=zero + 21, ddq=zero, model=robot.model)
    report = robot.check(motion)
    wrong = {v.joint for v in report.violations if v.quantity == "speed"}
    assert wrong == set(robot.model.dof_names[6:])
    assert np.isnan(report.joints[0].lowest)
    assert "base.wx" in str(report)


def test_the_report_says_it_in_words():
    robot = kt.robots.panda()
    report = robot.check(quintic(PANDA_START, PANDA_END, 0.6, robot=robot))
    text = str(report)
    assert "5 violations" in text.splitlines()[0]
    assert "torque of 'panda_joint2': -9" in text and "limit -87" in text
    assert "times slower" in text and max(map(len, text.splitlines())) < 110
    with pytest.raises(LimitError, match="panda_joint2"):
        report.raise_if_violated()
    with pytest.raises(NameLookupError, match="no joint 'elbow'"):
        report.joint("elbow")


def test_the_report_is_a_table_of_80_columns():
    from io import StringIO

    from rich.console import Console

    robot = kt.robots.panda()
    report = robot.check(quintic(PANDA_START, PANDA_END, 0.6, robot=robot))
    console = Console(width=80, record=True, file=StringIO(), color_system=None)
    console.print(report)
    lines = console.export_text().splitlines()
    assert any("panda_joint7" in line for line in lines)  # no name is broken
    assert max(map(len, lines)) <= 80


def test_strangers_and_batches_are_refused():
    robot = kt.robots.panda()
    with pytest.raises(InputError, match="Names and order must agree"):
        robot.check(quintic([0], [1], 1))
    batch = np.zeros((3, 2, 7))
    motion = Trajectory(t=[0, 1, 2], q=batch, dq=batch, ddq=batch, model=robot.model)
    with pytest.raises(InputError, match=r"batch of shape \(2,\).*rollout"):
        robot.check(motion)
    assert robot.check(motion.rollout(1)).samples == 3


def test_a_prompt_shows_the_headline():
    robot = wheel(velocity=0.5)
    motion = quintic([0], [1], 2, 0.01, robot=robot)
    said = "LimitReport(wheel, 'quintic': 2 s, 201 samples, "
    assert repr(robot.check(motion)) == f"{said}1 violation)"
    assert repr(robot.check(motion, velocity=5.0)) == f"{said}within all limits)"


@pytest.mark.parametrize("wrong", ["plan.csv", [0.1, 0.2]])
def test_what_is_no_trajectory_is_told_how_to_become_one(wrong):
    with pytest.raises(InputError, match=r"expected a Trajectory; .*read\(path, robot\)"):
        wheel().check(wrong)


@pytest.mark.parametrize("known", ["planned", "samples alone"])
@pytest.mark.parametrize("side", [-1, 1])
def test_forces_peak_just_before_the_acceleration_ends(known, side):
    """I a + b v at the end of the first phase, where the sample belongs to the next one."""
    b, v, a = 2.0, 0.8, 3.0
    peak = INERTIA * a + b * v
    robot = wheel(effort=peak * (1 + side * 1e-5), friction=kt.Friction(viscous=b))
    motion = trapezoid([0], [1], velocity=v, acceleration=a, dt=0.1, robot=robot)
    motion = motion if known == "planned" else motion.replace(pieces=None)
    report = robot.check(motion)
    assert report.ok == (side > 0)
    assert report.joint("spin").peak_torque == pytest.approx(peak, rel=1e-6)
    if side < 0:
        assert report.violations[0].t == pytest.approx(v / a, abs=1e-6)


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_tolerance_is_the_same_on_both_sides(sign):
    """A share of the limit: 0.7 of it is forgiven, 1.3 of it is not."""
    robot = wheel(velocity=2.0)
    for part, fits in ((0.7, True), (1.3, False)):
        speed = np.full((3, 1), sign * 2.0 * (1 + part * 0.01))
        motion = Trajectory(t=[0, 1, 2], q=speed * [[0], [1], [2]], dq=speed, ddq=0 * speed,
                            model=robot.model)  # fmt: skip
        assert robot.check(motion, tolerance=0.01).ok == fits
