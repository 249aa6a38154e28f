"""One state of a robot: joint vectors as typed, their units, and results as a table or JSON.

Vectors are typed as `0.1 0.2 -0.3`, `0.1,0.2,-0.3`, or `shoulder=0.1 elbow=0.2`. With --degrees
angles are in degrees; lengths stay in m, quaternions are numbers, forces stay in N m and N.

In a goal, positions that are left out keep the value of the start. Elsewhere they are those of
`start_position`: zero, or the middle of the limits where these exclude zero. A free base whose
height is left out stands on the ground, if the robot has contacts. Closed loops decide entries that
are left out. Lines on stderr report all of that, and states that the constraints do not allow.
"""

import re
from collections.abc import Container, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree import dynamics
from kinetree.cli.arguments import STREAM
from kinetree.cli.messages import notify
from kinetree.cli.tables import clear_rounding, column_table, console, unit_column
from kinetree.constraints import project, project_accelerations, project_rates
from kinetree.core.arrays import Array
from kinetree.core.text import counted, nearest, number
from kinetree.dynamics.joints.configuration import rest_position, start_position
from kinetree.errors import InputError, NameLookupError, ShapeError
from kinetree.files.description.joints import PRISMATIC, SCREW_TYPES
from kinetree.model import Model
from kinetree.model.constrain import constraints_of
from kinetree.model.inputs import coordinates
from kinetree.model.units import METRE, factors, kinds, units
from kinetree.model.units import entry_names as names

if TYPE_CHECKING:
    from kinetree.robot import Robot

ROUNDING = 1e-15  # of the largest force that the robot's masses and its motion can make
SOLVED = 1e-13  # of the largest acceleration: solving for it magnifies rounding errors
UNIT = re.compile(r"\d\s*(rad|deg|°|m|mm|N)\b", re.IGNORECASE)
MAX_NAMES = 8  # of joints that a line on stderr lists
STEP = 0.2  # rad or m: steps in which typed positions are reached from the start
CLOSED = 1e-9  # rad or m, rad/s or m/s: errors of constraints that a typed state may have

Words = Sequence[str] | None  # a vector as typed; None if it was left out


def sliding(model: Model) -> list[bool]:
    """Whether each entry of dq is a speed in m/s, not rad/s."""
    return [kind == METRE for kind in kinds(model, "dq")]


def read_state(model: Model, given: Mapping[str, Words], degrees: bool) -> dict[str, Array]:
    """Read every quantity in SI units; those left out are zero. Reports q beyond the limits."""
    state = {name: vector(model, name, words, degrees) for name, words in given.items()}
    if given.get("q"):
        report_beyond(model, state["q"], degrees)
    return state


def refuse_both(data: str | None, given: Mapping[str, Words]) -> None:
    """Raise InputError if a state comes from the options and from a file."""
    typed = [f"--{name}" for name, words in given.items() if words]
    if data is not None and typed:
        source = "standard input" if data == STREAM else f"the file {data}"
        raise InputError(f"{', '.join(typed)} and {source} both give states; expected one of them.")


def pieces_of(words: Words) -> list[str]:
    """The numbers of a vector, each as typed."""
    return [x for word in words or () for x in re.split(r"[,\s]+", word.strip("[]() ")) if x]


def typed_vector(model: Model, option: str, known: Sequence[str], words: Words) -> dict[str, float]:
    """Numbers by name: all of `known` in order, or some as NAME=NUMBER."""
    pieces = pieces_of(words)
    if any("=" in piece for piece in pieces):
        return named_numbers(model, option, known, pieces)
    numbers = {
        name: typed_number(option, name, piece) for name, piece in zip(known, pieces, strict=False)
    }
    if len(pieces) != len(known):
        for piece in pieces[len(known) :]:
            typed_number(option, "an entry", piece)
        example = known[0] if known else "joint"
        raise ShapeError(
            f"{option} has {counted(len(pieces), 'number')}, but {model.name!r} needs "
            f"{len(known)}: {', '.join(known)}. Or name some of them: {option} {example}=0.1."
        )
    return numbers


def vector(
    model: Model,
    quantity: str,
    words: Words,
    degrees: bool,
    option: str = "",
    start: Array | None = None,
) -> Array:
    """Read q, dq, ddq or tau in SI units; entries left out are zero (q: `start_position`).

    option: the option that the words come from; that of the quantity's name by default. start: the
    position before a goal, whose entries those keep that are left out.
    """
    option = option or f"--{quantity}"
    at_rest = quantity == "q" and start is None
    x = np.zeros(model.n) if start is None else np.array(start, float)
    if at_rest:
        x = start_position(model)
    known = names(model, quantity)
    given = typed_vector(model, option, known, words) if words else {}
    if at_rest and model.constraints is None:
        report_middle(model, x, option, given, degrees)
    scale = np.broadcast_to(factors(model, quantity, degrees), len(known))
    for name, value in given.items():
        x[known.index(name)] = value * scale[known.index(name)]
    height = standing_height(model) if at_rest and given else None
    if height is not None and known[height] not in given:
        from kinetree.dynamics.contacts.start import on_ground

        x = on_ground(model, x)
    return coordinates(model, x, option).astype(float) if quantity == "q" else x


def closed_state(
    robot: "Robot", state: Mapping[str, Array], given: Mapping[str, Words], degrees: bool
) -> dict[str, Array]:
    """A state with entries that were not typed moved onto the constraints; reports on stderr.

    state: q, dq, and ddq or tau or neither, in SI units. given: their words, as typed.
    """
    closed = dict(state)
    if robot.model.constraints is None:
        return closed
    start = closed_start(robot, (state["q"], state["dq"]), (given["q"], given["dq"]), degrees)
    closed |= zip(("q", "dq"), start, strict=True)
    if "ddq" in state:
        closed["ddq"] = closed_acceleration(robot, (*start, state["ddq"]), given["ddq"], degrees)
    report_open(robot, {name: x[None] for name, x in closed.items()}, CLOSED, "--{}")
    return closed


def report_open(robot: "Robot", states: Mapping[str, Array], tolerance: float, name: str) -> None:
    """Report on stderr the worst row of states, (rows, n), that the constraints do not allow.

    tolerance: the largest error that is not reported, rad or m; of rates and accelerations, as a
    share of the terms that should cancel. name: a quantity in messages, such as "--{}".
    """
    constraints = constraints_of(robot.model, "a closed state")
    for quantity, (errors, shares) in constraint_errors(robot, states).items():
        if not (shares.size and shares.max() > tolerance):
            continue
        k, row = np.unravel_index(int(np.argmax(shares)), shares.shape)
        where = f" in row {k + 1}" if len(shares) > 1 else ""
        notify(
            f"{name.format(quantity)}{where} does not satisfy the constraints of {robot.name!r}: "
            f"constraint {constraints.owner(int(row))!r} has an error of {errors[k, row]:.3g}. The "
            "robot cannot be in this state; the results are those of open constraints."
        )
        return  # errors of rates follow from those of positions


def constraint_errors(
    robot: "Robot", states: Mapping[str, Array]
) -> dict[str, tuple[Array, Array]]:
    """Errors of rows of q, dq and ddq, and their shares of the terms that should cancel."""
    q, dq = np.asarray(states["q"], float), np.asarray(states["dq"], float)
    position = np.abs(robot.compile("constraint_errors")(q))
    found = {"q": (position, position)}
    J = np.asarray(robot.compile("constraint_jacobian")(q))
    found["dq"] = _balance(J, dq, np.zeros(J.shape[:-1]))
    if "ddq" in states:
        bias = np.asarray(robot.compile("constraint_bias")(q, dq))
        found["ddq"] = _balance(J, np.asarray(states["ddq"], float), bias)
    return found


def _balance(J: Array, x: Array, bias: Array) -> tuple[Array, Array]:
    """|J x + bias|, and its share of the sum of the sizes of its terms."""
    error = np.abs(np.einsum("...ij,...j->...i", J, x) + bias)
    size = np.einsum("...ij,...j->...i", np.abs(J), np.abs(x)) + np.abs(bias)
    return error, error / (1 + size)


def closed_start(
    robot: "Robot", state: tuple[Array, Array], given: tuple[Words, Words], degrees: bool
) -> tuple[Array, Array]:
    """Move positions and rates onto the constraints of a robot, and report it on stderr.

    Entries that were typed (`given`) stay as they are; a vector that was typed as a whole is not
    changed.
    """
    if robot.model.constraints is None:
        return state
    q, dq = closed_position(robot, state[0], given[0], degrees), state[1]
    J = np.asarray(robot.compile("constraint_jacobian")(q))
    typed = typed_entries(robot.model, "dq", given[1])
    if len(typed) < robot.n and np.abs(J @ dq).max(initial=0) > CLOSED:
        dq = project_rates(robot, q, dq, keep=[robot.dof_names[d] for d in typed])
        report_closed(robot.model, "dq", typed, dq, degrees)
    return q, dq


def closed_position(
    robot: "Robot",
    q: Array,
    words: Words,
    degrees: bool,
    option: str = "--q",
    start: Array | None = None,
) -> Array:
    """Move entries of q that were not typed onto the constraints, and report it for `option`.

    start: a closed position, of a motion to q; its motors that were not typed stay if they can.
    """
    if robot.model.constraints is None:
        return q
    model, typed = robot.model, typed_entries(robot.model, "q", words)
    if len(typed) == robot.nq:
        return q
    if np.abs(robot.compile("constraint_errors")(q)).max(initial=0) > CLOSED:
        if start is None:
            q = _followed(robot, q, typed, start_position(model))
        else:
            q = _goal_from(robot, q, typed, start)
    if (words or start is None) and (q != rest_position(model)).any():
        report_closed(model, "q", typed, q, degrees, option)
    return q


def _goal_from(robot: "Robot", q: Array, typed: Sequence[int], start: Array) -> Array:
    """Close a goal: motors that were not typed stay where they are, if the loops allow that."""
    motors = {*constraints_of(robot.model, "a closed goal").actuated}
    stay = [c for x in robot.model.joints if motors & {*x.dofs} for c in x.coords]
    try:
        return _followed(robot, q, [*typed, *stay], start)
    except InputError:
        return _followed(robot, q, typed, start)


def _followed(robot: "Robot", q: Array, typed: Sequence[int], start: Array) -> Array:
    """Close q with its typed entries, which move from `start` in short steps.

    So the loops stay as they are assembled; if a step cannot be closed, q itself is.
    """
    joints = [x for x in robot.model.joints if x.follows is None and {*x.coords} & {*typed}]
    keep = [x.name for x in joints]
    if all(x.type in SCREW_TYPES for x in joints):
        steps = max(1, int(np.ceil(np.abs(q - start).max(initial=0) / STEP)))
        at = start
        try:
            for k in range(1, steps + 1):
                at = at.copy()
                at[typed] = q[typed] if k == steps else (start + (q - start) * (k / steps))[typed]
                at = project(robot, at, keep=keep)
            return at
        except InputError:
            pass
    return project(robot, q, keep=keep)


def closed_acceleration(
    robot: "Robot", state: tuple[Array, Array, Array], words: Words, degrees: bool
) -> Array:
    """ddq of a state (q, dq, ddq), with entries that were not typed as the constraints allow.

    Raises:
        InputError: the typed entries are a motion that the constraints forbid.
    """
    q, dq, ddq = state
    missing, _ = constraint_errors(robot, {"q": q, "dq": dq, "ddq": ddq})["ddq"]
    typed = typed_entries(robot.model, "ddq", words)
    if missing.max(initial=0) <= CLOSED:
        return ddq
    if len(typed) == robot.n:
        constraints = constraints_of(robot.model, "a closed state")
        row = int(np.argmax(missing))
        raise InputError(
            f"--ddq is a motion that the constraints of {robot.name!r} forbid: constraint "
            f"{constraints.owner(row)!r} opens with {missing[row]:.3g} rad/s^2 or m/s^2; expected "
            "0. Name fewer joints, as in --ddq NAME=VALUE, and the others follow."
        )
    ddq = project_accelerations(robot, q, dq, ddq, keep=[robot.dof_names[d] for d in typed])
    report_closed(robot.model, "ddq", typed, ddq, degrees)
    return ddq


def typed_entries(model: Model, quantity: str, words: Words) -> list[int]:
    """Entries of q or dq that were typed: all, those with names, or none."""
    known, pieces = names(model, quantity), pieces_of(words)
    if not any("=" in x for x in pieces):
        return list(range(len(known))) if pieces else []
    return [k for k, name in enumerate(known) if any(x.startswith(f"{name}=") for x in pieces)]


def _entries(model: Model, quantity: str, x: Array, wanted: Sequence[int], degrees: bool) -> str:
    """Entries of a joint vector with their units, the first of many."""
    known, unit = names(model, quantity), units(model, quantity, degrees)
    shown = x / factors(model, quantity, degrees)
    texts = [f"{known[k]} = {number(shown[k], 6)} {unit[k]}".rstrip() for k in wanted]
    more = f" and {len(texts) - MAX_NAMES} more" if len(texts) > MAX_NAMES else ""
    return ", ".join(texts[:MAX_NAMES]) + more


def report_closed(
    model: Model,
    quantity: str,
    typed: Sequence[int],
    x: Array,
    degrees: bool,
    option: str | None = None,
) -> None:
    """Print on stderr the entries that follow from the constraints."""
    others = [k for k in range(len(names(model, quantity))) if k not in typed]
    notify(
        f"{option or f'--{quantity}'} leaves out {counted(len(others), 'entry')}, which the "
        f"constraints decide or limit; taken as {_entries(model, quantity, x, others, degrees)}."
    )


def standing_height(model: Model) -> int | None:
    """The entry of q that puts a robot with contacts on the ground; None if there is no such."""
    if model.contacts is None:
        return None
    from kinetree.dynamics.contacts.start import free_base  # for robots that have some

    return free_base(model)


def report_middle(
    model: Model, q: Array, option: str, given: Container[str], degrees: bool
) -> None:
    """Print on stderr which positions are the middle of the limits because zero is outside."""
    zero, height = dynamics.neutral(model), standing_height(model)
    moved = [
        k
        for k, name in enumerate(model.coordinate_names)
        if name not in given and q[k] != zero[k] and k != height
    ]
    if moved:
        notify(
            f"{option} leaves out {counted(len(moved), 'joint')} whose limits exclude zero; taken "
            f"in the middle of the limits: {_entries(model, 'q', q, moved, degrees)}."
        )


def report_beyond(model: Model, q: Array, degrees: bool) -> None:
    """Print on stderr the joints whose positions are beyond their limits."""
    from kinetree.model.bounds import bounds_of  # not without --q

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


def named_numbers(
    model: Model, option: str, known: Sequence[str], pieces: Sequence[str]
) -> dict[str, float]:
    """Read entries such as shoulder=0.1."""
    numbers: dict[str, float] = {}
    for piece in pieces:
        name, equals, text = piece.rpartition("=")
        if not equals:
            raise InputError(
                f"{option} mixes names and bare numbers: {piece!r} has no name. Name every "
                f"number, as in {known[0]}=0.1, or give all {len(known)} in order."
            )
        if name not in known:
            raise NameLookupError(
                f"{option} names {name!r}, which {model.name!r} does not have; expected some of "
                f"{', '.join(known)}.{nearest(name, known)}"
            )
        if name in numbers:
            raise InputError(f"{option} names {name!r} twice; expected one number for it.")
        numbers[name] = typed_number(option, name, text)
    return numbers


def typed_number(option: str, name: str, text: str) -> float:
    """Read one finite number of an option; `name` is what it is for, in messages."""
    try:
        value = float(text if text.isascii() and "_" not in text else "")
    except ValueError:
        unit = (
            " Leave the unit out: rad and m, degrees with --degrees." if UNIT.search(text) else ""
        )
        raise InputError(
            f"{option}: {text!r} for {name!r} is not a number; expected one such as -0.5 or 1e-3."
            f"{unit}"
        ) from None
    if not isfinite(value):
        raise InputError(f"{option}: {name!r} is {text}; expected a finite number.")
    return value


def document(
    model: Model, state: Mapping[str, Array], degrees: bool, *letters: str
) -> dict[str, Any]:
    """The state as JSON: names, units (also of the results `letters`), numbers in these units."""
    shown = {name: x / factors(model, name, degrees) for name, x in state.items()}
    return {
        "robot": model.name,
        "coordinates": list(model.coordinate_names),
        "joints": list(model.dof_names),
        "units": {name: units(model, name, degrees) for name in (*state, *letters)},
        **shown,
    }


def rounding(model: Model, quantity: str, state: Mapping[str, Array], x: Array) -> Array:
    """Sizes, (n,), below which entries of tau or ddq in SI units are rounding errors alone.

    Of tau: a share of the forces that the robot's masses make where it is and as it moves; a sum of
    such forces that should be zero has an error of that size. Of ddq: a share of the largest entry,
    or of gravity.
    """
    gravity = float(np.linalg.norm(np.asarray(model.gravity[3:], float)))
    if quantity == "ddq":
        return np.full(model.n, SOLVED * max(gravity, float(np.abs(x).max(initial=0))))
    reach = reach_of(model, state["q"])
    dq, ddq = (np.abs(state[y]).max(initial=0) if y in state else 0.0 for y in ("dq", "ddq"))
    force = float(np.sum(model.m)) * (gravity + max(reach, 1.0) * (float(dq) ** 2 + float(ddq)))
    return ROUNDING * np.maximum(
        np.where(sliding(model), force, force * reach), np.abs(x).max(initial=0)
    )


def reach_of(model: Model, q: Array) -> float:
    """The largest distance at which a mass of the robot can be from a joint axis, m, at least."""
    lengths = [np.linalg.norm(np.asarray(T, float)[:3, 3]) for T in model.M_pi]
    centres = [np.linalg.norm(np.asarray(x, float)) for x in model.com]
    slides = [abs(float(q[joint.coords[0]])) for joint in model.joints if joint.type == PRISMATIC]
    return float(sum(lengths) + max(centres, default=0.0) + sum(slides))


def print_state(model: Model, shown: Mapping[str, Array], degrees: bool, result: str) -> None:
    """Print a row for every joint; q in a table of its own if it has more entries than dq.

    shown: joint vectors by name, q first, in the user's units. result: the one that was computed;
    rounding errors in it are shown as 0.
    """
    scale = {name: factors(model, name, degrees) for name in shown}
    state = {name: x * scale[name] for name, x in shown.items()}
    size = rounding(model, result, state, state[result]) / scale[result]
    shown = dict(shown) | {result: clear_rounding(shown[result], size)}
    if model.nq == model.n:
        _print(model, shown, degrees, model.name)
        return
    _print(model, {"q": shown["q"]}, degrees, model.name)
    console().print()
    _print(model, {name: x for name, x in shown.items() if name != "q"}, degrees, "")


def _print(model: Model, shown: Mapping[str, Array], degrees: bool, title: str) -> None:
    """Print quantities in columns, with their units."""
    columns = [("joint", list(names(model, next(iter(shown)))))]
    for name, x in shown.items():
        texts = [number(v, 6) for v in x.tolist()]
        columns.append(unit_column(name, texts, units(model, name, degrees)))
    console().print(column_table(title, columns))
