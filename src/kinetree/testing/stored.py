"""Results against references: printed numbers, stored bits and code, laws, output of commands.

Printed numbers are those of a course, with three robots given by points and axes, and those of the
Puma 560 in P. Corke, Robotics, Vision and Control. A result agrees if it differs by at most half a
unit of the last printed digit. Tables of commands are compared word by word, so that the width of
columns may change but not their order.
"""

import hashlib
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from kinetree import algorithms, robots
from kinetree.base.arrays import ArrayLike
from kinetree.engine.compiler.interpret import interpret
from kinetree.engine.export import export
from kinetree.robots.exercises import EXERCISES
from kinetree.testing.bits import TABLE, check_bits, quick_sample
from kinetree.testing.calls import differing, states
from kinetree.testing.check import check_robot
from kinetree.testing.machine import has_llvm, run_python, starts_processes
from kinetree.testing.record import Finding, Options, equal, skipped, within
from kinetree.testing.report import SKIPPED

PUMA_NOMINAL = (0, np.pi / 4, np.pi, 0, np.pi / 4, 0)
PUMA_GRAVITY = "0.0000 31.6399 6.0351 0.0000 0.0283 0.0000"
PUMA_INERTIA = "3.6594 4.4137 0.9378 0.1925 0.1713 0.1941"
DURATION = 0.2  # s
PANDA_START = (0.125, -0.5, 0.25, -1.5, 0.375, 1.25, 0.5)
# positions and rates at the end: every bit, but for adaptive steps nine digits, because they also
# use sums of NumPy, whose order differs between machines
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
    "dop853": (
        "0.131100709 -0.786867096 0.282993582 -2.266958993 0.533482976 1.716982444 0.314512515 "
        "-0.017653958 -2.369150932 0.939969132 -6.911194482 2.546042194 5.558556090 -1.989081340"
    ),
}
# hash of the statements of exported C code, without comments and directives
EXPORTED = {
    ("planar_2r", "inverse_dynamics"): "0e8d1022b15b97a7",
    ("panda", "inverse_dynamics"): "eb52757683049ad0",
    ("scara", "forward_dynamics"): "00b9139524b46d85",
}
# robots with the kernels that are compared; None: all of kinetree.testing.laws.KERNELS
ROBOTS: dict[str, tuple[str, ...] | None] = {
    **dict.fromkeys(("planar_2r", "spatial_3r", "cart_pole", "puma_560", "panda")),
    "hand": ("inverse_dynamics", "gravity_forces"),
    "quadruped": ("inverse_dynamics",),
}
# angles at which sine and cosine take another path: signed zeros, denormal numbers, multiples of
# pi/2, and beyond the range that a short form of pi reduces
QUARTER = 1.5707963267948966
ANGLES = (0.0, -0.0, 5e-324, -1e-310, 1e-40, QUARTER, -2 * QUARTER, 3 * QUARTER, 1000 * QUARTER,
          131072.0, 200000.3, -1e6, 2.0**30, 1e15, -1e22, 3e38, 1e300)  # fmt: skip
AT_ANGLES = ("planar_2r", "cart_pole", "spatial_3r")
ANGLE_ERRORS = {"float64": 4e-15, "float32": 3e-7}  # of the greatest force of all states
OTHER_BITS = (
    "Results of this machine differ from those of others. If you set KINETREE_ variables or use "
    "a new version of llvmlite, try without; then report it with the output of --json."
)
# command: the words of its output, line by line; lines that are drawn count as empty
TABLES = {
    "id planar_2r --degrees --q 90 45 --dq=-45.83662361046586,20.053522829578813 "
    "--ddq=-22.91831180523293,5.729577951308232": """
        planar 2R
        q dq ddq tau
        joint deg deg/s deg/s^2 N m
        joint1 90 -45.8366 -22.9183 -65.0917
        joint2 45 20.0535 5.72958 -52.4313
    """,
}
JSON = "id planar_2r --q 0.5 0.7 --dq 0.1 0.2 --ddq 0 0 --json"
TAU = [284.8968083532591, 27.06490528699294]  # every bit
MOTION = "simulate planar_2r --q 0.5 0.7 --duration 0.05 --dt 0.01 -o motion.csv"
CSV_HEAD = "t,q:joint1,q:joint2,dq:joint1,dq:joint2,ddq:joint1,ddq:joint2,tau:joint1,tau:joint2"
CODES = {"check planar_2r motion.csv": 0, "check planar_2r motion.csv --velocity 0.001": 1}
# wrong commands, and how the message on stderr begins
ERRORS = {
    "id nosuch": "kinetree: there is no robot 'nosuch'",
    "id planar_2r --q 1": "kinetree: --q has 1 number; 'planar 2R' needs 2",
    "info broken.urdf": "kinetree: ",
}


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
    return equal(name, printed, printed if fine else shown)


def course(_: Options) -> Iterator[Finding]:
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


def puma(_: Options) -> Iterator[Finding]:
    """Check the Puma 560 of the textbook."""
    robot, q = robots.puma_560(), np.array(PUMA_NOMINAL)
    g, M = algorithms.gravity_forces(robot.model, q), algorithms.mass_matrix(robot.model, q)
    ways = {"direct form": (g, M), "kernel": (robot.gravity_forces(q), robot.mass_matrix(q))}
    for way, (g, M) in ways.items():
        yield agreed(f"Puma 560, gravity load in its nominal pose, {way}", PUMA_GRAVITY, g)
        yield agreed(f"Puma 560, diagonal of its mass matrix, {way}", PUMA_INERTIA, np.diag(M))


def motions(_: Options) -> Iterator[Finding]:
    """Check the final states of the Panda that falls."""
    robot: Any = robots.panda()
    for method, expected in PANDA_FINAL.items():
        dt = 0.01 if method == "dop853" else 0.001
        motion = robot.simulate(
            PANDA_START, duration=DURATION, dt=dt, method=method, limits="ignore", progress=False
        )
        final = np.concatenate([motion.q[-1], motion.dq[-1]])
        title = f"panda, {method}: state after {DURATION} s"
        if "x" in expected:
            yield equal(title, expected, " ".join(float(x).hex() for x in final))
        else:
            yield agreed(title, expected, final)


def statements(text: str) -> str:
    """Return C code without comments, directives, and the names that contain the version."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"\\\r?\n", " ", text)  # a directive may go on in the next line
    lines = (re.sub(r"//.*", "", line) for line in text.splitlines())
    return "\n".join(" ".join(x.split()) for x in lines if x.strip() and x.strip()[0] != "#")


def exported_code(_: Options) -> Iterator[Finding]:
    """Check the text of exported C code, and the numbers of exported NumPy code."""
    for (name, quantity), expected in EXPORTED.items():
        text = statements(export(getattr(robots, name)(), quantity))
        title = f"{name}, {quantity}: statements of the C code"
        yield equal(title, expected, hashlib.sha256(text.encode()).hexdigest()[:16])
    robot = robots.panda()
    names: dict[str, Any] = {}
    text = export(robot, "inverse_dynamics", "numpy", name="exported")
    exec(compile(text, "exported.py", "exec"), names)
    arguments = states(5, 3, robot.n)
    tau = robot.inverse_dynamics(*arguments)
    error = float(np.abs(names["exported"](*arguments) - tau).max() / np.abs(tau).max())
    yield within("panda, inverse_dynamics: numbers of the NumPy code", error, 1e-14)


def laws(_: Options) -> Iterator[Finding]:
    """Check laws of mechanics, agreement of the algorithms, and kernels, on random states."""
    for name, kernels in ROBOTS.items():
        for line in check_robot(getattr(robots, name)(), states=2, kernel_names=kernels).lines:
            title = f"{name}: {line.law}"
            if line.status == SKIPPED:
                yield skipped(title, line.reason)
            elif line.error is None or line.limit is None:
                yield equal(title, "no error", line.reason)
            else:
                yield within(title, line.error, line.limit)


def unusual_angles(_: Options) -> Iterator[Finding]:
    """Check kernels at unusual angles: the interpreter's bits, and the direct form's numbers."""
    for name, (dtype, limit) in product(AT_ANGLES, ANGLE_ERRORS.items()):
        robot = getattr(robots, name)()
        kernel: Any = robot.compile("inverse_dynamics").wait()
        angles = [x for x in ANGLES if abs(x) <= np.finfo(dtype).max] + [np.inf, -np.inf, np.nan]
        q = np.array([(x, *[y] * (robot.n - 1)) for x in angles for y in (0.5, 1e6, x)], dtype)
        dq = np.tile(np.arange(1, robot.n + 1) / 8, (len(q), 1)).astype(dtype)
        with np.errstate(all="ignore"):
            tau = kernel(q, dq, -dq)
            (interpreted,) = interpret(kernel.graph, q, dq, -dq)
        # the bits of a NaN have no meaning
        tau, interpreted = (
            np.where(np.isnan(x), x.dtype.type(np.nan), x) for x in (tau, interpreted)
        )
        title = f"{name}, inverse_dynamics at unusual angles in {dtype}"
        differs = differing(tau, interpreted)
        yield equal(f"{title}: bits of the interpreter", "", differs, OTHER_BITS)
        rows = np.flatnonzero(np.isfinite(q).all(axis=1))
        exact = np.array(
            [
                algorithms.inverse_dynamics(
                    robot.model, *(x[k].astype(float) for x in (q, dq, -dq))
                )
                for k in rows
            ]
        )
        error = float(np.abs(tau[rows] - exact).max() / np.abs(exact).max())
        yield within(f"{title}: direct form", error, limit)


def table(_: Options) -> Iterator[Finding]:
    """Check that the table of bits is as it was stored."""
    data = files(str(__package__)).joinpath(TABLE).read_bytes().replace(b"\r\n", b"\n")
    above, _sum, last = data.rpartition(b"# sha256 ")
    yield equal(
        "the table of bits is as it was stored",
        last.decode("ascii", "replace").strip(),
        hashlib.sha256(above).hexdigest(),
        "The file kinetree/testing/bits.txt was changed; install kinetree again.",
    )


def hashes(way: str, *chosen: Any, **options: Any) -> Iterator[Finding]:
    """Check hashes of results, see `check_bits`, against the table; `way` ends the names."""
    for x in check_bits(*chosen, **options):
        yield equal(f"{x.robot}, {x.quantity}{way}", x.expected, x.found, OTHER_BITS)


def bits(options: Options) -> Iterator[Finding]:
    """Check hashes of results against the table: a sample, or all of it."""
    everything = options.everything
    target = "llvm" if has_llvm() else "interpreted"
    yield from hashes("", target=target, pairs=None if everything else quick_sample())
    if not has_llvm():
        yield skipped("results in float32", "kernels are interpreted")
        return
    sample = ("panda", "cart_pole"), ("inverse_dynamics", "forward_dynamics", "pose")
    yield from hashes(" in float32", *(() if everything else sample), dtype="float32")


def cuda(options: Options) -> Iterator[Finding]:
    """Check the bits of CUDA kernels, if asked for and possible."""
    if not options.cuda:
        yield skipped("CUDA", "only with --cuda")
        return
    try:
        import cupy  # pyright: ignore[reportMissingImports]

        if not int(cupy.cuda.runtime.getDeviceCount()):
            raise OSError("CuPy counts 0")
    except ImportError:
        yield skipped("CUDA", "CuPy is not installed: pip install 'kinetree[cuda]'")
        return
    except Exception as problem:  # CuPy raises classes of its own for a missing driver
        yield skipped("CUDA", f"no device: {problem}")
        return
    sample = (
        ("planar_2r", "cart_pole", "scara", "puma_560", "ur5e", "panda"),
        ("inverse_dynamics", "forward_dynamics", "mass_matrix"),
    )
    yield from hashes(" by CUDA", *(() if options.everything else sample), target="cuda")


def words(text: str) -> str:
    """Return the lines of a table with single spaces, without the lines that are drawn."""
    plain = (" ".join(re.sub("[^\x21-\x7e]", " ", line).split()) for line in text.splitlines())
    return "\n".join(line for line in plain if line)


def command_line(_: Options) -> Iterator[Finding]:
    """Check tables, numbers in full precision, and messages about wrong commands."""
    if not starts_processes():
        yield skipped("command line", "this Python starts no processes")
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        broken = "<robot name='broken'><link name='a'>"
        (place / "broken.urdf").write_text(broken, encoding="utf-8", newline="\n")
        ends = {
            line: run_python(["-m", "kinetree", *line.split()], folder)
            for line in ("--version", *TABLES, JSON, MOTION, *CODES, *ERRORS)
        }
        csv = place / "motion.csv"
        rows = csv.read_text(encoding="utf-8").split() if csv.is_file() else ["no file"]
    version = str(getattr(sys.modules["kinetree"], "__version__", ""))
    yield equal("kinetree --version", version, ends["--version"].out.strip())
    for line, text in TABLES.items():
        yield equal(
            f"kinetree {line}: output", words(text), words(ends[line].out) or ends[line].how
        )
    try:
        tau: object = json.loads(ends[JSON].out)["tau"]
    except (ValueError, KeyError, TypeError):
        tau = ends[JSON].how
    yield equal(f"kinetree {JSON}: output", TAU, tau)
    yield equal(f"kinetree {MOTION}: file", (CSV_HEAD, 7), (rows[0], len(rows)))
    for line, code in CODES.items():
        yield equal(f"kinetree {line}: exit code", code, ends[line].code)
    for line, beginning in ERRORS.items():
        ended = ends[line]
        message = ended.err.strip()
        one = message.startswith(beginning) and "\n" not in message
        ended_as = (ended.code, ended.out, f"{beginning} ..." if one else message)
        yield equal(
            f"kinetree {line}: code, output, message", (2, "", f"{beginning} ..."), ended_as
        )


NUMBERS = (course, puma, motions, exported_code)
KERNELS = (laws, unusual_angles)
BITS = (table, bits)
CUDA = (cuda,)
COMMANDS = (command_line,)
