"""One state of a robot: joint vectors as typed, their units, and closed loops.

Vectors are typed as `0.1 0.2 -0.3`, `0.1,0.2,-0.3`, or `shoulder=0.1 elbow=0.2`. With --degrees
angles are in degrees; lengths stay in m, quaternions are numbers, forces stay in N m and N.

In a goal, positions that are left out keep the value of the start. Elsewhere they are those of
`start_position`: zero, or the middle of the limits where these exclude zero. A free base whose
height is left out stands on the ground, if the robot has contacts. Closed loops decide entries that
are left out. Lines on stderr report all of that, and states that the constraints do not allow.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinetree import dynamics
from kinetree.cli.options import STREAM
from kinetree.cli.robots import numbers_by_name, typed_number
from kinetree.cli.writer import notify
from kinetree.constraints import project, project_accelerations, project_rates
from kinetree.core.arrays import Array
from kinetree.core.text import counted, number, without_rounding
from kinetree.dynamics.joints.configuration import start_position
from kinetree.errors import InputError, ShapeError
from kinetree.model import Model
from kinetree.model.bounds import bounds_of
from kinetree.model.constrain import constraints_of
from kinetree.model.inputs import coordinates
from kinetree.model.units import entry_names, factors, units
from kinetree.present.tables import Column, Table
from kinetree.robot import Robot

MAX_NAMES = 8  # of joints that a line on stderr lists
CLOSED = 1e-9  # rad or m, rad/s or m/s: errors of constraints that a typed state may have

Words = Sequence[str] | None  # a vector as typed; None if it was left out


def pieces_of(words: Words) -> list[str]:
    """The numbers of a vector, each as typed."""
    return [x for word in words or () for x in re.split(r"[,\s]+", word.strip("[]() ")) if x]


def typed_vector(option: str, owner: str, known: Sequence[str], words: Words) -> dict[str, float]:
    """Numbers by name: all of `known` in order, or some as NAME=NUMBER; owner: of the names."""
    pieces = pieces_of(words)
    if any("=" in piece for piece in pieces):
        return numbers_by_name(option, pieces, known, repr(owner))
    numbers = [
        typed_number(option, known[k] if k < len(known) else "an entry", piece)
        for k, piece in enumerate(pieces)
    ]
    if len(numbers) != len(known):
        raise ShapeError(
            f"{option} has {counted(len(pieces), 'number')}, but {owner!r} needs {len(known)}: "
            f"{', '.join(known)}. Or name some of them: {option} {(*known, 'joint')[0]}=0.1."
        )
    return dict(zip(known, numbers, strict=True))


def vector(
    model: Model, quantity: str, words: Words, degrees: bool, option: str = "", start: Any = None
) -> Array:
    """Read q, dq, ddq or tau in SI units; entries left out are zero (q: `start_position`).

    option: of the words; that of the quantity's name if empty. start: the position before a goal,
    whose entries those keep that are left out.
    """
    option, known = option or f"--{quantity}", entry_names(model, quantity)
    typed = typed_vector(option, model.name, known, words) if words else {}
    x = np.zeros(model.n) if start is None else np.array(start, float)
    if at_rest := quantity == "q" and start is None:
        x = start_position(model)
        _report_middle(model, x, option, typed, degrees)
    for k, scale in enumerate(np.broadcast_to(factors(model, quantity, degrees), len(known))):
        x[k] = typed[known[k]] * scale if known[k] in typed else x[k]
    if at_rest and typed and (height := _standing_height(model)) is not None:
        from kinetree.dynamics.contacts.start import on_ground

        x = x if known[height] in typed else on_ground(model, x)
    return coordinates(model, x, option).astype(float) if quantity == "q" else x


def _standing_height(model: Model) -> int | None:
    """The entry of q that puts a robot with contacts on the ground; None if there is no such."""
    from kinetree.dynamics.contacts.start import free_base

    return None if model.contacts is None else free_base(model)


def _report_middle(
    model: Model, q: Array, option: str, typed: Mapping[str, float], degrees: bool
) -> None:
    """Print on stderr which positions are the middle of the limits because zero is outside."""
    if model.constraints is not None:
        return
    zero, height = dynamics.neutral(model), _standing_height(model)
    names = model.coordinate_names
    moved = [k for k in range(len(q)) if names[k] not in typed and q[k] != zero[k] and k != height]
    if moved:
        notify(
            f"{option} leaves out {counted(len(moved), 'joint')} whose limits exclude zero; taken "
            f"in the middle of the limits: {_entries(model, 'q', q, moved, degrees)}."
        )


def _entries(model: Model, quantity: str, x: Array, wanted: Sequence[int], degrees: bool) -> str:
    """Entries of a joint vector with their units, the first of many."""
    names, unit = entry_names(model, quantity), units(model, quantity, degrees)
    shown = x / factors(model, quantity, degrees)
    texts = [f"{names[k]} = {number(shown[k], 6)} {unit[k]}" for k in wanted]
    more = f" and {len(texts) - MAX_NAMES} more" if len(texts) > MAX_NAMES else ""
    return ", ".join(x.removesuffix(" 1") for x in texts[:MAX_NAMES]) + more


# Closed loops


def position(
    robot: Robot, words: Words, degrees: bool, option: str = "--q", start: Array | None = None
) -> Array:
    """The position of an option; entries that were not typed are moved onto the constraints.

    start: a closed position, of a motion to this one; its motors that were not typed stay if they
    can.
    """
    model = robot.model
    q = vector(model, "q", words, degrees, option, start)
    typed = _typed_entries(model, "q", words)
    if start is None and words:
        _report_beyond(model, q, degrees)
    if model.constraints is None or len(typed) == model.nq:
        return q
    if np.abs(robot.compile("constraint_errors")(q)).max(initial=0) > CLOSED:
        joints = [x for x in model.joints if x.follows is None]
        keep = [x.name for x in joints if {*x.coords} & {*typed}]
        begin = start_position(model) if start is None else start
        motors = {*constraints_of(model, "a closed goal").actuated} if start is not None else set()
        stay = [x.name for x in joints if motors & {*x.dofs} and x.name not in keep]
        try:
            q = project(robot, q, keep=[*keep, *stay], start=begin)
        except InputError:
            q = project(robot, q, keep=keep, start=begin)
    if words or start is None:
        _report_closed(model, "q", typed, q, degrees, option)
    return q


def _typed_entries(model: Model, quantity: str, words: Words) -> list[int]:
    """Entries of q or dq that were typed: all, those with names, or none."""
    names, pieces = entry_names(model, quantity), pieces_of(words)
    if not any("=" in x for x in pieces):
        return list(range(len(names))) if pieces else []
    return [k for k, name in enumerate(names) if any(x.startswith(f"{name}=") for x in pieces)]


def state(robot: Robot, given: Mapping[str, Words], degrees: bool) -> dict[str, Array]:
    """Typed vectors in SI units, q first, moved onto the constraints; reports that on stderr."""
    model = robot.model
    found = {"q": position(robot, given["q"], degrees)}
    found |= {x: vector(model, x, words, degrees) for x, words in given.items() if x != "q"}
    if model.constraints is None:
        return found
    for name, project_on in (("dq", project_rates), ("ddq", project_accelerations)):
        typed = _typed_entries(model, name, given.get(name))
        if name not in found or (name == "dq" and len(typed) == robot.n):
            continue
        if constraint_errors(robot, found)[name].max(initial=0) > CLOSED:
            keep = [robot.dof_names[d] for d in typed]
            arguments: list[Any] = [found[x] for x in ("q", "dq", name)[: 3 - (name == "dq")]]
            found[name] = project_on(robot, *arguments, keep=keep)
            _report_closed(model, name, typed, found[name], degrees, f"--{name}")
    report_open(robot, {name: x[None] for name, x in found.items()}, CLOSED, "--{}")
    return found


def constraint_errors(robot: Robot, states: Mapping[str, Array]) -> dict[str, Array]:
    """Sizes of Phi(q), J dq and J ddq + gamma, (..., rows), of states that have these."""
    q, found = states["q"], {"q": np.abs(robot.compile("constraint_errors")(states["q"]))}
    J = np.asarray(robot.compile("constraint_jacobian")(q))
    for name in (x for x in ("dq", "ddq") if x in states):
        rest = robot.compile("constraint_bias")(q, states["dq"]) if name == "ddq" else 0.0
        found[name] = np.abs(np.einsum("...ij,...j->...i", J, states[name]) + rest)
    return found


def _owner(robot: Robot, error: Array) -> str:
    """The constraint that is open most, of errors (..., rows)."""
    row = int(np.argmax(error)) % error.shape[-1]
    return constraints_of(robot.model, "a closed state").owner(row)


def report_open(robot: Robot, states: Mapping[str, Array], tolerance: float, name: str) -> None:
    """Report on stderr the worst row of states, (rows, n), that the constraints do not allow.

    tolerance: the largest error that is not reported, as a share of the largest entry if that is
    above 1. name: a quantity in messages, such as "--{}".
    """
    for quantity, error in constraint_errors(robot, states).items():
        if error.size and error.max() > tolerance * max(1.0, np.abs(states[quantity]).max()):
            row = np.unravel_index(int(np.argmax(error)), error.shape)[0]
            where = f" in row {row + 1}" if len(error) > 1 else ""
            notify(
                f"{name.format(quantity)}{where} does not satisfy the constraints of "
                f"{robot.name!r}: constraint {_owner(robot, error)!r} has an error of "
                f"{error.max():.3g}. The robot cannot be in this state; the results are those of "
                "open constraints."
            )
            return  # errors of rates follow from those of positions


def _report_closed(
    model: Model, quantity: str, typed: Sequence[int], x: Array, degrees: bool, option: str
) -> None:
    """Print on stderr the entries that follow from the constraints."""
    others = [k for k in range(len(x)) if k not in typed]
    notify(
        f"{option} leaves out {counted(len(others), 'entry')}, which the constraints decide or "
        f"limit; taken as {_entries(model, quantity, x, others, degrees)}."
    )


def _report_beyond(model: Model, q: Array, degrees: bool) -> None:
    """Print on stderr the joints whose positions are beyond their limits."""
    bounds = bounds_of(model)
    limits = zip(bounds.coords.tolist(), bounds.lower, bounds.upper, strict=True)
    beyond = [k for k, low, high in limits if k >= 0 and not low - CLOSED <= q[k] <= high + CLOSED]
    if beyond:
        turned = any(abs(q[k]) > 2 * np.pi for k in beyond) and not degrees
        question = " Are these degrees? Then add --degrees." if turned else ""
        notify(
            f"--q is beyond the limits: {_entries(model, 'q', q, beyond, degrees)}.{question} "
            "kinetree info lists the limits."
        )


def refuse_both(data: str | None, given: Mapping[str, Words]) -> None:
    """Raise InputError if a state comes from the options and from a file."""
    typed = [f"--{name}" for name, words in given.items() if words]
    if data is not None and typed:
        source = "standard input" if data == STREAM else f"the file {data}"
        raise InputError(f"{', '.join(typed)} and {source} both give states; expected one of them.")


# Output


def document(
    model: Model, vectors: Mapping[str, Array], degrees: bool, *letters: str
) -> dict[str, Any]:
    """Joint vectors as JSON: names, units (also of the results `letters`), and the numbers."""
    return {
        "robot": model.name,
        "coordinates": list(model.coordinate_names),
        "joints": list(model.dof_names),
        "units": {name: units(model, name, degrees) for name in (*vectors, *letters)},
        **{name: x / factors(model, name, degrees) for name, x in vectors.items()},
    }


def joint_column(
    model: Model, head: str, quantity: str, x: Array, degrees: bool, weight: float = 0.0
) -> Column:
    """A column of a joint vector in SI units; rounding beside the largest entry is shown as 0.

    weight: a further number that was added to make x.
    """
    largest = max(float(np.abs(x[np.isfinite(x)]).max(initial=0)), weight)
    shown = without_rounding(x, largest) / factors(model, quantity, degrees)
    return Column(head, shown, units(model, quantity, degrees), 6)


def table(
    model: Model, title: str, quantity: str, columns: Mapping[str, Array], degrees: bool
) -> Table:
    """Joint vectors of one quantity by heading, with the names of their entries."""
    names = Column(quantity, entry_names(model, quantity))
    given = [joint_column(model, head, quantity, x, degrees) for head, x in columns.items()]
    return Table.of(title, [names, *given])


def weight(model: Model) -> float:
    """The weight of the robot, N, beside which forces are rounding."""
    return float(np.sum(model.m)) * float(np.linalg.norm(np.asarray(model.gravity[3:], float)))


def names_column(model: Model, head: str = "joint", quantity: str = "tau") -> Column:
    """The names of the entries of a joint vector."""
    return Column(head, entry_names(model, quantity))
