"""Records of an explanation: a link has terms, a term has parts, and the parts add up."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import add, matmul
from typing import TypeVar

from kinetree.core.arrays import Array
from kinetree.errors import NameLookupError
from kinetree.model.inputs import zeros
from kinetree.scalars import Scalar

Found = TypeVar("Found")


def find(known: Mapping[str, Found], name: str, kind: str, owner: str) -> Found:
    """The entry `name`; NameLookupError with the known names if there is none.

    kind, owner: words for the message, such as "part" of "V".
    """
    try:
        return known[name]
    except KeyError:
        names = ", ".join(known)
        raise NameLookupError(f"{owner!r} has no {kind} {name!r}; there are {names}.") from None


@dataclass(frozen=True, eq=False)
class Part:
    """One part of a term: its name, its equation in text and LaTeX, and its value."""

    name: str
    equation: str
    latex: str
    value: Array


@dataclass(frozen=True, eq=False)
class Term:
    """One quantity of one link: its value in the recursion, and the parts that make it.

    The parts add up to `value` to rounding; those of a pose are multiplied, in their order.
    """

    symbol: str
    parts: tuple[Part, ...]
    value: Array
    product: bool = False

    @property
    def total(self) -> Array:
        """The sum of the parts (of a pose: their product)."""
        return reduce(matmul if self.product else add, [part.value for part in self.parts])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parts."""
        return tuple(part.name for part in self.parts)

    def __getitem__(self, name: str) -> Array:
        return find({part.name: part.value for part in self.parts}, name, "part", self.symbol)


@dataclass(frozen=True, eq=False)
class LinkSteps:
    """All terms of one link and of the joint that it hangs on, by symbol."""

    link: int
    name: str
    joint: str
    type: str
    parent: str
    rates: tuple[str, ...]  # names of the joint's own entries of dq and tau
    terms: Mapping[str, Term]

    def __getitem__(self, symbol: str) -> Term:
        return find(self.terms, symbol, "quantity", self.name)


@dataclass(frozen=True, eq=False)
class Torque:
    """Joint forces by cause, each (n,); `units` are those of the entries, N m or N.

    inertia: M ddq of the links. centrifugal: the terms in squares of rates; Coriolis: those in
    products of two different rates. rotor: all forces of armature and rotors, gyroscopic ones
    included. external: wrenches on the links. spring: springs of the joints, if the robot has any.
    base: motion of the base, if one is given. constraints: -J^T lambda of the constraints, if the
    robot has any; tau are then the forces of its motors.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    shares: Mapping[str, Array]
    tau: Array
    constraints: "Carried | None" = None

    def __getitem__(self, name: str) -> Array:
        return find(self.shares, name, "share", "tau")

    @property
    def total(self) -> Array:
        """The sum of all shares: tau, to rounding."""
        return sum(self.shares.values(), zeros(len(self.tau)))


@dataclass(frozen=True, eq=False)
class Carried:
    """Forces of the constraints of a robot: at the joints by constraint, and of every equation.

    Args:
        joints: -J^T lambda of each constraint by its name, (n,) each; they add up to the share
            `constraints`.
        forces: lambda by the name of its equation, N m or N, as in
            `robot.compile("constrained_inverse_dynamics")`.
        units: units of these forces, by the same names.
        open: a sentence on a position that does not satisfy the constraints, or empty.
    """

    joints: Mapping[str, Array]
    forces: Mapping[str, Scalar]
    units: Mapping[str, str] = field(default_factory=dict[str, str])
    open: str = ""

    def __getitem__(self, name: str) -> Array:
        return find(self.joints, name, "constraint", "the robot")
