"""Constraints as they are drawn: markers at the frames that they tie, lines between them, forces.

A marker has the shape of what it replaces: a ball for coinciding origins, a cylinder along the axis
of a hinge, a plate for a plane, a box for a weld. The two markers of a closed loop coincide; a line
joins those of an open one and the ends of a rod. A frame that is held has a large box fixed in {s}.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.constraints import mobility, project
from kinetree.core.arrays import Array
from kinetree.core.text import counted
from kinetree.dynamics.joints.configuration import integrate
from kinetree.errors import InputError
from kinetree.files.description.constraints import Couple, Hold, Loop, Rod
from kinetree.files.description.joints import REVOLUTE
from kinetree.model import WORLD, Model
from kinetree.model.constraints import ROD, Closure, Coupling
from kinetree.model.contacts import contact_places
from kinetree.robot import Robot
from kinetree.spatial.se3 import pose
from kinetree.views.poses import shown_position
from kinetree.views.shapes import LOOP, Shape

FIRST, SECOND = 1.7, 1.25  # sizes of the markers of frame_a and frame_b, in radii of a link
SEEN, NEAR = 6, 0.3  # positions in view of the camera, and their distance from rest, rad or m


@dataclass(frozen=True, eq=False)
class Tie:
    """One constraint for a table: its name, kind, frames or joints, and its equations."""

    name: str
    kind: str
    what: str
    rows: tuple[str, ...]


def ties(model: Model) -> list[Tie]:
    """The constraints of a robot in words; empty if it has none."""
    given = model.constraints
    if given is None:
        return []
    rows: list[Tie] = []
    for item, (name, record) in zip(given.items, given.given.items(), strict=True):
        if isinstance(record, Loop):
            axis = f" {record.axis}" if record.kind in ("axis", "plane") else ""
            kind, what = f"loop, {record.kind}{axis}", f"{record.frame_a} – {record.frame_b}"
        elif isinstance(record, Hold):
            kind, what = f"hold, {record.kind}", f"{record.frame} in {{s}}"
        elif isinstance(record, Rod):
            kind = f"rod of {float(record.length):.4g} m"
            what = f"{record.frame_a} – {record.frame_b}"
        else:
            kind, what = "coupled joints", couple_words(record)
        rows.append(Tie(name, kind, what, item.row_names))
    return rows


def couple_words(record: Couple) -> str:
    """The joints of a coupling: the one that follows, and those that it follows."""
    return f"{record.joint} by {', '.join(record.by) or 'a constant'}"


def closures(model: Model) -> list[Closure]:
    """The constraints between two frames."""
    items = () if model.constraints is None else model.constraints.items
    return [item for item in items if isinstance(item, Closure)]


def tied_points(model: Model, i: int) -> list[Array]:
    """Points of a link at which constraints act, in {i}, and the middle of its contacts.

    Points that are fixed in {s} are left out.
    """
    frames = [(x.link_a, x.T_a) for x in closures(model)]
    frames += [(x.link_b, x.T_b) for x in closures(model)]
    ends = [np.asarray(T, float)[:3, 3] for link, T in frames if link == i != WORLD]
    places = () if model.contacts is None else contact_places(model.contacts, model.frames)
    touching = [np.asarray(p, float) for link, p, _ in places if link == i]
    return [*ends, np.mean(touching, axis=0)] if touching else ends


def loop_shapes(model: Model, radius: float) -> Iterator[Shape]:
    """Markers of all frames that constraints tie; radius: that of a link."""
    given = {} if model.constraints is None else model.constraints.given
    for item in closures(model):
        held = isinstance(given[item.name], Hold)
        sides = (item.link_a, item.T_a, FIRST), (item.link_b, item.T_b, SECOND)
        for link, T, size in sides:
            big = 2.4 * radius if held and link == WORLD else size * radius
            kind, sizes, turn = _marker("pose" if held and link == WORLD else item.kind, big)
            placed = np.asarray(T, float) @ (_turn(item.axis) if turn else np.eye(4))
            yield Shape(kind, "loop", link, placed, sizes, LOOP, item.name)


def _marker(kind: str, r: float) -> tuple[str, tuple[float, ...], bool]:
    """Kind and sizes of a marker, and whether its z is along the constraint's axis."""
    if kind == "axis":
        return "cylinder", (0.8 * r, 2.2 * r), True
    if kind == "plane":
        return "box", (3 * r, 3 * r, 0.5 * r), True
    if kind == "pose":
        return "box", (1.6 * r, 1.6 * r, 1.6 * r), False
    return "sphere", (r if kind != ROD else 0.7 * r,), False


def _turn(axis: int) -> Array:
    """Pose that takes z to an axis."""
    return pose(np.roll(np.eye(3), axis - 2, axis=0), np.zeros(3))


def tie_lines(model: Model, poses: dict[int, Array]) -> Array:
    """Ends of the line of every closure in {s}, (k, 2, 3); poses: T_si by link, WORLD included."""
    lines = [
        (
            (poses[x.link_a] @ np.asarray(x.T_a, float))[:3, 3],
            (poses[x.link_b] @ np.asarray(x.T_b, float))[:3, 3],
        )
        for x in closures(model)
    ]
    return np.array(lines, float).reshape(-1, 2, 3)


def closed_rest(robot: Robot) -> Array:
    """Positions to show a robot at, (k, nq): the first at first, all in view of the camera.

    Without constraints this is that of `shown_position`; with them, a closed one, and some around.
    """
    model, rng = robot.model, np.random.default_rng(0)
    q = shown_position(model)
    if model.constraints is None:
        return q[None]
    positions = [wrapped(model, q)]
    for _ in range(SEEN):
        try:
            start = integrate(model, q, rng.normal(size=model.n) * NEAR)
            positions.append(wrapped(model, np.asarray(project(robot, start), float)))
        except InputError:  # the limits of the mechanism are near
            continue
    return np.array(positions)


def wrapping(model: Model) -> list[int]:
    """Entries of q that may change by whole turns: hinges without limits that no other follows."""
    items = () if model.constraints is None else model.constraints.items
    coupled = {x.coord for item in items if isinstance(item, Coupling) for x in item.terms}
    coupled |= {c for joint in model.joints if joint.follows is not None for c in joint.coords}
    return [
        joint.coords[0]
        for joint in model.joints
        if joint.type == REVOLUTE
        and np.isinf([joint.limits.lower, joint.limits.upper]).all()
        and joint.coords[0] not in coupled
    ]


def wrapped(model: Model, q: Array) -> Array:
    """The same position with such angles between -pi and pi."""
    q, turning = np.array(q, float), wrapping(model)
    turned = (q[turning] + np.pi) % (2 * np.pi) - np.pi
    q[turning] = np.where(np.abs(q[turning]) <= np.pi, q[turning], turned)  # others keep their bits
    return q


def openness(robot: Robot, q: Array) -> dict[str, float]:
    """The largest error of each constraint at a position, by name."""
    given = robot.model.constraints
    if given is None:
        return {}
    errors: dict[str, float] = dict.fromkeys(given.given, 0.0)
    for row, x in enumerate(np.abs(np.asarray(robot.compile("constraint_errors")(q), float))):
        errors[given.owner(row)] = max(errors[given.owner(row)], float(x))
    return errors


def freedom_words(robot: Robot) -> str:
    """Degrees of freedom of a robot with constraints, in one line."""
    found = mobility(robot)
    rank = len(found.rows) - len(found.redundant)
    return (
        f"{counted(found.degrees_of_freedom, 'degree', 'of freedom')}: {found.joints} of the "
        f"tree less {counted(rank, 'independent equation')} of {len(found.rows)}"
    )


def loop_data(model: Model) -> list[dict[str, Any]]:
    """The constraints as closure.js reads them."""
    items = () if model.constraints is None else model.constraints.items
    constraints: list[dict[str, Any]] = []
    for x in items:
        if isinstance(x, Coupling):
            terms = [
                {
                    "coord": term.coord,
                    "scale": float(term.scale),
                    "offset": float(term.offset),
                    "powers": [float(c) for c in term.powers],
                }
                for term in x.terms
            ]
            data: dict[str, Any] = {"kind": "couple", "terms": terms, "constant": float(x.constant)}
        else:
            poses = {
                side: np.asarray(T, float).ravel().tolist()
                for side, T in (("a", x.T_a), ("b", x.T_b))
            }
            links = {"link_a": x.link_a, "link_b": x.link_b}
            data = {"kind": x.kind, "axis": x.axis, "length": float(x.length)} | links | poses
        constraints.append({"name": x.name} | data)
    return constraints
