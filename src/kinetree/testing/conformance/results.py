"""Results that are more than one kernel: motions, exported code, formulas, CUDA, processes."""

import hashlib
import importlib.util
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from kinetree import algorithms, robots
from kinetree.base.arrays import Array
from kinetree.controllers import PD
from kinetree.testing.conformance import processes
from kinetree.testing.conformance.calls import kernel_of, states
from kinetree.testing.conformance.kernels import cuda_bits
from kinetree.testing.conformance.numbers import EXERCISES, agreed
from kinetree.testing.conformance.record import Finding, compared, equal, skipped
from kinetree.write.code import export

DURATION = 0.2  # s
STARTS = {
    "double_pendulum": (2.0, 1.0),
    "panda": (0.125, -0.5, 0.25, -1.5, 0.375, 1.25, 0.5),
}
# positions and rates at the end, every bit; with steps that kinetree's own code makes
FINAL = {
    ("double_pendulum", "rk4"): (
        "0x1.cdc7575f4fa24p+0 0x1.420000acd5f3cp+0 -0x1.ee77e0f58016ep+0 0x1.2e73e877cdb61p+1"
    ),
    ("double_pendulum", "semi_implicit_euler"): (
        "0x1.cd85f128f905ep+0 0x1.4257a77403245p+0 -0x1.ee9041973b1f7p+0 0x1.2eb9893315ffcp+1"
    ),
    ("panda", "rk4"): (
        "0x1.0c7e8755bc71fp-3 -0x1.92e03e7b7b436p-1 0x1.21c911c8188a2p-2 -0x1.222bb6591ec39p+1 "
        "0x1.1124ae3f3e788p-1 0x1.b78c29557ec40p+0 0x1.420f91949a7fcp-2 -0x1.213e114d8f191p-6 "
        "-0x1.2f4056762b1e6p+1 0x1.e143a25350e0cp-1 -0x1.ba5102a92fdebp+2 0x1.45e4b5ea90fdcp+1 "
        "0x1.63bf620b2d8b4p+2 -0x1.fd346f47f5c3cp+0"
    ),
    ("panda", "semi_implicit_euler"): (
        "0x1.0c83804238ae9p-3 -0x1.93b2ed896f275p-1 0x1.21ead4b75bcbbp-2 -0x1.22b4536bb117dp+1 "
        "0x1.118635c0cdd94p-1 0x1.b82948803bee6p+0 0x1.41355aed597abp-2 -0x1.2df0e8e158e5fp-6 "
        "-0x1.2fff70c2a2f32p+1 0x1.de7e4148cb1bbp-1 -0x1.bae517e65092ep+2 0x1.446abd7ef6499p+1 "
        "0x1.63927286eb510p+2 -0x1.fae421a5bdb7ep+0"
    ),
}
# to 1e-9: the adaptive steps also use sums of NumPy, whose order differs between machines
ADAPTIVE = {
    "double_pendulum": (
        1.8038229568185626, 1.257812540241892, -1.9315167045006152, 2.3629122338298383,
    ),
    "panda": (
        0.13110070925456416, -0.786867096495963, 0.282993581621814, -2.266958993455199,
        0.5334829761881067, 1.71698244415625, 0.31451251475616676, -0.017653958165668483,
        -2.369150932088102, 0.9399691320085656, -6.911194482188877, 2.54604219391599,
        5.5585560904849896, -1.9890813399717135,
    ),
}  # fmt: skip
# hash of the statements of exported C code, without comments and directives
EXPORTED = {
    ("planar_2r", "inverse_dynamics"): "8f92579378ce16f8",
    ("panda", "inverse_dynamics"): "548eed0aa332561f",
    ("scara", "forward_dynamics"): "fae5f2155fe8e055",
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
NEW_PROCESS = "from kinetree.testing.conformance.results import print_bits; print_bits()"
FORKED = "from kinetree.testing.conformance.results import print_forked; print_forked()"


def final(name: str, method: Any) -> Array:
    """Return positions and rates at the end of a motion from rest."""
    robot = getattr(robots, name)()
    dt = 0.01 if method == "dop853" else 0.001
    found = robot.simulate(
        STARTS[name], duration=DURATION, dt=dt, method=method, limits="ignore", progress=False
    )
    return np.concatenate([found.q[-1], found.dq[-1]])


def exact(x: Array) -> str:
    """Return numbers with every bit."""
    return " ".join(float(y).hex() for y in x)


def simulation() -> Iterator[Finding]:
    """Check the final states of motions."""
    for (name, method), expected in FINAL.items():
        title = f"{name}, {method}: state after {DURATION} s"
        yield equal(title, expected, exact(final(name, method)))
    for name, numbers in ADAPTIVE.items():
        found = final(name, "dop853")
        error = float(np.abs(found - np.array(numbers)).max())
        title = f"{name}, dop853: state after {DURATION} s"
        yield compared(title, error <= 1e-9, f"{numbers} to 1e-9", found.tolist())


def controlled() -> Iterator[Finding]:
    """Check a motion under a PD law against the same steps with the direct form."""
    robot, goal, kp, kd, dt, steps = (
        robots.planar_2r(),
        np.array([0.5, -0.25]),
        300.0,
        40.0,
        0.01,
        10,
    )
    start = np.array([0.25, 0.5])

    def rate(x: Array) -> Array:
        q, dq = x[:2], x[2:]
        tau = kp * (goal - q) - kd * dq
        return np.concatenate([dq, algorithms.forward_dynamics(robot.model, q, dq, tau)])

    x = np.concatenate([start, np.zeros(2)])
    for _ in range(steps):  # the classical method of Runge and Kutta
        a = rate(x)
        b = rate(x + dt / 2 * a)
        c = rate(x + dt / 2 * b)
        x = x + dt / 6 * (a + 2 * b + 2 * c + rate(x + dt * c))
    motion = robot.simulate(
        start, duration=steps * dt, dt=dt, method="rk4", controller=PD(goal, kp=kp, kd=kd),
        limits="ignore", progress=False,
    )  # fmt: skip
    found = np.concatenate([motion.q[-1], motion.dq[-1]])
    error = float(np.abs(found - x).max())
    title = f"planar_2r under a PD law: state after {steps * dt:g} s"
    yield compared(title, error <= 1e-12, f"{x.tolist()} to 1e-12", found.tolist())


def statements(text: str) -> str:
    """Return C code without comments, directives, and the names that contain the version."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"\\\r?\n", " ", text)  # a directive may go on in the next line
    lines = (re.sub(r"//.*", "", line) for line in text.splitlines())
    return "\n".join(" ".join(x.split()) for x in lines if x.strip() and x.strip()[0] != "#")


def exported_hash(name: str, quantity: str) -> str:
    """Return the hash of the statements of exported C code."""
    text = statements(export(getattr(robots, name)(), quantity))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def exported() -> Iterator[Finding]:
    """Check the text of exported C code, and the numbers of exported NumPy code."""
    for (name, quantity), expected in EXPORTED.items():
        title = f"{name}, {quantity}: statements of the C code"
        yield equal(title, expected, exported_hash(name, quantity))
    code = export(robots.planar_2r(), "inverse_dynamics", target="cortex-m4f", dtype="float")
    literals = set(re.findall(r"[0-9.]+(?:e-?[0-9]+)?(?=f\b)", statements(code.source)))
    found = " ".join(x for x in BOARD.split() if x in literals)
    yield equal("planar_2r, cortex-m4f: numbers of sine and cosine", BOARD, found)
    for name in ("planar_2r", "panda"):
        robot = getattr(robots, name)()
        text = export(robot, "inverse_dynamics", "numpy", name="exported")
        names: dict[str, Any] = {}
        exec(compile(text, "exported.py", "exec"), names)
        given = states(5, 3, robot.n)
        found = names["exported"](*given)
        expected = robot.inverse_dynamics(*given)
        error = float(np.abs(found - expected).max() / np.abs(expected).max())
        title = f"{name}, inverse_dynamics: numbers of the NumPy code"
        yield compared(title, error <= 1e-14, "relative error <= 1e-14", error)


def formulas() -> Iterator[Finding]:
    """Check formulas of SymPy: their text, and their values."""
    if importlib.util.find_spec("sympy") is None:
        yield skipped("formulas", "sympy is not installed: pip install 'kinetree[symbolic]'")
        return
    from kinetree.symbols.robot import symbolic

    s: Any = symbolic(robots.planar_2r())
    yield equal("planar_2r: formulas of M", MASS_MATRIX, s.M.text())
    for exercise in EXERCISES[:2]:
        tau = s.evaluate("tau", exercise.q, exercise.dq, exercise.ddq)
        yield agreed(f"exercise {exercise.name}, formulas", exercise.heavy, np.asarray(tau, float))


def cuda(wanted: bool, everything: bool) -> Iterator[Finding]:
    """Check the bits of CUDA kernels, if asked for and possible."""
    if not wanted:
        yield skipped("CUDA", "only with --cuda")
        return
    try:
        import cupy  # pyright: ignore[reportMissingImports]

        count = int(cupy.cuda.runtime.getDeviceCount())
    except ImportError:
        yield skipped("CUDA", "CuPy is not installed: pip install 'kinetree[cuda]'")
        return
    except Exception as problem:  # CuPy raises classes of its own for a missing driver
        yield skipped("CUDA", f"no device: {problem}")
        return
    if not count:
        yield skipped("CUDA", "no device")
        return
    yield from cuda_bits(everything)


def bits() -> str:
    """Return a hash of results of a kernel on one and on two threads."""
    from kinetree.backends.call.threads import threads

    kernel, n = kernel_of("inverse_dynamics")
    given = states(5000, 3, n)
    digest = hashlib.sha256()
    for count in (1, 2):
        with threads(count):
            digest.update(np.ascontiguousarray(kernel(*given)).tobytes())
    return digest.hexdigest()[:16]


def print_bits() -> None:
    """Print the hash, for a process that started this one."""
    print(json.dumps({"bits": bits()}))


def print_forked() -> None:
    """Print the hash in this process, in its forked child, and in this process again."""
    import warnings

    warnings.simplefilter("ignore")  # Python warns of forks while there are threads
    found = {"before": bits()}
    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(sink, bits().encode())
        finally:
            os._exit(0)
    os.close(sink)
    found["child"] = os.read(source, 100).decode() or "nothing"
    os.waitpid(child, 0)
    print(json.dumps(found | {"after": bits()}))


def other_processes() -> Iterator[Finding]:
    """Check that new and forked processes compute the same bits."""
    if not processes.available():
        yield skipped("other processes", "this Python starts no processes")
        return
    own = bits()
    with tempfile.TemporaryDirectory() as folder:
        found = processes.answers(NEW_PROCESS, folder)
        text = found.how if isinstance(found, processes.Ended) else found["bits"]
        yield equal("bits of a new process", own, text)
        if not hasattr(os, "fork") or sys.platform == "darwin":
            yield skipped("bits of a forked process", "this system has no safe fork")
            return
        found = processes.answers(FORKED, folder)
        if isinstance(found, processes.Ended):
            yield equal("bits of a forked process", own, found.how)
            return
        for when, text in found.items():
            titles = {"before": "a process before it forks", "child": "its forked child",
                      "after": "a process after it forked"}  # fmt: skip
            yield equal(f"bits of {titles[when]}", own, text)


Part = Callable[[], Iterator[Finding]]
SIMULATION_PARTS: dict[str, Part] = {"motions": simulation, "PD law": controlled}
EXPORT_PARTS: dict[str, Part] = {"exported code": exported}
SYMBOL_PARTS: dict[str, Part] = {"formulas": formulas}
PROCESS_PARTS: dict[str, Part] = {"other processes": other_processes}
