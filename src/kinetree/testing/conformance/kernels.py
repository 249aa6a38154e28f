"""Kernels against the direct form of the algorithms, and their bits against the stored table."""

import hashlib
from collections.abc import Iterable, Iterator
from importlib.resources import files
from itertools import product
from typing import Any

import numpy as np

from kinetree import algorithms, robots
from kinetree.engine.compiler.interpret import interpret
from kinetree.testing.bits import TABLE, BitRecord, check_bits, quick_sample
from kinetree.testing.check import check_robot
from kinetree.testing.conformance.machine import has_llvm
from kinetree.testing.conformance.record import Choice, Finding, compared, equal, skipped
from kinetree.testing.report import SKIPPED

STATES = 2
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
SUM = b"# sha256 "  # begins the last line of the table
OTHER_BITS = (
    "Results of this machine differ from those of others. If you set KINETREE_ variables or use "
    "a new version of llvmlite, try without; then report it with the output of --json."
)


def direct_form(_: Choice) -> Iterator[Finding]:
    """Check laws of mechanics, agreement of the algorithms, and kernels, on random states."""
    for name, kernels in ROBOTS.items():
        for line in check_robot(getattr(robots, name)(), states=STATES, kernel_names=kernels).lines:
            title = f"{name}: {line.law}"
            if line.status == SKIPPED:
                yield skipped(title, line.reason)
                continue
            limit = "no error" if line.limit is None else f"relative error <= {line.limit:.1e}"
            text = line.reason if line.error is None else f"{line.error:.1e} in state {line.state}"
            yield compared(title, line.status != "FAIL", limit, text)


def unusual_angles(_: Choice) -> Iterator[Finding]:
    """Check kernels at unusual angles: the interpreter's bits, and the direct form's numbers."""
    for name, dtype in product(AT_ANGLES, ANGLE_ERRORS):
        robot = getattr(robots, name)()
        kernel: Any = robot.compile("inverse_dynamics").wait()
        angles = [x for x in ANGLES if abs(x) <= np.finfo(dtype).max] + [np.inf, -np.inf, np.nan]
        q = np.array([(x, *[y] * (robot.n - 1)) for x in angles for y in (0.5, 1e6, x)], dtype)
        dq = np.tile(np.arange(1, robot.n + 1) / 8, (len(q), 1)).astype(dtype)
        with np.errstate(all="ignore"):
            tau = kernel(q, dq, -dq)
            (expected,) = interpret(kernel.graph, q, dq, -dq)
        words = f"u{tau.dtype.itemsize}"
        nan = np.isnan(tau) & np.isnan(expected)  # the bits of a NaN have no meaning
        wrong = int(np.sum((tau.view(words) != expected.view(words)) & ~nan))
        title = f"{name}, inverse_dynamics at unusual angles in {dtype}"
        yield equal(f"{title}: bits of the interpreter", "0 differ", f"{wrong} differ", OTHER_BITS)
        rows = np.flatnonzero(np.isfinite(q).all(axis=1))
        states = [[x[k].astype(float) for x in (q, dq, -dq)] for k in rows]
        exact = np.array([algorithms.inverse_dynamics(robot.model, *state) for state in states])
        error = float(np.abs(tau[rows] - exact).max() / np.abs(exact).max())
        limit = ANGLE_ERRORS[dtype]
        yield compared(f"{title}: direct form", error <= limit, f"error <= {limit:.0e}", error)


def table(_: Choice) -> Iterator[Finding]:
    """Check that the table of bits is as it was stored."""
    package = str(__package__).rpartition(".")[0]
    data = files(package).joinpath(TABLE).read_bytes().replace(b"\r\n", b"\n")
    above, last = data.rpartition(SUM)[::2]
    yield equal(
        "the table of bits is as it was stored",
        last.decode("ascii", "replace").strip(),
        hashlib.sha256(above).hexdigest(),
        "The file kinetree/testing/bits.txt was changed; install kinetree again.",
    )


def bits(choice: Choice) -> Iterator[Finding]:
    """Check hashes of results against the table: a sample, or all of it."""
    compiled = has_llvm()
    pairs = None if choice.everything else quick_sample()
    yield from _hashes(check_bits(target="llvm" if compiled else "interpreted", pairs=pairs), "")
    if not compiled:
        yield skipped("results in float32", "kernels are interpreted")
        return
    names = None if choice.everything else ("panda", "cart_pole")
    quantities = None if choice.everything else ("inverse_dynamics", "forward_dynamics", "pose")
    yield from _hashes(check_bits(names, quantities, dtype="float32"), " in float32")


def cuda(choice: Choice) -> Iterator[Finding]:
    """Check the bits of CUDA kernels, if asked for and possible."""
    if not choice.cuda:
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
    quick = ("planar_2r", "cart_pole", "scara", "puma_560", "ur5e", "panda")
    names = None if choice.everything else quick
    quantities = (
        None if choice.everything else ("inverse_dynamics", "forward_dynamics", "mass_matrix")
    )
    yield from _hashes(check_bits(names, quantities, target="cuda"), " by CUDA")


def _hashes(records: Iterable[BitRecord], way: str) -> Iterator[Finding]:
    for x in records:
        yield equal(f"{x.robot}, {x.quantity}{way}", x.expected, x.found, OTHER_BITS)


LAWS = (direct_form, unusual_angles)
BITS = (table, bits)
CUDA = (cuda,)
