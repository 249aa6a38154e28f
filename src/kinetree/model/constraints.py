"""Constraints of a model: frames and joints by number, checked, and the choice of rows to solve.

A closure compares frame {b} with frame {a}, each fixed in a link; to hold a frame is a closure with
a frame of the base. A coupling compares positions of joints. `Constraints` has all of them, the
joints with motors, and the result of the search for independent rows (dynamics/constraints).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kinetree.core.arrays import Array, frozen
from kinetree.core.records import PLAIN
from kinetree.files.description.constraints import Constraint
from kinetree.scalars import Scalar

AXES = ("x", "y", "z")
ROD = "rod"
CLOSED = 1e-8  # rad or m: the largest error of a state on exact constraints


@dataclass(frozen=True, eq=False)
class Closure:
    """Frame {b} is tied to frame {a}; kind as in `Loop`, or "rod".

    link_a, T_a: the link of {a}, -1 for the base, and the pose of {a} in its frame, (4, 4).
    """

    name: str
    kind: str
    link_a: int
    T_a: Array
    link_b: int
    T_b: Array
    axis: int = 2
    length: Scalar = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "T_a", frozen(self.T_a))
        object.__setattr__(self, "T_b", frozen(self.T_b))

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the equations, in the order of Phi: angular before linear."""
        if self.kind == ROD:
            return (self.name,)
        across = [k for k in range(3) if k != self.axis]
        angular = {"point": [], "pose": [0, 1, 2]}.get(self.kind, across)
        linear = [self.axis] if self.kind == "plane" else [0, 1, 2]
        turns = [f"{self.name}.angular_{AXES[k]}" for k in angular]
        return (*turns, *(f"{self.name}.linear_{AXES[k]}" for k in linear))


@dataclass(frozen=True, eq=False)
class Term:
    """c_1 x + c_2 x^2 + ... of the position x = scale * q[coord] + offset of a joint."""

    coord: int
    dof: int
    scale: Scalar
    offset: Scalar
    powers: tuple[Scalar, ...]


@dataclass(frozen=True, eq=False)
class Coupling:
    """The sum of some terms is `constant`; the first term is the position of the coupled joint."""

    name: str
    terms: tuple[Term, ...]
    constant: Scalar

    @property
    def row_names(self) -> tuple[str, ...]:
        """Name of the one equation."""
        return (self.name,)


@dataclass(frozen=True, eq=False)
class Constraints:
    """Constraints of a model, and the choices that a solution of them needs.

    Args:
        given: the records by name.
        items: the same with frames and joints by number.
        actuated: entries of tau with a motor.
        weights: cost of the square of each of these forces.
        basis: rows of Phi whose gradients are independent at almost every position, as many as the
            rank.
        kept: rows to solve: `basis` if the others follow from it in the same way at every position;
            else all rows that are not idle.
        independent: entries of dq that the others follow from.
        scales: typical diagonal of J M^-1 J^T of the kept rows, at positions on the constraints.
        force_scales: the same of J J^T over the columns that decide the forces.
        passive: whether the joints without motors alone decide the forces of the constraints.
        sufficient: whether the motors can make every motion that the constraints allow.
        idle: rows that are zero at all positions; they carry no force.
        home: the position on the constraints in which the robot starts, (nq,).
        gap: largest error of an equation that remains after rounding of lengths in files, rad or m.
    """

    given: Mapping[str, Constraint] = field(metadata=PLAIN)
    items: tuple[Closure | Coupling, ...]
    actuated: tuple[int, ...]
    weights: tuple[Scalar, ...]
    basis: tuple[int, ...] = ()
    kept: tuple[int, ...] = ()
    independent: tuple[int, ...] = ()
    scales: tuple[float, ...] = ()
    force_scales: tuple[float, ...] = ()
    passive: bool = False
    sufficient: bool = True
    idle: tuple[int, ...] = ()
    home: tuple[float, ...] = ()
    gap: float = 0.0

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of all equations, in the order of Phi."""
        return tuple(name for item in self.items for name in item.row_names)

    @property
    def dependent(self) -> bool:
        """Whether rows depend on each other in a way that changes with the position."""
        return len(self.kept) > len(self.basis)

    @property
    def tolerance(self) -> float:
        """Error of an equation up to which a state counts as closed, rad or m."""
        return CLOSED + 10 * self.gap

    def owner(self, row: int) -> str:
        """Name of the constraint that a row of Phi belongs to."""
        owners = [item.name for item in self.items for _ in item.row_names]
        return owners[row]
