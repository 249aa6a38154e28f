"""Mobility: independent rows, redundant constraints, degrees of freedom, independent joints.

Ranks cannot be found in straight-line code. They are found here, once, when a robot is constrained:
random positions are closed by Newton's method, and the rank that J has at almost all of them is the
generic rank. Rows are then chosen one after the other, each time the one that is farthest from the
rows chosen so far, on average over the positions. Dependent joints are chosen in the same way
among the columns; the others are the independent ones. Rows are measured by M^-1 and divided by
their typical length, columns by the square root of the diagonal of M, so that the choice does not
depend on units. The random numbers have fixed seeds: the same robot gives the same choice.

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
from kinetree.dynamics.constraints.alignment import Misalignment, misalignment
from kinetree.dynamics.constraints.closures import plain_floats
from kinetree.dynamics.constraints.dynamics import force_weights
from kinetree.dynamics.constraints.positions import (
    CLOSED,
    Samples,
    as_floats,
    closed_positions,
    eased_positions,
    gap_words,
    home_position,
    random_starts,
    regular_starts,
)
from kinetree.dynamics.constraints.projection import MANY_EQUATIONS
from kinetree.dynamics.constraints.regularity import RANK, OnlySingularError, check_regular
from kinetree.dynamics.constraints.row_space import dots, row_space
from kinetree.errors import InputError, ModelError, warn
from kinetree.files.description.constraints import Constraint
from kinetree.files.description.records import Note
from kinetree.model import Model
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

AROUND_REST = 0.5  # distance of the first starts of a mechanism of many loops, rad or m
TILT = 100.0  # rows this many times longer than the gap of a loop are more than its tilt


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
    numbers = as_floats(tree.replace(constraints=resolved))
    start = None if near is None else np.array(coordinates(numbers, near), float)
    samples, tilt, chosen = _decided(numbers, resolved, start, independent)
    placed = numbers.replace(constraints=retyped(chosen, float))
    home = home_position(placed, samples.positions, start)
    notes = list[Note]()
    if chosen.gap > CLOSED:
        notes.append(Note(gap_words(chosen, tree.name, tilt), source="constraints"))
    elif tilt is not None and not chosen.gap:
        words = tilt.frozen_words(tree.name, tree.n - len(chosen.basis))
        notes.append(Note(words, source="constraints"))
    chosen = replace(chosen, home=tuple(map(float, home)))
    return tree.replace(constraints=chosen, warnings=(*tree.warnings, *notes))


def _decided(
    model: Model, resolved: Constraints, start: Array | None, independent: Sequence[str] | None
) -> tuple[Samples, Misalignment | None, Constraints]:
    """Closed positions from the first kind of starts that leads to regular ones, and the choices.

    Random positions come first. From these, Newton's method closes few of many loops, after many
    steps: there, equal cells start alike, and around the position of rest first.
    """
    kinds, another = [random_starts(model, start)], OnlySingularError
    if start is None:
        kinds.append(regular_starts(model))
        if len(resolved.row_names) >= MANY_EQUATIONS:
            kinds = [regular_starts(model, spread=AROUND_REST), *kinds[::-1]]
            another = InputError
    errors = list[InputError]()
    for starts in kinds:
        try:
            samples, tilt = _eased(model, resolved, closed_positions(model, starts), start)
            return samples, tilt, _chosen(model, resolved, samples, independent)
        except InputError as problem:
            errors.append(problem)
            if not isinstance(problem, another):
                break
    raise errors[0]


def _eased(
    model: Model, resolved: Constraints, samples: Samples, start: Array | None
) -> tuple[Samples, Misalignment | None]:
    """The samples, or those without equations that rounded angles made independent."""
    tilt = misalignment(model, samples.positions, TILT * samples.relative)
    if tilt is None:
        return samples, None
    check_regular(plain_floats(model), retyped(resolved, float), samples.positions)
    eased = eased_positions(model, tilt, start)
    if eased is None:
        return samples, tilt
    return eased if eased.accepted else samples, replace(tilt, gap=eased.gap)


def _chosen(
    model: Model,
    resolved: Constraints,
    samples: Samples,
    independent: Sequence[str] | None,
) -> Constraints:
    """The constraints with rows, joints and scales chosen at closed positions of a robot."""
    closed, gap = samples.positions, samples.gap
    check_regular(plain_floats(model), retyped(resolved, float), closed)
    # J M^-1/2, rows divided by their typical length; J itself is kept for lambda and tau
    lengths = np.sqrt(np.mean([dots(at.measured, at.measured) for at in closed], axis=0))
    floor = lengths.max(initial=0) * max(1e-9, TILT * samples.relative)
    idle = tuple(int(row) for row in np.flatnonzero(lengths <= floor))
    scaled = [at.measured / np.where(lengths > floor, lengths, np.inf)[:, None] for at in closed]
    cutoff = max(RANK, 10 * samples.relative)
    ranks = [_rank(J, cutoff) for J in scaled]
    rank = max(ranks)
    if rank == 0:
        raise IdleConstraintsError(
            f"the constraints {listing(list(resolved.given), 8)} of {model.name!r} restrict "
            "nothing: they are satisfied in every position near those that were tried. Remove "
            "them, or check their frames."
        )
    regular = [k for k, rank_of in enumerate(ranks) if rank_of == rank]
    basis = tuple(sorted(_farthest([scaled[k] for k in regular], rank)))
    constant = _rank(np.concatenate(scaled, axis=1), cutoff) == rank
    kept = basis if constant else tuple(row for row in range(len(lengths)) if row not in idle)
    rows = list(kept)
    positions = [closed[k] for k in regular]
    columns = [(at.J[rows] / lengths[rows, None] / np.sqrt(np.diag(at.M))).T for at in positions]
    chosen = replace(
        resolved,
        basis=basis,
        kept=kept,
        independent=_independent(model, resolved, columns, rank, independent),
        scales=tuple(float(x) for x in lengths[rows] ** 2),
        idle=idle,
        gap=gap,
    )
    return _with_motors(chosen, model.n, [at.J[rows] for at in positions])


def _with_motors(chosen: Constraints, n: int, Js: Sequence[Array]) -> Constraints:
    """Find out whether the motors suffice, and how the forces of the constraints are decided.

    The motors suffice if the rows of J_u^T of the joints without motors are independent: any load
    on these joints is then carried by the constraints.
    """
    u = [d for d in range(n) if d not in chosen.actuated]
    rank = max(_rank(J[:, u]) for J in Js) if u else 0
    passive = bool(u) and rank == len(chosen.basis)
    judged = replace(chosen, passive=passive, sufficient=rank == len(u))
    weights = np.array([float(w) for w in force_weights(judged, n)])
    scales = np.mean([dots(J * J, weights) for J in Js], axis=0)
    return replace(judged, force_scales=tuple(float(x) for x in scales))


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
    dependent = _farthest(columns, rank)
    return tuple(d for d in range(model.n) if d not in dependent)


def _follows(columns: Sequence[Array], independent: Sequence[int], rank: int) -> bool:
    """Return True if the rates besides `independent` follow from them at some position."""
    followers = [d for d in range(len(columns[0])) if d not in independent]
    return max((_rank(J[followers]) for J in columns), default=0) == rank == len(followers)


def _rank(J: Array, cutoff: float = RANK) -> int:
    return row_space(J, cutoff).rank


def _farthest(samples: Sequence[Array], count: int) -> list[int]:
    """Choose rows, each time the one farthest from those chosen, over all samples; ties: first."""
    left = [np.array(J) for J in samples]
    chosen: list[int] = []
    for _ in range(count):
        lengths = np.array([np.sqrt(dots(J, J)) for J in left])
        scores = np.multiply.accumulate(np.maximum(lengths, 1e-12))[-1]  # geometric means order so
        scores[chosen] = 0
        best = int(np.flatnonzero(scores >= (1 - 1e-5) * scores.max())[0])
        chosen.append(best)
        for J in left:
            row = J[best] / max(float(np.sqrt(dots(J[best], J[best]))), 1e-300)
            J -= dots(J, row)[:, None] * row
    return chosen
