"""Results against references: laws, the direct form, stored bits, and output of commands."""

import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator
from importlib.resources import files
from itertools import product
from typing import Any

import numpy as np

from kinetree import dynamics, robots
from kinetree.testing.bits import TABLE, check_bits, quick_sample
from kinetree.testing.check import check_robot
from kinetree.testing.machine import has_llvm, run_python, starts_processes
from kinetree.testing.record import Finding, Options, equal, skipped, within
from kinetree.testing.report import SKIPPED

PANDA_START = (0.125, -0.5, 0.25, -1.5, 0.375, 1.25, 0.5)
# positions and rates after 0.2 s of rk4 with steps of 1 ms: every bit
PANDA_FINAL = (
    "0x1.0c7e8755bc71fp-3 -0x1.92e03e7b7b436p-1 0x1.21c911c8188a2p-2 -0x1.222bb6591ec39p+1 "
    "0x1.1124ae3f3e788p-1 0x1.b78c29557ec40p+0 0x1.420f91949a7fcp-2 -0x1.213e114d8f191p-6 "
    "-0x1.2f4056762b1e6p+1 0x1.e143a25350e0cp-1 -0x1.ba5102a92fdebp+2 0x1.45e4b5ea90fdcp+1 "
    "0x1.63bf620b2d8b4p+2 -0x1.fd346f47f5c3cp+0"
)
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
JSON = "id planar_2r --q 0.5 0.7 --dq 0.1 0.2 --ddq 0 0 --json"
TAU = [284.8968083532591, 27.06490528699294]  # every bit


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
    """Check kernels at unusual angles against the direct form."""
    for name, (dtype, limit) in product(AT_ANGLES, ANGLE_ERRORS.items()):
        robot = getattr(robots, name)()
        kernel: Any = robot.compile("inverse_dynamics")
        angles = [x for x in ANGLES if abs(x) <= np.finfo(dtype).max] + [np.inf, -np.inf, np.nan]
        q = np.array([(x, *[y] * (robot.n - 1)) for x in angles for y in (0.5, 1e6, x)], dtype)
        dq = np.tile(np.arange(1, robot.n + 1) / 8, (len(q), 1)).astype(dtype)
        with np.errstate(all="ignore"):
            tau = kernel(q, dq, -dq)
        title = f"{name}, inverse_dynamics at unusual angles in {dtype}"
        rows = np.flatnonzero(np.isfinite(q).all(axis=1))
        exact = np.array(
            [
                dynamics.inverse_dynamics(robot.model, *(x[k].astype(float) for x in (q, dq, -dq)))
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
    if not has_llvm():
        yield skipped("stored bits", "kernels are interpreted")
        return
    everything = options.everything
    yield from hashes("", pairs=None if everything else quick_sample())
    sample = ("panda", "cart_pole"), ("inverse_dynamics", "forward_dynamics", "pose")
    yield from hashes(" in float32", *(() if everything else sample), dtype="float32")


def motion(_: Options) -> Iterator[Finding]:
    """Check the final state of a Panda that falls."""
    if not has_llvm():
        yield skipped("panda, state after 0.2 s of rk4", "kernels are interpreted")
        return
    robot: Any = robots.panda()
    run = robot.simulate(
        PANDA_START, duration=0.2, dt=0.001, method="rk4", limits="ignore", progress=False
    )
    final = (float(x).hex() for x in (*run.q[-1], *run.dq[-1]))
    yield equal("panda, state after 0.2 s of rk4", PANDA_FINAL, " ".join(final), OTHER_BITS)


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


def command_line(_: Options) -> Iterator[Finding]:
    """Check that commands start, print numbers in full precision, and refuse a wrong name."""
    if not starts_processes():
        yield skipped("command line", "this Python starts no processes")
        return
    with tempfile.TemporaryDirectory() as place:
        version, dynamics, wrong = (
            run_python(["-m", "kinetree", *line.split()], place)
            for line in ("--version", JSON, "id nosuch")
        )
    expected = str(getattr(sys.modules["kinetree"], "__version__", ""))
    yield equal("kinetree --version", expected, version.out.strip() or version.how)
    try:
        tau: object = json.loads(dynamics.out)["tau"]
    except (ValueError, KeyError, TypeError):
        tau = dynamics.how
    if has_llvm():
        yield equal(f"kinetree {JSON}: output", TAU, tau)
    refused = wrong.err.startswith("kinetree: there is no robot 'nosuch'")
    yield equal("kinetree id nosuch: exit code", 2, wrong.code if refused else wrong.how)


KERNELS = (laws, unusual_angles)
BITS = (table, bits, motion)
CUDA = (cuda,)
COMMANDS = (command_line,)
