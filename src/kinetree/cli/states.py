"""One state of a robot: joint vectors as typed, their units, and results as a table or JSON.

Vectors are typed as `0.1 0.2 -0.3`, `0.1,0.2,-0.3`, or `shoulder=0.1 elbow=0.2`. Degrees concern
angles alone: positions, rates and accelerations of hinges and screws, the angle of a planar joint,
and angular rates. Lengths stay in m, quaternions are numbers, forces stay in N m and N.

In a goal, positions that are left out keep the value of the start. Elsewhere they are those of
`start_position`, on every path: zero, or the middle of the limits where these exclude zero, which a
line on stderr reports. A free base whose height is left out stands on the ground, if the robot has
contacts. In the state of a robot with closed loops they begin at `robot.neutral()` and follow from
those that are typed (`closed_state`), which a line reports too. A state that
the constraints do not allow is computed, and a line reports it; a motion is refused.
"""

import re
from collections.abc import Container, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kinetree import dynamics
from kinetree.cli.arguments import STREAM
from kinetree.cli.messages import notify
from kinetree.cli.tables import clear_rounding, column_table, console, unit_column
from kinetree.core.arrays import Array
from kinetree.core.tables import counted, nearest, number
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
OPEN = 1e-8  # error of a state that is reported as not allowed by the constraints
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
    if start is not None:
        default = np.array(start, float)
    else:
        default = start_position(model) if quantity == "q" else np.zeros(model.n)
    at_rest = quantity == "q" and start is None
    middle = at_rest and model.constraints is None  # else `closed_position` reports it
    if not words:
        if middle:
            report_middle(model, default, option, (), degrees)
        return default
    pieces = [x for word in words for x in re.split(r"[,\s]+", word.strip("[]() ")) if x]
    known = names(model, quantity)
    scale = np.broadcast_to(factors(model, quantity, degrees), len(known))
    if any("=" in piece for piece in pieces):
        given = named_numbers(model, option, known, pieces)
        for name, value in given.items():
            default[known.index(name)] = value * scale[known.index(name)]
        if middle:
            report_middle(model, default, option, given, degrees)
        x = default
        height = standing_height(model) if at_rest else None
        if height is not None and known[height] not in given:
            from kinetree.dynamics.contacts.start import on_ground

            x = on_ground(model, x)
    elif len(pieces) != len(known):
        example = known[0] if known else "joint"
        raise ShapeError(
            f"{option} has {counted(len(pieces), 'number')}; {model.name!r} needs "
            f"{len(known)}: {', '.join(known)}. Or name some of them: {option} {example}=0.1."
        )
    else:
        pairs = zip(known, pieces, strict=True)
        x = np.array([typed_number(option, name, piece) for name, piece in pairs]) * scale
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
    watch = ClosureWatch(robot, OPEN)
    watch.look({name: x[None] for name, x in closed.items()})
    if list(watch.worst) == ["ddq"]:
        words = watch.words("ddq")
        raise InputError(
            f"the constraints of {robot.name!r} forbid this motion: with --ddq, {words}; expected "
            "0. Name fewer joints, as in --ddq NAME=VALUE, and the others follow."
        )
    watch.report({name: f"--{name}" for name in closed})
    return closed


class ClosureWatch:
    """The worst of many states that the constraints of a robot do not allow, to be reported.

    Args:
        robot: the robot.
        tolerance: the largest error that is not reported, rad or m; of rates and accelerations, as
            a share of the terms that should cancel.
    """

    WORDS: ClassVar[Mapping[str, tuple[str, str]]] = {
        "q": ("does not satisfy", "is open by {} (rad or m)"),
        "dq": ("breaks", "opens at {} (rad/s or m/s)"),
        "ddq": ("is a motion that is forbidden by", "opens with {} (rad/s^2 or m/s^2)"),
    }

    def __init__(self, robot: "Robot", tolerance: float) -> None:
        self.robot, self.tolerance = robot, tolerance
        self.unmade, self.first_unmade = 0, 0
        self.seen, self.worst = 0, dict[str, tuple[float, float, int, int]]()

    def look(self, states: Mapping[str, Array]) -> None:
        """Compare rows of states, (rows, n), with the constraints; q first, then dq, then ddq."""
        q, dq = np.asarray(states["q"], float), np.asarray(states["dq"], float)
        errors = np.abs(self.robot.constraint_errors(q))
        self._keep("q", errors, errors)
        J = np.asarray(self.robot.constraint_jacobian(q))
        rates = np.einsum("...ij,...j->...i", J, dq)
        size = np.einsum("...ij,...j->...i", np.abs(J), np.abs(dq))
        self._keep("dq", np.abs(rates), np.abs(rates) / (1 + size))
        if "ddq" in states:
            ddq = np.asarray(states["ddq"], float)
            bias = np.asarray(self.robot.constraint_bias(q, dq))
            left = np.einsum("...ij,...j->...i", J, ddq) + bias
            size = np.einsum("...ij,...j->...i", np.abs(J), np.abs(ddq)) + np.abs(bias)
            self._keep("ddq", np.abs(left), np.abs(left) / (1 + size))
        self.seen += len(q)

    def look_at_forces(self, states: Sequence[Array], tau: Array) -> None:
        """Count rows, of those looked at last, for whose motion there are no forces of motors."""
        given = np.all([np.isfinite(x).all(axis=-1) for x in states], axis=0)
        unmade = np.flatnonzero(given & np.isnan(tau).any(axis=-1))
        if not self.unmade and len(unmade):
            self.first_unmade = self.seen - len(tau) + int(unmade[0])
        self.unmade += len(unmade)

    def _keep(self, quantity: str, errors: Array, shares: Array) -> None:
        if not shares.size or not np.isfinite(shares).all():
            return
        k, row = np.unravel_index(int(np.argmax(shares)), shares.shape)
        if shares[k, row] > max(self.tolerance, self.worst.get(quantity, (0.0,))[0]):
            entry = float(shares[k, row]), float(errors[k, row]), self.seen + int(k), int(row)
            self.worst[quantity] = entry

    def report(self, names: Mapping[str, str], rows: bool = False) -> None:
        """Print the worst of each quantity on stderr; `names` are those of the user."""
        if self.unmade:
            count = counted(self.unmade, "row")
            notify(
                f"the motors of {self.robot.name!r} cannot make the motion of {count}, the first "
                f"is row {self.first_unmade + 1}: the mechanism is at a dead centre, and tau is "
                "not a number there."
            )
        if not self.worst:
            return
        quantity = next(name for name in self.WORDS if name in self.worst)  # others follow from it
        where = f" in row {self.worst[quantity][2] + 1}" if rows else ""
        notify(
            f"{names[quantity]} {self.WORDS[quantity][0]} the constraints of {self.robot.name!r}"
            f"{where}: {self.words(quantity)}. The robot cannot be in this state; the results are "
            "those of open constraints."
        )

    def words(self, quantity: str) -> str:
        """The constraint that is worst, and by how much."""
        given = constraints_of(self.robot.model, "a closed state")
        _, error, _, row = self.worst[quantity]
        return f"constraint {given.owner(row)!r} {self.WORDS[quantity][1].format(f'{error:.3g}')}"


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
    J = np.asarray(robot.constraint_jacobian(q))
    typed = typed_entries(robot.model, "dq", given[1])
    if len(typed) < robot.n and np.abs(J @ dq).max(initial=0) > CLOSED:
        dq = robot.project_rates(q, dq, keep=[robot.dof_names[d] for d in typed])
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
    if np.abs(robot.constraint_errors(q)).max(initial=0) > CLOSED:
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
    """Close q with its typed entries; the others follow from `start`.

    Typed entries move there in short steps, so that the loops stay as they are assembled; if a
    step cannot be closed, q itself is.
    """
    joints = [x for x in robot.model.joints if x.follows is None and {*x.coords} & {*typed}]
    keep = [x.name for x in joints]
    steps = int(np.ceil(np.abs(q - start).max(initial=0) / STEP))
    try:
        at = start
        if all(x.type in SCREW_TYPES for x in joints):
            for k in range(1, steps):
                at = at.copy()
                at[typed] = (start + (q - start) * (k / steps))[typed]
                at = robot.project(at, keep=keep)
            at = at.copy()
            at[typed] = q[typed]
            return robot.project(at, keep=keep)
    except InputError:
        pass
    return robot.project(q, keep=keep)


def closed_acceleration(
    robot: "Robot", state: tuple[Array, Array, Array], words: Words, degrees: bool
) -> Array:
    """ddq of a state (q, dq, ddq), with entries that were not typed as the constraints allow."""
    q, dq, ddq = state
    if robot.model.constraints is None:
        return ddq
    J = np.asarray(robot.constraint_jacobian(q))
    missing = J @ ddq + np.asarray(robot.constraint_bias(q, dq))
    typed = typed_entries(robot.model, "ddq", words)
    if len(typed) < robot.n and np.abs(missing).max(initial=0) > CLOSED:
        ddq = robot.project_accelerations(q, dq, ddq, keep=[robot.dof_names[d] for d in typed])
        report_closed(robot.model, "ddq", typed, ddq, degrees)
    return ddq


def typed_entries(model: Model, quantity: str, words: Words) -> list[int]:
    """Entries of q or dq that were typed: all, those with names, or none."""
    known = names(model, quantity)
    text = " ".join(words or ())
    if "=" not in text:
        return list(range(len(known))) if text else []
    pieces = re.split(r"[,\s]+", text)
    return [k for k, name in enumerate(known) if any(x.startswith(f"{name}=") for x in pieces)]


def report_closed(
    model: Model,
    quantity: str,
    typed: Sequence[int],
    x: Array,
    degrees: bool,
    option: str | None = None,
) -> None:
    """Print on stderr the entries that follow from the constraints."""
    known, unit = names(model, quantity), units(model, quantity, degrees)
    shown = x / factors(model, quantity, degrees)
    entries = [
        f"{name} = {number(shown[k], 6)} {unit[k]}".rstrip()
        for k, name in enumerate(known)
        if k not in typed
    ]
    more = f" and {len(entries) - MAX_NAMES} more" if len(entries) > MAX_NAMES else ""
    notify(
        f"{option or f'--{quantity}'} leaves out {counted(len(entries), 'entry')}, which the "
        f"constraints decide or limit; taken as {', '.join(entries[:MAX_NAMES])}{more}."
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
    zero, scale = dynamics.neutral(model), np.broadcast_to(factors(model, "q", degrees), model.nq)
    unit, height = units(model, "q", degrees), standing_height(model)
    moved = [
        f"{name} = {number(q[k] / scale[k], 6)} {unit[k]}"
        for k, name in enumerate(model.coordinate_names)
        if name not in given and q[k] != zero[k] and k != height
    ]
    if moved:
        more = f" and {len(moved) - MAX_NAMES} more" if len(moved) > MAX_NAMES else ""
        notify(
            f"{option} leaves out {counted(len(moved), 'joint')} whose limits exclude zero; "
            f"taken in the middle of the limits: {', '.join(moved[:MAX_NAMES])}{more}."
        )


def report_beyond(model: Model, q: Array, degrees: bool) -> None:
    """Print on stderr the joints whose positions are beyond their limits."""
    from kinetree.model.bounds import bounds_of  # not without --q

    bounds, unit = bounds_of(model), units(model, "q", degrees)
    scale = np.broadcast_to(factors(model, "q", degrees), model.nq)
    beyond, turned = list[str](), False
    for k, lower, upper in zip(bounds.coords.tolist(), bounds.lower, bounds.upper, strict=True):
        if k >= 0 and not lower - CLOSED <= q[k] <= upper + CLOSED:
            at, least, most = (number(float(x) / scale[k], 6) for x in (q[k], lower, upper))
            beyond.append(f"{model.coordinate_names[k]} = {at} {unit[k]} ({least} to {most})")
            turned |= unit[k] == "rad" and abs(q[k]) > 2 * np.pi
    if beyond:
        more = f" and {len(beyond) - MAX_NAMES} more" if len(beyond) > MAX_NAMES else ""
        question = " Are these degrees? Then add --degrees." if turned else ""
        notify(f"--q is beyond the limits: {', '.join(beyond[:MAX_NAMES])}{more}.{question}")


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
