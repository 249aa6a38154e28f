"""Equations that follow from others but for a small misalignment: angles of files are rounded.

A planar four-bar in space moves because its axes are parallel: the third equation of its pin
follows from the other two. If an axis is tilted by 4e-6 rad (1.5708 instead of half of pi), that
equation becomes independent, and the mechanism could stand in single positions only. It is
recognized by its size. Each row of J M^-1/2 is divided by the length that it would have if the
joints moved its frame along it, so that a pivot (row_space.py) is about the sine of the angle
between a row and the span of the others, whatever the units. Pivots of real equations are 0.01 to
1, those of rows that follow from others are rounding errors, and a pivot between the two is a
misalignment. Pivots are those at open positions nearby, since a tilted row may vanish at single
closed ones, and errors of closing make no difference there.

The motion that remains without the weak equations is then sampled (`eased_positions`). If these
stay closed to WIDEST_GAP (positions.py), as after rounding of the source, they are left out. Else
the misalignment is what the source says; a warning names it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import counted, listing
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.constraints.closures import placed, plain_floats, tree_constraints
from kinetree.dynamics.constraints.regularity import ClosedPosition, measured, opened
from kinetree.dynamics.constraints.row_space import dots, row_space
from kinetree.model import Model
from kinetree.model.constrain import constraints_of
from kinetree.model.constraints import Closure

WEAK = 1e-3  # pivots below are those of a misalignment
EXACT = "state angles and positions with all digits (half of pi is 1.5707963267948966)"
ROUNDING = 1e-10  # pivots below are rounding errors


@dataclass(frozen=True, eq=False)
class Misalignment:
    """Equations that are nearly redundant.

    Args:
        rows: names of the equations.
        loops: names of their constraints.
        joints: names of the joints that move these.
        sizes: natural lengths of all rows of J M^-1/2, by which they were divided.
        gap: how far they open when the mechanism moves without them, rad or m; 0: not known.
    """

    rows: tuple[str, ...]
    loops: tuple[str, ...]
    joints: tuple[str, ...]
    sizes: Array
    gap: float = 0.0

    def words(self) -> str:
        """The reason for a warning."""
        size = f", by up to {self.gap:.2g} rad or m," if self.gap else ""
        return (
            f"the axes of the joints {listing(self.joints, 8)} of {listing(self.loops, 8)} are not "
            f"quite parallel, or do not quite meet{size} where {listing(self.rows, 8)} would "
            "follow from the other equations if they did"
        )

    def frozen_words(self, name: str, freedom: int) -> str:
        """The warning for a robot that loses freedom by a misalignment that is not rounding."""
        count = "no degree" if freedom == 0 else f"only {counted(freedom, 'degree')}"
        reason = f"{name!r} has {count} of freedom because {self.words()}"
        return f"{reason}. If they are meant to, {EXACT}."


def misalignment(
    model: Model, closed: Sequence[ClosedPosition], least: float
) -> Misalignment | None:
    """Equations that are nearly redundant around all positions; None: there are none.

    closed: positions on the constraints. least: pivots up to this one do not count.
    """
    plain, constraints = plain_floats(model), constraints_of(model, "mobility")
    around = opened(plain, placed(plain), closed)
    sizes = np.sqrt(np.mean([_natural_squares(plain, at) for at in around], axis=0))
    sizes = np.where(sizes > 0, sizes, np.inf)
    spaces = [row_space(at.measured / sizes[:, None], 0.0, ROUNDING) for at in around]
    best = max(spaces, key=lambda space: space.rank)
    generic = [max(space.pivots[k] for space in spaces if space.rank > k) for k in range(best.rank)]
    weak = [k for k, pivot in enumerate(generic) if max(ROUNDING, least) < pivot < WEAK]
    if not weak:
        return None
    rows = sorted(best.rows[k] for k in weak)
    owners = [constraints.owner(row) for row in range(len(sizes))]
    loops = dict.fromkeys(owners[row] for row in rows)
    moving = np.abs(around[0].J[[owner in loops for owner in owners]]).max(axis=0) > 0
    return Misalignment(
        tuple(constraints.row_names[row] for row in rows),
        tuple(loops),
        tuple(name for name, moves in zip(model.dof_names, moving, strict=True) if moves),
        sizes,
    )


def _natural_squares(model: Model, at: ClosedPosition) -> Array:
    """Squares of the natural lengths of the rows of J M^-1/2 at a position, (m,).

    Those of a closure are the lengths of the velocity and of the angular velocity of {b} relative
    to {a}, the latter from the velocities of points at 1 m from the origin of {b} along its axes:
    the squares of e x W of three axes e add up to 2 W.W. A coupling has its own length.
    """
    points, items = list[Closure](), placed(model)
    for item in items:
        if isinstance(item, Closure):
            points.append(replace(item, kind="point"))
            for k in range(3):
                T = np.array(item.T_b)
                T[:3, 3] = T[:3, 3] + T[:3, k]
                points.append(replace(item, kind="point", T_b=T))
    J = tree_constraints(book_tree(model, at.q), points, at.q).J.astype(float)
    velocities = iter(measured(at.factor, J).reshape(-1, 4, 3, model.n))
    lengths, squares = dots(at.measured, at.measured), list[float]()
    for item in items:
        if isinstance(item, Closure):
            v = next(velocities)
            linear, turned = v[0].ravel(), (v[1:] - v[0]).ravel()
            for name in item.row_names:
                angular = name.removeprefix(item.name).startswith(".angular")
                squares.append(
                    float(dots(turned, turned)) / 2 if angular else float(dots(linear, linear))
                )
        else:
            squares.append(float(lengths[len(squares)]))
    return np.array(squares)
