"""`kinetree info`: joints with their limits and drives, links with their masses, warnings."""

from math import degrees as in_degrees
from math import isfinite
from typing import Any

import numpy as np
from rich.console import Group

from kinetree.algorithms import total_mass
from kinetree.base.tables import counted, number
from kinetree.cli.arguments import AS_IT_IS, Degrees, Json, Reading, RobotName
from kinetree.cli.choices import find_robot
from kinetree.cli.output import console, print_json, screen_table
from kinetree.description.joints import PRISMATIC, SCREW_TYPES
from kinetree.description.records import Note
from kinetree.model import WORLD, Joint, Model
from kinetree.robot import Robot

WIDE = 110  # columns of a screen on which the parent links are shown too
MOST_REMARKS = 8  # that are shown; the others are counted


def info(
    robot: RobotName,
    /,
    *,
    json: Json = False,
    degrees: Degrees = False,
    reading: Reading = AS_IT_IS,
) -> None:
    """Show links, joints, limits and drives of a robot, and the warnings about its file.

    JSON has robot, source, base, tool, n, nq, mass, gravity, joints, links, frames, effects (what
    changes tau besides rigid bodies), notes, warnings; missing limits are null.

    For example:

    ```
    kinetree info panda
    kinetree info ur5e --degrees
    kinetree info scara --json
    kinetree info hand --no-mimic
    ```
    """
    found = find_robot(robot, reading)
    if json:
        print_json(document(found, degrees))
    else:
        print_robot(found, degrees)


def document(robot: Robot, degrees: bool) -> dict[str, Any]:
    """Everything in the tables and more, as JSON."""
    from kinetree.report import tau_effects

    model = robot.model
    return {
        "robot": model.name,
        "source": None if robot.report is None else str(robot.report.source),
        "base": model.base_name,
        "tool": model.tool,
        "n": model.n,
        "nq": model.nq,
        "mass": float(total_mass(model)),
        "gravity": model.gravity[3:],
        "joints": [_joint(model, i, degrees) for i in model.links],
        "links": [_link(model, i) for i in model.links],
        "frames": list(model.frames),
        "effects": list(tau_effects(model)),
        "notes": [_remark(x) for x in model.notes],
        "warnings": [_remark(x) for x in model.warnings],
    }


def _joint(model: Model, i: int, degrees: bool) -> dict[str, Any]:
    joint = model.joints[i]
    scale, unit = _angle(joint, degrees)
    limits = joint.limits
    return {
        "name": joint.name,
        "type": joint.type,
        "parent": _parent(model, i),
        "link": model.link_names[i],
        "axis": joint.screw,
        "follows": joint.follows,
        "unit": unit,
        "lower": limits.lower * scale,
        "upper": limits.upper * scale,
        "velocity": limits.velocity * scale,
        "effort": limits.effort,
        "viscous": list(joint.friction.viscous),
        "coulomb": list(joint.friction.coulomb),
        "armature": joint.armature,
    }


def _link(model: Model, i: int) -> dict[str, Any]:
    return {
        "name": model.link_names[i],
        "mass": float(model.m[i]),
        "com": model.com[i],
        "inertia": model.I_com[i],
        "principal": np.linalg.eigvalsh(np.asarray(model.I_com[i], float)),
    }


def _remark(note: Note) -> dict[str, Any]:
    return {"text": note.text, "where": note.where}


def _parent(model: Model, i: int) -> str:
    p = model.parent[i]
    return model.base_name if p == WORLD else model.link_names[p]


def _angle(joint: Joint, degrees: bool) -> tuple[float, str]:
    """Factor and unit of the joint's position; 1 and '' for several degrees of freedom."""
    if joint.type not in SCREW_TYPES:
        return 1.0, ""
    if joint.type == PRISMATIC:
        return 1.0, "m"
    return (in_degrees(1), "deg") if degrees else (1.0, "rad")


def print_robot(robot: Robot, degrees: bool) -> None:
    """Print the tables, and warnings and notes below them."""
    from kinetree.report import tau_effects

    model, screen = robot.model, console()
    source = "" if robot.report is None else f" from {robot.report.source.name}"
    screen.print(f"{model.name}{source}", style="bold")
    gravity = ", ".join(number(x, 6) for x in model.gravity[3:].tolist())
    screen.print(
        f"{counted(model.n, 'degree', 'of freedom')}, "
        f"{counted(len(model.joints), 'moving link')}, {number(total_mass(model), 6)} kg; "
        f"base {model.base_name!r}, tool {model.tool!r}, gravity ({gravity}) m/s^2"
    )
    effects = "; ".join(tau_effects(model))
    if effects:
        screen.print(f"tau includes {effects}")
    if model.joints:
        for part in (joint_table(model, degrees, screen.width >= WIDE), link_table(model)):
            screen.print()
            screen.print(part)
    for title, remarks in (("warning", model.warnings), ("note", model.notes)):
        if remarks:
            screen.print()
            screen.print(counted(len(remarks), title), style="bold")
        for note in remarks[:MOST_REMARKS]:
            screen.print(f"- {note.text}" + (f" [{note.where}]" if note.where else ""))
        if len(remarks) > MOST_REMARKS:
            screen.print(f"- and {len(remarks) - MOST_REMARKS} more (--json has all)")


def joint_table(model: Model, degrees: bool, parents: bool) -> Group:
    """A row for every joint; `parents` adds a column of parent links."""
    rows: list[list[str]] = []
    for i, joint in enumerate(model.joints):
        scale, unit = _angle(joint, degrees)
        x = joint.limits
        moves = [_parent(model, i), model.link_names[i]] if parents else [model.link_names[i]]
        rows.append(
            [
                joint.name, joint.type, *moves, _range(joint, scale), unit,
                _finite(x.velocity * scale), _finite(x.effort), _drive(joint),
            ]
        )  # fmt: skip
    on = ["on"] if parents else []
    heads = ["joint", "type", *on, "moves", "range", "", "speed", "force", "drive"]
    if all(row[-1] == "-" for row in rows):  # no friction, no armature: no column
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    text = [k for k, head in enumerate(heads) if head not in ("range", "speed", "force")]
    return screen_table("joints", heads, rows, left=text)


def _range(joint: Joint, scale: float) -> str:
    if joint.follows is not None:
        return f"= {joint.scale:g} {joint.follows} {joint.offset * scale:+g}"
    low, high = joint.limits.lower * scale, joint.limits.upper * scale
    return f"{_finite(low)} .. {_finite(high)}" if isfinite(low) or isfinite(high) else "-"


def _finite(x: float) -> str:
    return number(x, 4) if isfinite(x) else "-"


def _drive(joint: Joint) -> str:
    """Friction and armature, or "-"."""
    found: list[str] = []
    for name, x in (("viscous", joint.friction.viscous), ("coulomb", joint.friction.coulomb)):
        if any(x):
            both = number(x[0], 3) if x[0] == x[1] else f"{number(x[0], 3)}/{number(x[1], 3)}"
            found.append(f"{name} {both}")
    if float(joint.armature):
        found.append(f"armature {number(joint.armature, 3)}")
    if joint.friction.function is not None:
        found.append("friction by a function")
    return ", ".join(found) or "-"


def link_table(model: Model) -> Group:
    """A row for every moving link."""
    rows: list[list[str]] = []
    for i in model.links:
        link = _link(model, i)
        centre = ", ".join(number(x, 3) for x in np.asarray(link["com"], float).tolist())
        moments = ", ".join(number(x, 3) for x in link["principal"].tolist())
        rows.append([link["name"], number(link["mass"], 5), centre, moments])
    heads = ["link", "mass\nkg", "centre of mass\nm, in the link", "principal moments\nkg m^2"]
    return screen_table("links", heads, rows)
