"""Mobility: independent rows, redundant constraints, degrees of freedom, independent joints.

Ranks cannot be found in straight-line code. They are found here, once, when a robot is constrained,
at closed positions (samples.py): the largest rank of J is the generic one. Rows are then chosen one
after the other, each time the one that is farthest from the rows chosen so far, on average over the
positions. Dependent joints are chosen in the same way among the columns; the others are the
independent ones. Rows and columns are measured, so that the choice does not depend on units. The
random numbers have fixed seeds, and scales are powers of 2: the same robot gives the same choice on
every processor.

A row can be left out only if it is zero, or the same sum of other rows at every position. That is
so if the matrices J of all positions, side by side, have no larger rank than each of them (a planar
four-bar in space, a copy). Otherwise (a Bennett linkage) the rows that were chosen become dependent
at single positions, though all rows together keep their rank; then all rows are kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.core.records import retyped
from kinetree.core.text import counted, listing
from kinetree.dynamics.constraints.closing import close, textbook
from kinetree.dynamics.constraints.dynamics import force_weights
from kinetree.dynamics.constraints.ranks import RANK, decomposed, farthest
from kinetree.dynamics.constraints.regularity import (
    check_regular,
    closed_at,
    distance,
    sample_space,
)
from kinetree.dynamics.constraints.samples import CLOSED, Samples, closed_positions
from kinetree.dynamics.joints.configuration import neutral, rest_position
from kinetree.errors import InputError, ModelError, warn
from kinetree.files.description.constraints import Constraint
from kinetree.files.description.records import Note
from kinetree.model import Model
from kinetree.model.bounds import bounds_of, positions
from kinetree.model.constrain import (
    constraints_of,
    dofs_named,
    motor_dofs,
    resolve,
    tree_of,
)
from kinetree.model.constraints import Constraints
from kinetree.model.edit import changed_by_name
from kinetree.model.inputs import coordinates
from kinetree.model.model import HasModel, edit, model_of
from kinetree.scalars import Scalar

GOOD_START = 1e-3  # `distance` of a position to start from: 0.03 rad from a dead centre
HOME_DIGITS = 15  # of the home position, so that it is the same on every processor


class IdleConstraintsError(ModelError):
    """Constraints that are satisfied in every position."""


@dataclass(frozen=True, eq=False)
class Mobility:
    """Degrees of freedom of a constrained robot.

    Args:
        degrees_of_freedom: number of independent rates.
        joints: degrees of freedom of the tree.
        rows: names of all equations.
        redundant: names of equations that follow from the others.
        independent: names of the rates that the others follow from.
        actuated: names of the joint forces with a motor.
        sufficient: whether the motors can make every motion that the constraints allow.
        changing: whether the redundant equations follow from the others in a way that changes with
            the position, so that other choices of them are as good.
    """

    degrees_of_freedom: int
    joints: int
    rows: tuple[str, ...]
    redundant: tuple[str, ...]
    independent: tuple[str, ...]
    actuated: tuple[str, ...]
    sufficient: bool
    changing: bool = False

    def __str__(self) -> str:
        rank = len(self.rows) - len(self.redundant)
        lines = [
            f"{counted(self.degrees_of_freedom, 'degree', 'of freedom')}: "
            f"{self.joints} of the tree - {counted(rank, 'independent equation')} "
            f"of {len(self.rows)}",
            f"independent: {', '.join(self.independent) or '-'}",
            f"redundant: {', '.join(self.redundant) or '-'}"
            + (" (in a way that changes with the position)" if self.changing else ""),
            f"motors: {', '.join(self.actuated) or '-'}"
            + ("" if self.sufficient else " (too few for every motion)"),
        ]
        return "\n".join(lines)


def mobility(robot: Model | HasModel) -> Mobility:
    """Degrees of freedom, redundant equations and independent rates of a constrained robot.

    Args:
        robot: a Robot or a Model.
    """
    model = model_of(robot)
    constraints = constraints_of(model, "mobility")
    names, dofs = constraints.row_names, model.dof_names
    return Mobility(
        degrees_of_freedom=model.n - len(constraints.basis),
        joints=model.n,
        rows=names,
        redundant=tuple(name for row, name in enumerate(names) if row not in constraints.basis),
        independent=tuple(dofs[d] for d in constraints.independent),
        actuated=tuple(dofs[d] for d in constraints.actuated),
        sufficient=constraints.sufficient,
        changing=constraints.dependent,
    )


@edit
def constrained(
    model: Model,
    constraints: Mapping[str, Constraint | None],
    *,
    actuated: Sequence[str] | Mapping[str, Scalar] | None = None,
    independent: Sequence[str] | None = None,
    near: StateLike | None = None,
) -> Model:
    """The robot with constraints added, replaced by name, or removed (None).

    `forward_dynamics` and `inverse_dynamics` of the result honour them; M, C, g, energies and
    kinematics are those of the tree. Functions that cannot honour constraints refuse it.

    Args:
        model: the robot; its lengths must be numbers, or exact numbers such as fractions.
        constraints: by name: `Loop`, `Hold`, `Couple` or `Rod` of `kt.constraints`.
        actuated: names of the joints with motors, or {joint: weight}, the cost of the square
            of its force; None: all joints, or those of the robot before.
        independent: names of joints whose rates the others follow from; None: a
            well-conditioned choice.
        near: a position near which the constraints can be closed, shape (nq,), rad or m; None:
            positions are found at random.

    Raises:
        InputError: the constraints cannot be closed; the message has the residual and a name.

    Example:
        >>> gear = kt.constraints.Couple("joint2", {"joint1": -2})
        >>> robot = kt.robots.planar_2r().constrained({"gear": gear}, actuated=["joint1"])
        >>> kt.constraints.mobility(robot).degrees_of_freedom
        1
    """
    found = constrain(model, constraints, actuated=actuated, independent=independent, near=near)
    told = not constraints and any(x.source == "constraints" for x in model.warnings)
    for note in found.warnings:
        if note.source == "constraints" and not told:
            warn(note.text)
    return found


def constrain(
    model: Model,
    constraints: Mapping[str, Constraint | None],
    *,
    actuated: Sequence[str] | Mapping[str, Scalar] | None = None,
    independent: Sequence[str] | None = None,
    near: StateLike | None = None,
) -> Model:
    """The same without warnings, which are those of the model; arguments as in `constrained`."""
    before = model.constraints
    example = "such as {'loop': kt.constraints.Loop('tip', 'slider')}"
    own = {} if before is None else before.given
    records = changed_by_name("constraint", own, constraints, example)
    tree = tree_of(model)
    if not records:
        if actuated is not None or independent is not None:
            raise InputError(
                "actuated and independent were given for a robot without constraints, where they "
                "have no meaning. Leave them out."
            )
        return tree
    if actuated is None and before is not None:
        motors = before.actuated, before.weights
    else:
        motors = motor_dofs(tree, actuated)
    resolved = Constraints(dict(records), resolve(tree, records), *motors)
    numbers = _as_floats(tree.replace(constraints=resolved))
    start = None if near is None else np.array(coordinates(numbers, near), float)
    samples = closed_positions(numbers, start)
    check_regular(numbers, samples)
    chosen = _chosen(numbers, resolved, samples, independent)
    home = _home_position(numbers.replace(constraints=retyped(chosen, float)), samples, start)
    notes = [] if samples.gap == 0 else [Note(_gap_text(chosen, tree.name), source="constraints")]
    chosen = replace(chosen, home=tuple(map(float, home)))
    return tree.replace(constraints=chosen, warnings=(*tree.warnings, *notes))


def _as_floats(model: Model) -> Model:
    """The model with floats; symbols raise ModelError."""
    try:
        return model.astype(float)
    except (TypeError, ValueError) as problem:
        raise ModelError(
            f"the rank of the constraints of {model.name!r} is found with numbers, and some of its "
            f"data are symbols ({problem}). Constrain it with numbers first, then convert it."
        ) from problem


def _gap_text(constraints: Constraints, name: str) -> str:
    """The warning for a robot whose loops stay open by their rounding."""
    return (
        f"the constraints {listing(list(constraints.given), 8)} of {name!r} stay open by "
        f"{constraints.gap:.2g} (rad or m), as after rounding of its numbers; they count as "
        f"closed, and errors up to {constraints.tolerance:.2g} are accepted. State angles and "
        "positions with all digits to close them (half of pi is 1.5707963267948966)."
    )


def _chosen(
    model: Model, resolved: Constraints, samples: Samples, independent: Sequence[str] | None
) -> Constraints:
    """The constraints with rows, joints and scales chosen at closed positions of a robot."""
    sizes, all_closed = samples.sizes, [closed_at(model, q) for q in samples.positions]
    ranks = [len(sample_space(model, samples, q).s) for q in samples.positions]
    rank = max(ranks)
    if rank == 0:
        raise IdleConstraintsError(
            f"the constraints {listing(list(resolved.given), 8)} of {model.name!r} restrict "
            "nothing: they are satisfied in every position near those that were tried. Remove "
            "them, or check their frames."
        )
    closed = [at for at, own in zip(all_closed, ranks, strict=True) if own == rank]
    scaled = [at.J / sizes.rows[:, None] * sizes.rates for at in closed]
    longest = np.max([np.abs(J).max(axis=1) for J in scaled], axis=0)
    idle = tuple(np.flatnonzero(longest < samples.least).tolist())
    basis = tuple(sorted(farthest(scaled, rank)))
    together = sample_space(model, samples, *samples.positions)
    rows = [k for k in range(len(longest)) if k not in idle]
    rows = list(basis) if len(together.s) == rank else rows
    lengths = _mean_squares([at.measured[rows] for at in closed])
    scales = np.sqrt(np.array(lengths))[:, None]
    columns = [(at.J[rows] / scales / np.sqrt(np.diag(at.M))).T for at in closed]
    chosen = replace(
        resolved,
        basis=basis,
        kept=tuple(rows),
        independent=_independent(model, resolved, columns, rank, independent),
        scales=lengths,
        idle=idle,
        gap=samples.gap,
    )
    return _with_motors(chosen, model.n, [at.J[rows] for at in closed])


def _mean_squares(rows: Sequence[Array]) -> tuple[float, ...]:
    """Mean squares of the lengths of rows over positions, as powers of 2."""
    squares = np.mean([np.sum(A * A, axis=1) for A in rows], axis=0)
    return tuple((2.0 ** np.round(np.log2(np.maximum(squares, 1e-300)))).tolist())


def _with_motors(chosen: Constraints, n: int, Js: Sequence[Array]) -> Constraints:
    """Find out whether the motors suffice, and how the forces of the constraints are decided.

    The motors suffice if the rows of J_u^T of the joints without motors are independent: any load
    on these joints is then carried by the constraints.
    """
    u = [d for d in range(n) if d not in chosen.actuated]
    rank = max(_rank(J[:, u]) for J in Js) if u else 0
    passive = bool(u) and rank == len(chosen.basis)
    judged = replace(chosen, passive=passive, sufficient=rank == len(u))
    weights = np.sqrt(np.array([float(w) for w in force_weights(judged, n)]))
    return replace(judged, force_scales=_mean_squares([J * weights for J in Js]))


def _independent(
    model: Model,
    resolved: Constraints,
    columns: Sequence[Array],
    rank: int,
    names: Sequence[str] | None,
) -> tuple[int, ...]:
    """Entries of dq that the others follow from; `columns` have one row for each entry."""
    free = model.n - rank
    if names is not None:
        if isinstance(names, str):
            raise InputError(f"independent is {names!r}; expected names, such as [{names!r}].")
        wanted = tuple(d for name in names for d in dofs_named(model, name, "independent"))
        alike = len(set(wanted)) < len(wanted)
        if alike or len(wanted) != free or not _follows(columns, wanted, rank):
            choice = _independent(model, resolved, columns, rank, None)
            good = ", ".join(model.dof_names[d] for d in choice)
            expected = f"{counted(free, 'rate')} that the others follow from, such as {good}"
            raise InputError(
                f"independent is {', '.join(names) or 'empty'}; expected "
                f"{expected if free else 'no rate, because no joint can move'}. Leave it out, and "
                "a good choice is made."
            )
        return wanted
    if len(resolved.actuated) == free and _follows(columns, resolved.actuated, rank):
        return resolved.actuated
    dependent = farthest(columns, rank)
    return tuple(d for d in range(model.n) if d not in dependent)


def _follows(columns: Sequence[Array], independent: Sequence[int], rank: int) -> bool:
    """Return True if the rates besides `independent` follow from them at some position."""
    followers = [d for d in range(len(columns[0])) if d not in independent]
    return max((_rank(J[followers]) for J in columns), default=0) == rank == len(followers)


def _rank(J: Array) -> int:
    return len(decomposed(J, RANK).s)


def _home_position(model: Model, samples: Samples, near: Array | None) -> Array:
    """The closed position in which a robot starts, (nq,): `robot.neutral()`, and where views begin.

    The first of these that is within the limits and at a distance from singular positions: zero, if
    it is closed; the position near which the robot was constrained; the position of rest, closed;
    the samples. If there is none, the one that is farthest from singular positions.
    """
    evaluate, bounds = textbook(model), bounds_of(model)
    starts = [x for x in (near, rest_position(model), *samples.positions) if x is not None]
    least = 0.0, samples.least
    closed = (close(model, x, evaluate, samples.sizes.rates, least).q for x in starts)
    best: tuple[bool, float, Array] | None = None
    for q in (neutral(model), *(x.round(HOME_DIGITS) for x in closed)):
        if not np.abs(evaluate(q)[0]).max() <= CLOSED + samples.gap:
            continue
        x = positions(bounds, q)
        inside = bool(((x >= bounds.lower - 1e-9) & (x <= bounds.upper + 1e-9)).all())
        away = distance(model, closed_at(model, q))
        if inside and away > GOOD_START:
            return q
        if best is None or (inside, away) > best[:2]:
            best = inside, away, q
    if best is None:
        raise InputError(
            f"no start of {model.name!r} leads to a closed position; give one as near."
        )
    return best[2]
