"""Published numbers: printed results of a course and of a textbook, to all printed digits.

Three robots given by points and axes, and the Puma 560 of P. Corke, Robotics, Vision and Control.
Case 2.1 of the course is not printed there but computed from the same data. The texts are the
printed ones: a result agrees if it differs by at most half a unit of the last printed digit.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from kinetree import algorithms, robots
from kinetree.base.arrays import Array, ArrayLike
from kinetree.loading import load_string
from kinetree.robot import Robot
from kinetree.testing.conformance.record import Finding, compared

DEGREE = np.pi / 180
SLIDE = 0.6  # m: the course counts the slide of its RP robot from there


@dataclass(frozen=True)
class Exercise:
    """A motion of a robot, and the printed joint forces without and with gravity, N m or N."""

    name: str
    robot: Callable[[], Robot]
    q: tuple[float, ...]
    dq: tuple[float, ...]
    ddq: tuple[float, ...]
    still: str
    heavy: str


EXERCISES = (
    Exercise(
        "2.1 2R", robots.planar_2r, (20 * DEGREE, 40 * DEGREE), (0.2, 0.15), (0.1, 0.085),
        "4.36412443 1.39550121", "318.19366273 38.67350121",
    ),
    Exercise(
        "2.2 2R", robots.planar_2r, (90 * DEGREE, 45 * DEGREE), (-0.8, 0.35), (-0.4, 0.1),
        "-12.3727 0.2878", "-65.0917 -52.4313",
    ),
    Exercise(
        "3.1 RP", robots.rp, (20 * DEGREE, 0.2 - SLIDE), (0.08, 0.03), (0.1, 0.01),
        "4.0374 -0.0245", "217.9039 20.1068",
    ),
    Exercise(
        "3.2 RP", robots.rp, (120 * DEGREE, 0.6 - SLIDE), (-0.4, -0.08), (-0.1, -0.01),
        "-4.1276 -2.5560", "-129.6956 48.4183",
    ),
    Exercise(
        "4.1 3R", robots.spatial_3r, (20 * DEGREE, 40 * DEGREE, 10 * DEGREE),
        (0.2, 0.15, -0.2), (0.1, 0.085, 0),
        "5.1128 1.3712 0.1532", "5.1128 104.1829 6.7743",
    ),
)  # fmt: skip

PUMA_NOMINAL = (0, np.pi / 4, np.pi, 0, np.pi / 4, 0)
PUMA_GRAVITY = "0.0000 31.6399 6.0351 0.0000 0.0283 0.0000"
PUMA_INERTIA = "3.6594 4.4137 0.9378 0.1925 0.1713 0.1941"
PUMA_FRICTION = {1.0: (1.48e-3, 0.435), -1.0: (-1.48e-3, -0.395)}  # at the motor of the first joint
PUMA_GEAR = 62.6111

# a robot file in which every number is another one, and its results from Jacobians of the centres
# of mass, worked out without kinetree
SKEW = """
<robot name="skew">
  <link name="base"/>
  <link name="a"><inertial>
    <origin xyz="0.1 -0.2 0.3" rpy="0.4 -0.5 0.6"/><mass value="2.5"/>
    <inertia ixx="0.11" ixy="0.012" ixz="-0.023" iyy="0.13" iyz="0.034" izz="0.17"/>
  </inertial></link>
  <link name="b"><inertial>
    <origin xyz="-0.05 0.15 0.25" rpy="-0.7 0.8 0.9"/><mass value="1.25"/>
    <inertia ixx="0.05" ixy="-0.004" ixz="0.006" iyy="0.06" iyz="0.008" izz="0.07"/>
  </inertial></link>
  <joint name="turn" type="revolute">
    <parent link="base"/><child link="a"/><origin xyz="0.2 0.1 -0.3" rpy="0.3 0.2 -0.1"/>
    <axis xyz="0.48 0.6 0.64"/><limit lower="-1.5" upper="2.5" velocity="3.5" effort="45"/>
  </joint>
  <joint name="slide" type="prismatic">
    <parent link="a"/><child link="b"/><origin xyz="0.4 -0.1 0.2" rpy="-0.2 0.5 1.1"/>
    <axis xyz="0.64 -0.48 0.6"/><limit lower="-0.25" upper="0.75" velocity="1.25" effort="60"/>
  </joint>
</robot>
"""
SKEW_Q = (0.5, 0.25)
SKEW_M = "0.548287048615 0.120441078439 0.120441078439 1.250000000000"
SKEW_G = "-8.215115561000 4.436700358034"
SKEW_LIMITS = ("-1.5 2.5 3.5 45", "-0.25 0.75 1.25 60")
# lower, upper (rad), rate (rad/s), torque (N m) in the data sheet of the maker
PANDA_LIMITS = (
    "-2.8973 2.8973 2.1750 87", "-1.7628 1.7628 2.1750 87", "-2.8973 2.8973 2.1750 87",
    "-3.0718 -0.0698 2.1750 87", "-2.8973 2.8973 2.6100 12", "-0.0175 3.7525 2.6100 12",
    "-2.8973 2.8973 2.6100 12",
)  # fmt: skip
LOAD = 3.0  # kg


def agreed(name: str, printed: str, found: ArrayLike) -> Finding:
    """Compare numbers with printed ones, each to half a unit of its last printed digit."""
    texts = printed.split()
    numbers = np.asarray(found, float).ravel().tolist()
    digits = [len(text.partition(".")[2]) for text in texts]
    fine = len(texts) == len(numbers) and all(
        abs(x - float(text)) <= 0.5 * 10.0**-d * (1 + 1e-9)
        for x, text, d in zip(numbers, texts, digits, strict=True)
    )
    shown = " ".join(f"{x:.{d + 2}f}" for x, d in zip(numbers, digits, strict=False))
    return compared(name, fine, printed, shown)


def course() -> Iterator[Finding]:
    """Check the exercises of the course in every formulation and as compiled kernels."""
    for exercise in EXERCISES:
        heavy = exercise.robot()
        for printed, robot, where in (
            (exercise.still, heavy.with_gravity((0, 0, 0)), "without gravity"),
            (exercise.heavy, heavy, "with gravity"),
        ):
            state = np.array(exercise.q), np.array(exercise.dq), np.array(exercise.ddq)
            title = f"exercise {exercise.name} {where}"
            for form in algorithms.FORMULATIONS:
                tau: Array = algorithms.inverse_dynamics(robot.model, *state, formulation=form)
                yield agreed(f"{title}, {form} formulation", printed, tau)
            yield agreed(f"{title}, kernel", printed, robot.inverse_dynamics(*state))
            back = robot.forward_dynamics(*state[:2], robot.inverse_dynamics(*state))
            rates = " ".join(f"{x:.6f}" for x in exercise.ddq)
            yield agreed(f"{title}, accelerations by the kernel", rates, back)


def course_data() -> Iterator[Finding]:
    """Check the gravity of the course's robots, and the mass that its printed torque needs."""
    for name, robot, printed in (
        ("planar_2r", robots.planar_2r(), "0.0 -9.81 0.0"),
        ("rp", robots.rp(), "0.0 -9.81 0.0"),
        ("spatial_3r", robots.spatial_3r(), "0.0 0.0 -9.81"),
    ):
        yield agreed(f"gravity of {name}", printed, robot.model.gravity[3:])
    exercise = EXERCISES[-1]
    model = exercise.robot().model
    listed = model.replace(m=np.array([22, *model.m[1:]]))
    tau = algorithms.inverse_dynamics(listed, exercise.q, exercise.dq, exercise.ddq)
    yield agreed("exercise 4.1 3R with the mass of 22 kg that its text lists", "5.1628", tau[:1])


def puma() -> Iterator[Finding]:
    """Check the Puma 560 against the numbers that are printed in the textbook."""
    robot, q = robots.puma_560(), np.array(PUMA_NOMINAL)
    for way, source in (("direct form", algorithms), ("kernel", None)):
        if source is None:
            g, M = robot.gravity_forces(q), robot.mass_matrix(q)
        else:
            g = source.gravity_forces(robot.model, q)
            M = source.mass_matrix(robot.model, q)
        yield agreed(f"Puma 560, gravity load in its nominal pose, {way}", PUMA_GRAVITY, g)
        yield agreed(f"Puma 560, diagonal of its mass matrix, {way}", PUMA_INERTIA, np.diag(M))
    for rate, (viscous, coulomb) in PUMA_FRICTION.items():
        expected = viscous * PUMA_GEAR**2 + coulomb * PUMA_GEAR
        found = float(algorithms.friction_forces(robot.model, [rate, 0, 0, 0, 0, 0])[0])
        name = f"Puma 560, friction of its first joint at {rate:g} rad/s"
        yield compared(name, abs(found / expected - 1) < 1e-14, expected, found)


def limits(robot: Robot, printed: tuple[str, ...]) -> Iterator[Finding]:
    """Check the limits of the joints of a robot."""
    for joint, text in zip(robot.model.joints[: len(printed)], printed, strict=True):
        x = joint.limits
        found = (x.lower, x.upper, x.velocity, x.effort)
        yield agreed(f"limits of {joint.name} of {robot.name}", text, found)


def robot_file() -> Iterator[Finding]:
    """Check a URDF file with rotated frames, skew axes and full inertia matrices."""
    robot = load_string(SKEW)
    q = np.array(SKEW_Q)
    for way, M, g in (
        ("direct form", algorithms.mass_matrix(robot.model, q),
         algorithms.gravity_forces(robot.model, q)),
        ("kernel", robot.mass_matrix(q), robot.gravity_forces(q)),
    ):  # fmt: skip
        yield agreed(f"robot file, mass matrix, {way}", SKEW_M, M)
        yield agreed(f"robot file, gravity forces, {way}", SKEW_G, g)
    yield from limits(robot, SKEW_LIMITS)
    yield from limits(robots.panda(), PANDA_LIMITS)


def payload() -> Iterator[Finding]:
    """Check the forces that a payload adds: its weight times the horizontal distances."""
    bare, q = robots.planar_2r(), np.array([0.5, 0.7])
    loaded = bare.with_payload(LOAD, com=(0.1, 0, 0))
    outer = 0.9 * np.cos(q.sum())
    expected = LOAD * 9.81 * np.array([np.cos(q[0]) + outer, outer])
    found = loaded.gravity_forces(q) - bare.gravity_forces(q)
    error = float(np.abs(found - expected).max())
    name = "planar_2r, gravity forces of a payload of 3 kg"
    yield compared(name, error <= 1e-11, expected.tolist(), found.tolist())


PARTS: dict[str, Callable[[], Iterator[Finding]]] = {
    "exercises of the course": course,
    "data of the course": course_data,
    "Puma 560": puma,
    "robot file": robot_file,
    "payload": payload,
}
