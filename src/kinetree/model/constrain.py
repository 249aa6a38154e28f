"""Constraints of a model from their descriptions: frames and joints by number, with checks.

Also the doors that functions pass which cannot honour constraints: they refuse such a robot by name
instead of ignoring them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, known_number, scalar
from kinetree.core.records import check_range, checked, mapping
from kinetree.core.text import listing, look_up
from kinetree.errors import InputError, ModelError
from kinetree.files.description.constraints import Constraint, Couple, Hold, Loop, Rod
from kinetree.model.constraints import AXES, ROD, Closure, Constraints, Coupling, Term
from kinetree.model.joint import check_one_dof
from kinetree.model.model import WORLD, Frame, Model
from kinetree.scalars import Scalar
from kinetree.spatial.se3 import placement

LARGEST_RATIO = 1e3  # of weights of motors
CARRIED = "constrained_inverse_dynamics gives the forces that the constraints carry."


def tree_of(model: Model) -> Model:
    """The robot without its constraints: the tree of its links and joints."""
    if model.constraints is None:
        return model
    kept = tuple(x for x in model.warnings if x.source != "constraints")
    return model.replace(constraints=None, warnings=kept)


def without_constraints(model: Model, what: str, instead: str = "") -> Model:
    """The model itself; raise ModelError if it has constraints, which `what` cannot honour."""
    if model.constraints is not None:
        names = listing(list(model.constraints.given), 5)
        raise ModelError(
            f"{what} does not honour constraints, and {model.name!r} has some: {names}. "
            f"{instead or 'Use a robot without them'}: kt.constraints.unconstrained(robot) is the "
            "tree (on the command line, --constraints none)."
        )
    return model


def constraints_of(model: Model, what: str) -> Constraints:
    """The constraints of a model; raise ModelError if it has none."""
    constraints = model.constraints
    if constraints is None:
        raise ModelError(
            f"{what} needs a robot with constraints, and {model.name!r} has none. Add some with "
            "robot.constrained({name: kt.constraints.Loop(...)})."
        )
    return constraints


def moving_constraints(model: Model, what: str, instead: str) -> Constraints:
    """The constraints of a model; raise ModelError if they leave it no degree of freedom."""
    constraints = constraints_of(model, what)
    if len(constraints.basis) == model.n:
        raise ModelError(
            f"{what} needs a degree of freedom, and the constraints of {model.name!r} "
            f"({listing(list(constraints.given), 5)}) leave it none: its joints cannot move. "
            f"{instead}"
        )
    return constraints


def resolve(model: Model, given: Mapping[str, Constraint]) -> tuple[Closure | Coupling, ...]:
    """Constraints by name, over the frames and joints of a model, checked."""
    return tuple(_resolved(model, name, record) for name, record in given.items())


def motor_dofs(
    model: Model, actuated: Sequence[str] | Mapping[str, Scalar] | None
) -> tuple[tuple[int, ...], tuple[Scalar, ...]]:
    """Entries of tau with a motor, and their weights; None is all of them, with weight 1."""
    if actuated is None:
        return tuple(range(model.n)), (1,) * model.n
    if isinstance(actuated, str):
        raise InputError(f"actuated is {actuated!r}; expected names, such as [{actuated!r}].")
    weights: dict[int, Scalar] = {}
    for name in actuated:
        weight = actuated[name] if isinstance(actuated, Mapping) else 1
        what = f"weight of the motor of joint {name!r}"
        check_range(scalar(weight, what), what, "above 0", "the cost of the square of its force")
        of_joint = dofs_named(model, name, "actuated")
        if set(of_joint) & weights.keys():
            raise InputError(f"actuated names joint {name!r} twice; expected every joint once.")
        weights.update(dict.fromkeys(of_joint, weight))
    sizes = [x for weight in weights.values() if (x := known_number(weight)) is not None]
    if sizes and max(sizes) > LARGEST_RATIO * min(sizes):
        raise InputError(
            f"weights of motors are {min(sizes):g} to {max(sizes):g}; expected a ratio of "
            f"{LARGEST_RATIO:g} at most, which rounding can resolve. Leave a motor that shall not "
            "act out of `actuated`."
        )
    dofs = sorted(weights)
    return tuple(dofs), tuple(weights[k] for k in dofs)


def dofs_named(model: Model, name: str, what: str) -> tuple[int, ...]:
    """Entries of dq of a joint, or of one of its degrees of freedom."""
    for joint in model.joints:
        if joint.name == name and joint.follows is None:
            return joint.dofs
        if joint.name == name:
            raise ModelError(
                f"{what} names joint {name!r}, which follows {joint.follows!r} and has no force of "
                f"its own. Name {joint.follows!r}."
            )
    return (look_up({x: d for d, x in enumerate(model.dof_names)}, name, what),)


def _resolved(model: Model, name: str, record: Constraint) -> Closure | Coupling:
    if not isinstance(name, str) or not name:
        raise InputError(f"a constraint has the name {name!r}; expected a text.")
    if not isinstance(record, Constraint):
        raise InputError(
            f"constraint {name!r} is {record!r:.60}; expected a Loop, Hold, Couple or Rod of "
            "kt.constraints."
        )
    x = checked(record, type(record), f"constraint {name!r}")
    what = f"a frame of constraint {name!r}"
    if isinstance(x, Couple):
        return _coupling(model, name, x)
    if isinstance(x, Hold):
        a, names = Frame(WORLD, _held_at(name, x)), ("the world", x.frame)
    else:
        a, names = look_up(model.frames, x.frame_a, what), (x.frame_a, x.frame_b)
    b = look_up(model.frames, names[1], what)
    _check_apart(model, name, a, b, names)
    if isinstance(x, Rod):
        return Closure(name, ROD, a.link, a.T_if, b.link, b.T_if, length=x.length)
    axis = AXES.index(x.axis) if isinstance(x, Loop) else 2
    return Closure(name, x.kind, a.link, a.T_if, b.link, b.T_if, axis)


def _held_at(name: str, record: Hold) -> Array:
    """The pose in {s} at which a frame is held."""
    shape = np.asarray(record.at).shape
    if record.kind == "pose" and shape != (4, 4):
        raise InputError(
            f"'at' of constraint {name!r} has shape {shape}; expected a pose (4, 4), or "
            "kind='point'."
        )
    return placement(record.at, f"'at' of constraint {name!r}")


def _check_apart(model: Model, name: str, a: Frame, b: Frame, names: tuple[str, str]) -> None:
    if a.link == b.link:
        link = "the base" if a.link == WORLD else f"link {model.link_names[a.link]!r}"
        raise ModelError(
            f"constraint {name!r} ties {names[0]!r} to {names[1]!r}, and both are fixed in {link}; "
            "expected frames of two different links."
        )


def _coupling(model: Model, name: str, record: Couple) -> Coupling:
    mapping(record.by, f"'by' of constraint {name!r}", "{'crank': 0.5}")
    terms = [_term(model, name, record.joint, (1,))]
    for joint, coefficients in record.by.items():
        several = isinstance(coefficients, Sequence) or np.ndim(np.asarray(coefficients)) == 1
        values: list[Any] = list(coefficients) if several else [coefficients]  # type: ignore[arg-type]
        if not values:
            raise InputError(f"constraint {name!r} has no coefficient for joint {joint!r}.")
        powers = [scalar(c, f"coefficient of {joint!r} in constraint {name!r}") for c in values]
        terms.append(_term(model, name, joint, tuple(-c for c in powers)))
    numbers = [term.dof for term in terms]
    for term, joint in zip(terms[1:], record.by, strict=True):
        if numbers.count(term.dof) > 1:
            raise ModelError(
                f"constraint {name!r} couples joint {record.joint!r} by {joint!r}, whose position "
                "it uses twice; expected different joints that move by themselves."
            )
    return Coupling(name, tuple(terms), record.offset)


def _term(model: Model, name: str, key: str, powers: tuple[Scalar, ...]) -> Term:
    by_name = {joint.name: joint for joint in model.joints}
    joint = look_up(by_name, key, f"a joint of constraint {name!r}")
    check_one_dof(joint.type, f"constraint {name!r} couples joint {key!r}")
    scale, offset = (1, 0) if joint.follows is None else (joint.scale, joint.offset)
    return Term(joint.coords[0], joint.dofs[0], scale, offset, powers)
