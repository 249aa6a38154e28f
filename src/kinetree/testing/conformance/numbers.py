"""Stored results that are more than one kernel: printed numbers, motions, code and formulas.

Printed numbers are those of a course, with three robots given by points and axes, and those of the
Puma 560 in P. Corke, Robotics, Vision and Control. A result agrees if it differs by at most half a
unit of the last printed digit.
"""

import hashlib
import importlib.util
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from kinetree import algorithms, robots
from kinetree.base.arrays import ArrayLike
from kinetree.controllers import PD
from kinetree.engine.export import export
from kinetree.robots.exercises import EXERCISES
from kinetree.testing.conformance.calls import states
from kinetree.testing.conformance.record import Choice, Finding, compared, equal, skipped

PUMA_NOMINAL = (0, np.pi / 4, np.pi, 0, np.pi / 4, 0)
PUMA_GRAVITY = "0.0000 31.6399 6.0351 0.0000 0.0283 0.0000"
PUMA_INERTIA = "3.6594 4.4137 0.9378 0.1925 0.1713 0.1941"
# lower, upper (rad), rate (rad/s), torque (N m) in the data sheet of the maker
PANDA_LIMITS = (
    "-2.8973 2.8973 2.1750 87", "-1.7628 1.7628 2.1750 87", "-2.8973 2.8973 2.1750 87",
    "-3.0718 -0.0698 2.1750 87", "-2.8973 2.8973 2.6100 12", "-0.0175 3.7525 2.6100 12",
    "-2.8973 2.8973 2.6100 12",
)  # fmt: skip

DURATION = 0.2  # s
PANDA_START = (0.125, -0.5, 0.25, -1.5, 0.375, 1.25, 0.5)
# positions and rates at the end, every bit
PANDA_FINAL = {
    "rk4": (
        "0x1.0c7e8755bc71fp-3 -0x1.92e03e7b7b436p-1 0x1.21c911c8188a2p-2 -0x1.222bb6591ec39p+1 "
        "0x1.1124ae3f3e788p-1 0x1.b78c29557ec40p+0 0x1.420f91949a7fcp-2 -0x1.213e114d8f191p-6 "
        "-0x1.2f4056762b1e6p+1 0x1.e143a25350e0cp-1 -0x1.ba5102a92fdebp+2 0x1.45e4b5ea90fdcp+1 "
        "0x1.63bf620b2d8b4p+2 -0x1.fd346f47f5c3cp+0"
    ),
    "semi_implicit_euler": (
        "0x1.0c83804238ae9p-3 -0x1.93b2ed896f275p-1 0x1.21ead4b75bcbbp-2 -0x1.22b4536bb117dp+1 "
        "0x1.118635c0cdd94p-1 0x1.b82948803bee6p+0 0x1.41355aed597abp-2 -0x1.2df0e8e158e5fp-6 "
        "-0x1.2fff70c2a2f32p+1 0x1.de7e4148cb1bbp-1 -0x1.bae517e65092ep+2 0x1.446abd7ef6499p+1 "
        "0x1.63927286eb510p+2 -0x1.fae421a5bdb7ep+0"
    ),
}
# to nine digits: the adaptive steps also use sums of NumPy, whose order differs between machines
PANDA_ADAPTIVE = (
    "0.131100709 -0.786867096 0.282993582 -2.266958993 0.533482976 1.716982444 0.314512515 "
    "-0.017653958 -2.369150932 0.939969132 -6.911194482 2.546042194 5.558556090 -1.989081340"
)
# hash of the statements of exported C code, without comments and directives
EXPORTED = {
    ("planar_2r", "inverse_dynamics"): "0e8d1022b15b97a7",
    ("panda", "inverse_dynamics"): "eb52757683049ad0",
    ("scara", "forward_dynamics"): "00b9139524b46d85",
}
# numbers of sine and cosine in float code for a board: 2/pi, three parts of pi/2, coefficients
BOARD = (
    "0.63661975 1.5707932 3.1749369e-06 2.563344e-12 0.00019517897 0.008332187 0.16666655 "
    "2.4432327e-05 0.001388731 0.041666646"
)
MASS_MATRIX = (
    "M[1, 1] = 76*cos(theta2)/5 + 706/25\n"
    "M[1, 2] = 38*cos(theta2)/5 + 167/50\n"
    "M[2, 1] = 38*cos(theta2)/5 + 167/50\n"
    "M[2, 2] = 167/50"
)


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


def course(_: Choice) -> Iterator[Finding]:
    """Check the exercises of the course in every formulation and as compiled kernels."""
    for exercise in EXERCISES[1:]:  # the first has no printed results
        heavy = exercise.make()
        for printed, robot, where in (
            (exercise.no_gravity, heavy.with_gravity((0, 0, 0)), "without gravity"),
            (exercise.gravity, heavy, "with gravity"),
        ):
            state = np.array(exercise.q), np.array(exercise.dq), np.array(exercise.ddq)
            title = f"exercise {' '.join(exercise.name.split())} {where}"
            for form in algorithms.FORMULATIONS:
                tau = algorithms.inverse_dynamics(robot.model, *state, formulation=form)
                yield agreed(f"{title}, {form} formulation", printed, tau)
            tau = robot.inverse_dynamics(*state)
            yield agreed(f"{title}, kernel", printed, tau)
            accelerations = " ".join(f"{x:.6f}" for x in exercise.ddq)
            ddq = robot.forward_dynamics(*state[:2], tau)
            yield agreed(f"{title}, accelerations by the kernel", accelerations, ddq)


def data_of_makers(_: Choice) -> Iterator[Finding]:
    """Check the Puma 560 of the textbook, and the limits of the Panda in its data sheet."""
    robot, q = robots.puma_560(), np.array(PUMA_NOMINAL)
    g, M = algorithms.gravity_forces(robot.model, q), algorithms.mass_matrix(robot.model, q)
    ways = {"direct form": (g, M), "kernel": (robot.gravity_forces(q), robot.mass_matrix(q))}
    for way, (g, M) in ways.items():
        yield agreed(f"Puma 560, gravity load in its nominal pose, {way}", PUMA_GRAVITY, g)
        yield agreed(f"Puma 560, diagonal of its mass matrix, {way}", PUMA_INERTIA, np.diag(M))
    for joint, printed in zip(robots.panda().model.joints, PANDA_LIMITS, strict=False):
        x = joint.limits
        yield agreed(f"Panda, {joint.name}", printed, (x.lower, x.upper, x.velocity, x.effort))


def motions(_: Choice) -> Iterator[Finding]:
    """Check the final states of the Panda that falls, and of an arm under a PD law."""
    robot: Any = robots.panda()
    for method in (*PANDA_FINAL, "dop853"):
        dt = 0.01 if method == "dop853" else 0.001
        motion = robot.simulate(
            PANDA_START, duration=DURATION, dt=dt, method=method, limits="ignore", progress=False
        )
        final = np.concatenate([motion.q[-1], motion.dq[-1]])
        title = f"panda, {method}: state after {DURATION} s"
        if method in PANDA_FINAL:
            yield equal(title, PANDA_FINAL[method], " ".join(float(x).hex() for x in final))
        else:
            yield agreed(title, PANDA_ADAPTIVE, final)
    arm, start, goal, kp, kd = robots.planar_2r(), (0.25, 0.5), np.array([0.5, -0.25]), 300.0, 40.0
    motion = arm.simulate(
        start, duration=0.1, dt=0.01, method="semi_implicit_euler",
        controller=PD(goal, kp=kp, kd=kd), limits="ignore", progress=False,
    )  # fmt: skip
    q, dq = np.array(start), np.zeros(2)
    for _step in range(10):
        tau = kp * (goal - q) - kd * dq
        dq = dq + 0.01 * algorithms.forward_dynamics(arm.model, q, dq, tau)
        q = q + 0.01 * dq
    printed = " ".join(f"{x:.12f}" for x in (*q, *dq))
    final = (*motion.q[-1], *motion.dq[-1])
    yield agreed("planar_2r under a PD law: state after 0.1 s", printed, final)


def statements(text: str) -> str:
    """Return C code without comments, directives, and the names that contain the version."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"\\\r?\n", " ", text)  # a directive may go on in the next line
    lines = (re.sub(r"//.*", "", line) for line in text.splitlines())
    return "\n".join(" ".join(x.split()) for x in lines if x.strip() and x.strip()[0] != "#")


def exported_code(_: Choice) -> Iterator[Finding]:
    """Check the text of exported C code, and the numbers of exported NumPy code."""
    for (name, quantity), expected in EXPORTED.items():
        text = statements(export(getattr(robots, name)(), quantity))
        title = f"{name}, {quantity}: statements of the C code"
        yield equal(title, expected, hashlib.sha256(text.encode()).hexdigest()[:16])
    code = export(robots.planar_2r(), "inverse_dynamics", target="cortex-m4f", dtype="float")
    literals = set(re.findall(r"[0-9.]+(?:e-?[0-9]+)?(?=f\b)", statements(code.source)))
    found = " ".join(x for x in BOARD.split() if x in literals)
    yield equal("planar_2r, cortex-m4f: numbers of sine and cosine", BOARD, found)
    robot = robots.panda()
    names: dict[str, Any] = {}
    text = export(robot, "inverse_dynamics", "numpy", name="exported")
    exec(compile(text, "exported.py", "exec"), names)
    arguments = states(5, 3, robot.n)
    tau = robot.inverse_dynamics(*arguments)
    error = float(np.abs(names["exported"](*arguments) - tau).max() / np.abs(tau).max())
    title = "panda, inverse_dynamics: numbers of the NumPy code"
    yield compared(title, error <= 1e-14, "relative error <= 1e-14", error)


def formulas(_: Choice) -> Iterator[Finding]:
    """Check formulas of SymPy: their text, and their values."""
    if importlib.util.find_spec("sympy") is None:
        yield skipped("formulas", "sympy is not installed: pip install 'kinetree[symbolic]'")
        return
    from kinetree.symbols.robot import symbolic

    s: Any = symbolic(robots.planar_2r())
    yield equal("planar_2r: formulas of M", MASS_MATRIX, s.M.text())
    exercise = EXERCISES[1]
    tau = s.evaluate("tau", exercise.q, exercise.dq, exercise.ddq)
    yield agreed("exercise 2.2 2R, formulas", exercise.gravity, np.asarray(tau, float))


PRINTED = (course, data_of_makers)
MOTIONS = (motions,)
EXPORT = (exported_code,)
SYMBOLS = (formulas,)
