"""What varies in a study: records that say how an argument is drawn."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Normal:
    """Normal numbers of a mean and a standard deviation, each a number or of the argument's shape.

    For positions, `std` belongs to the n degrees of freedom: the robot is moved from `mean` along
    tangent vectors, so that quaternions stay of length 1.
    """

    mean: Any = 0.0
    std: Any = 1.0


@dataclass(frozen=True, eq=False)
class Uniform:
    """Numbers between `low` and `high`, each a number or of the argument's shape."""

    low: Any = 0.0
    high: Any = 1.0


@dataclass(frozen=True, eq=False)
class Choice:
    """One of `values`, (k, ...), each as likely as the others."""

    values: Any


@dataclass(frozen=True, eq=False)
class Grid:
    """Every one of `values`, (k, ...), in turn, combined with every one of all other grids."""

    values: Any


@dataclass(frozen=True, eq=False)
class Anywhere:
    """Positions within the limits of the joints, or half a turn and half a metre around zero.

    Quaternions are uniform over all rotations; free and planar joints stand within a metre.
    """


@dataclass(frozen=True, eq=False)
class Spread:
    """The robot's own data times factors between 1 - share and 1 + share, one for each link."""

    share: float


@dataclass(frozen=True, eq=False)
class Noise:
    """Forces that change at random: normal, of standard deviation `std`, each held `hold` s."""

    std: Any
    hold: float
