"""Kernels against the direct form of the algorithms, and their bits against the stored table."""

import hashlib
from collections.abc import Callable, Iterator
from importlib.resources import files
from itertools import product
from typing import Any

import numpy as np

from kinetree import algorithms, robots
from kinetree.base.arrays import Array
from kinetree.compiler.interpret import interpret
from kinetree.testing.battery import check_robot
from kinetree.testing.bits import COUNT, QUANTITIES, TABLE, check_bits, quick_sample, stored_table
from kinetree.testing.conformance.machine import has_llvm
from kinetree.testing.conformance.record import Finding, compared, equal, skipped
from kinetree.testing.report import SKIPPED

STATES = 2
# robots with the kernels that are compared; None: all of kinetree.testing.agreement.KERNELS
ROBOTS: dict[str, tuple[str, ...] | None] = {
    "planar_2r": None,
    "spatial_3r": None,
    "cart_pole": None,
    "puma_560": None,
    "panda": None,
    "hand": ("inverse_dynamics", "gravity_forces"),
    "quadruped": ("inverse_dynamics",),
}
# angles at which sine and cosine take another path: signed zeros, denormal numbers, multiples of
# pi/2, and beyond the range that a short form of pi reduces
QUARTER = 1.5707963267948966
ANGLES = (0.0, -0.0, 5e-324, -1e-310, 1e-40, QUARTER, -2 * QUARTER, 3 * QUARTER, 1000 * QUARTER,
          131072.0, 200000.3, -1e6, 2.0**30, 1e15, -1e22, 3e38, 1e300)  # fmt: skip
ENDLESS = (np.inf, -np.inf, np.nan)
AT_ANGLES = ("planar_2r", "cart_pole", "spatial_3r")
ANGLE_ERRORS = {"float64": 4e-15, "float32": 3e-7}  # of the greatest force of all states
SUM = "# sha256 "  # begins the last line of the table
OTHER_BITS = (
    "Results of this machine differ from those of others. If you set KINETREE_ variables or use "
    "a new version of llvmlite, try without; then report it with the output of --json."
)


def direct_form(name: str, kernels: tuple[str, ...] | None) -> Iterator[Finding]:
    """Check laws of mechanics, agreement of the algorithms, and kernels, on random states."""
    report = check_robot(getattr(robots, name)(), states=STATES, kernel_names=kernels)
    for line in report.lines:
        title = f"{name}: {line.law}"
        if line.status == SKIPPED:
            yield skipped(title, line.reason)
            continue
        limit = "no error" if line.limit is None else f"relative error <= {line.limit:.1e}"
        found = line.reason if line.error is None else f"{line.error:.1e} in state {line.state}"
        yield compared(title, line.status != "FAIL", limit, found)


def angle_states(n: int, dtype: str) -> list[Array]:
    """Return q, dq, ddq with unusual angles in the first joint, and in all joints."""
    fits = float(np.finfo(dtype).max)
    angles = [x for x in ANGLES if abs(x) <= fits] + list(ENDLESS)
    q = [(first, *[other] * (n - 1)) for first in angles for other in (0.5, 1e6, first)]
    rates = np.arange(1, n + 1) / 8
    return [np.array(q, dtype), *(np.tile(x, (len(q), 1)).astype(dtype) for x in (rates, -rates))]


def angles(name: str, dtype: str) -> Iterator[Finding]:
    """Check a kernel at unusual angles: the interpreter's bits, and the direct form's numbers."""
    robot = getattr(robots, name)()
    kernel: Any = robot.compile("inverse_dynamics").wait()
    given = angle_states(robot.n, dtype)
    title = f"{name}, inverse_dynamics at unusual angles in {dtype}"
    with np.errstate(all="ignore"):
        found: Array = kernel(*given)
        (expected,) = interpret(kernel.graph, *given)
    # the bits of a NaN have no meaning
    words = f"u{found.dtype.itemsize}"
    nan = np.isnan(found) & np.isnan(expected)
    wrong = int(np.sum((found.view(words) != expected.view(words)) & ~nan))
    yield equal(f"{title}: bits of the interpreter", "0 differ", f"{wrong} differ", OTHER_BITS)
    finite = np.isfinite(given[0]).all(axis=1)
    rows = np.flatnonzero(finite)
    exact: Array = np.array(
        [algorithms.inverse_dynamics(robot.model, *(x[k].astype(float) for x in given))
         for k in rows]
    )  # fmt: skip
    error = float(np.abs(found[rows] - exact).max() / np.abs(exact).max())
    limit = ANGLE_ERRORS[dtype]
    yield compared(f"{title}: direct form", error <= limit, f"error <= {limit:.0e}", error)


def unusual_angles() -> Iterator[Finding]:
    """Check kernels of small robots at unusual angles."""
    for name, dtype in product(AT_ANGLES, ANGLE_ERRORS):
        yield from angles(name, dtype)


def part_of(name: str, kernels: tuple[str, ...] | None) -> Callable[[], Iterator[Finding]]:
    """Return the checks of one robot as a part of a group."""
    return lambda: direct_form(name, kernels)


def table() -> Iterator[Finding]:
    """Check that the table of bits is complete and as it was stored."""
    found = stored_table()
    hashes = sum(len(row) for row in found.values())
    expected = f"{COUNT} robots, {COUNT * (len(QUANTITIES) + 1)} hashes"
    yield equal("size of the table of bits", expected, f"{len(found)} robots, {hashes} hashes")
    package = str(__package__).rpartition(".")[0]
    data = files(package).joinpath(TABLE).read_bytes().replace(b"\r\n", b"\n")
    above, mark, last = data.rpartition(SUM.encode())
    yield equal(
        "the table of bits is as it was stored",
        last.decode("ascii", "replace").strip() if mark else "a line with the sum of the table",
        hashlib.sha256(above).hexdigest(),
        "The file kinetree/testing/bits.txt was changed; install kinetree again.",
    )


def bits(everything: bool) -> Iterator[Finding]:
    """Check hashes of results against the table: a sample, or all of it."""
    target = "llvm" if has_llvm() else "interpreted"
    pairs = None if everything else quick_sample()
    for record in check_bits(target=target, pairs=pairs):
        name = f"{record.robot}, {record.quantity}"
        yield equal(name, record.expected, record.found, OTHER_BITS)


def narrow_bits(everything: bool) -> Iterator[Finding]:
    """Check hashes of results in float32."""
    if not has_llvm():
        yield skipped("results in float32", "kernels are interpreted")
        return
    names = None if everything else ("panda", "cart_pole")
    quantities = None if everything else ("inverse_dynamics", "forward_dynamics", "pose")
    for record in check_bits(names, quantities, dtype="float32"):
        name = f"{record.robot}, {record.quantity} in float32"
        yield equal(name, record.expected, record.found, OTHER_BITS)


def cuda_bits(everything: bool) -> Iterator[Finding]:
    """Check hashes of results of CUDA kernels."""
    quick = ("planar_2r", "cart_pole", "scara", "puma_560", "ur5e", "panda")
    names = None if everything else quick
    quantities = None if everything else ("inverse_dynamics", "forward_dynamics", "mass_matrix")
    for record in check_bits(names, quantities, target="cuda"):
        name = f"{record.robot}, {record.quantity} by CUDA"
        yield equal(name, record.expected, record.found, OTHER_BITS)


KERNEL_PARTS: dict[str, Callable[[], Iterator[Finding]]] = {
    **{name: part_of(name, kernels) for name, kernels in ROBOTS.items()},
    "unusual angles": unusual_angles,
}
