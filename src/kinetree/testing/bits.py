"""Stored bits: hashes of 20 quantities of 80 robots, one table for every platform and backend.

`bits.txt` beside this file has one line a robot: its name, a hash of the numbers of its model, and
one hash a quantity, each of 8 hexadecimal digits. Robots and states are made with whole numbers,
quotients and square roots only, which IEEE 754 defines to the last bit, so that no generator and no
library of mathematical functions decides them. A hash covers the results of 8 states as
little-endian bytes, in the order of memory. Two kinds of values have several patterns of bits and
count as one: -0.0 as 0.0, and every NaN as the same NaN.

If the hash of the model differs, the numbers of the robot differ before any kernel is made; if it
is equal, the kernel or the compiler of the kernel differs. `tools/store_bits.py` writes the table.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Any, Literal

import numpy as np

from kinetree import dynamics
from kinetree.core.arrays import Array
from kinetree.core.records import numbers_in
from kinetree.dynamics.lean import lean_model
from kinetree.dynamics.quantities import DECLARED
from kinetree.errors import need
from kinetree.files.description.joints import FREE, PLANAR, PRISMATIC, SPHERICAL
from kinetree.model import Model
from kinetree.robot import Robot
from kinetree.testing.bits_robots import Draw, built_in_robots, drawn_robot

Bits = Literal["llvm", "cuda"]

MODEL = "model"  # the first column of the table
TABLE = "bits.txt"
LINES = files(str(__package__)).joinpath(TABLE).read_text("ascii").splitlines()
QUANTITIES = tuple(LINES[1].split()[4:])  # the header is: # type robot model QUANTITY ...
COUNT = 80  # robots
STATES = 8
FLOAT32_EVERY = 8  # of the robots that were drawn, every so many have a line in float32


@dataclass(frozen=True)
class BitRecord:
    """Hash of one quantity of one robot: the stored one, and the one that was found."""

    robot: str
    quantity: str
    expected: str
    found: str

    @property
    def equal(self) -> bool:
        """Return True if the bits are those of the table."""
        return self.expected == self.found


@cache
def robots() -> tuple[tuple[str, Callable[[], Robot]], ...]:
    """Return the 80 robots in a fixed order, each as its name and a function that makes it."""
    known = built_in_robots()
    drawn = [(f"drawn_{k:02d}", partial(drawn_robot, k)) for k in range(COUNT - len(known))]
    return (*known.items(), *drawn)


def check_bits(
    pairs: Iterable[tuple[str, str]], target: Bits = "llvm", dtype: str = "float64"
) -> Iterator[BitRecord]:
    """Compute quantities of the robots and compare their hashes with the stored table.

    Args:
        pairs: names of a robot and of a quantity or "model", as of `quick_sample`.
        target: "llvm": compiled for this processor; "cuda": for its GPU, with CuPy.
        dtype: "float64", or "float32", of which the table has part of the robots.

    Yields:
        One record for each pair, as soon as it is computed.
    """
    table, makers = stored_table(dtype), dict(robots())
    last, robot = "", None
    for name, column in pairs:
        if robot is None or name != last:
            last, robot = name, makers[name]()
        expected = table[name][column]
        yield BitRecord(name, column, expected, found_hash(robot, column, target, dtype, expected))


def whole_table(dtype: str = "float64") -> list[tuple[str, str]]:
    """Return all pairs (robot, quantity) of the table."""
    return [(name, column) for name, row in stored_table(dtype).items() for column in row]


def quick_sample() -> list[tuple[str, str]]:
    """Return pairs (robot, quantity) for a quick run, in a fixed order.

    Every robot is there with its model and one quantity, every quantity at least eight times.
    Quantities that take long to compile are taken of small robots only.
    """
    slow = ("inverse_dynamics_derivatives", "forward_dynamics_derivatives", "regressor")
    quick = tuple(column for column in QUANTITIES if column not in slow)
    sample: list[tuple[str, str]] = []
    for k, (name, _) in enumerate(robots()):
        choice = QUANTITIES if name.startswith("drawn_") else quick
        sample += [(name, MODEL), (name, choice[k % len(choice)])]
    return sample


def found_hash(
    robot: Robot,
    column: str,
    target: Bits = "llvm",
    dtype: str = "float64",
    expected: str = "",
) -> str:
    """Return the hash of a quantity of a robot, or of its model.

    Compiled code is entered with all states at once and with each state alone. If the two differ,
    the hash is the one that is not `expected`.
    """
    if column == MODEL:
        return model_bits(robot.model)
    state = states(robot.model, dtype)
    arrays = [state[name] for name in DECLARED[column].inputs]
    if target == "cuda":
        cupy: Any = need("cupy", "cuda", "comparing the bits of CUDA kernels")
        kernel = robot.compile(column, target="cuda")
        return digest([cupy.asnumpy(x) for x in _several(kernel(*map(cupy.asarray, arrays)))])
    kernel = robot.compile(column)
    together = digest(_several(kernel(*arrays)))
    rows = [_several(kernel(*(x[k] for x in arrays))) for k in range(STATES)]
    alone = digest([np.array(x) for x in zip(*rows, strict=True)])
    return alone if together == expected else together


def _several(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, tuple) else (result,)


def digest(arrays: Sequence[Array]) -> str:
    """Return 8 hexadecimal digits of the SHA-256 of arrays; -0.0 counts as 0.0, NaN as one NaN."""
    whole = hashlib.sha256()
    for x in arrays:
        kind = "<f4" if np.asarray(x).dtype == np.float32 else "<f8"
        plain = np.ascontiguousarray(x, kind) + 0  # -0 + 0 = 0
        whole.update(np.where(np.isnan(plain), np.nan, plain).astype(kind).tobytes())
    return whole.hexdigest()[:8]


def model_bits(model: Model) -> str:
    """Return the hash of the numbers of a model, and of the constants that its kernels contain."""
    whole = hashlib.sha256()
    for x in _model_numbers(model):
        whole.update(digest([np.asarray(x, np.float64)]).encode())
    return whole.hexdigest()[:8]


def _model_numbers(model: Model) -> Iterator[Any]:
    yield from (model.M_pi, model.m, model.com, model.I_com, model.gravity, *model.base)
    for joint in model.joints:
        yield () if joint.screw is None else joint.screw
        yield joint.scale, joint.offset, joint.armature
        yield numbers_in(joint.friction)
    for rotor in model.rotors:
        yield from ((rotor.inertia, rotor.ratio), rotor.s)
    for spring in model.springs:
        yield from ((spring.stiffness, spring.rest), spring.arms)
        yield from ((x,) for x in (spring.damping, spring.play) if x)
        yield from (point.at for point in spring.points)
    for motor in model.motors:
        yield from ((motor.inertia,), motor.arms, numbers_in(motor.friction))
    for frame in model.frames.values():
        yield frame.T_if
    lean = lean_model(model)
    for link in lean.links:
        yield from (link.place.R, link.place.p, link.place.turn, link.A)
        yield from (link.body.m, link.body.h, link.body.Sigma)
    yield from (drive.A for drive in lean.drives)


def states(model: Model, dtype: str = "float64") -> dict[str, Array]:
    """Return q, dq, ddq and tau of 8 states, (8, nq) and (8, n), exact in float32 but for units.

    Numbers are multiples of 1/1024. The four entries of a rotation are whole numbers divided by
    the root of the sum of their squares, rounded to the type.
    """
    draw = Draw(dynamics.neutral(model).size)
    q = np.array([_position(model, draw) for _ in range(STATES)])
    rates = {
        name: np.array([[draw.number(2048, 1024) for _ in range(model.n)] for _ in range(STATES)])
        for name in ("dq", "ddq", "tau")
    }
    return {name: x.reshape(STATES, -1).astype(dtype) for name, x in ({"q": q} | rates).items()}


def _position(model: Model, draw: Draw) -> list[float]:
    q = list(map(float, dynamics.neutral(model)))
    for joint in model.joints:
        if joint.type in (SPHERICAL, FREE):
            entries = [*draw.direction(4), *(draw.number(1024, 1024) for _ in joint.coords[4:])]
        elif joint.type == PRISMATIC:
            entries = [draw.number(512, 1024)]
        elif joint.type == PLANAR:
            entries = [draw.number(3072, 1024), draw.number(1024, 1024), draw.number(1024, 1024)]
        else:
            entries = [draw.number(3072, 1024)]
        for place, entry in zip(joint.coords, entries, strict=True):
            q[place] = entry
    return q


@cache
def stored_table(dtype: str = "float64") -> dict[str, dict[str, str]]:
    """Return the hashes by robot and column, of results in a number type."""
    rows = (line.split() for line in LINES if line.startswith(dtype))
    return {name: dict(zip((MODEL, *QUANTITIES), rest, strict=True)) for _, name, *rest in rows}


def float32_names() -> list[str]:
    """Return the robots that the table has in float32."""
    names = [name for name, _ in robots()]
    drawn = [name for name in names if name.startswith("drawn_")]
    return [name for name in names if name in SMALL or name in drawn[::FLOAT32_EVERY]]


SMALL = ("panda", "ur5e", "planar_2r", "cart_pole", "scara")
