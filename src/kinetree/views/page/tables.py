"""The tables of a robot: joints and limits, links and masses, findings of the reader."""

from collections.abc import Sequence
from html import escape

import numpy as np

from kinetree.description.joints import PRISMATIC, SCREW_TYPES
from kinetree.description.records import Note
from kinetree.model import WORLD, Joint, Model
from kinetree.views.page.document import number, table


def joint_table(model: Model, degrees: bool = False) -> str:
    """Type, child, limits, friction and drive of every joint, in the order of q."""
    head = ("joint", "type", "moves", "axis in its link", "lower", "upper", "speed", "effort",
            "viscous", "Coulomb", "armature")  # fmt: skip
    rows = [
        (
            joint.name,
            _type(joint),
            link,
            _axis(joint),
            *_limits(joint, degrees),
            _pair(joint.friction.viscous),
            _pair(joint.friction.coulomb),
            number(joint.armature),
        )
        for joint, link in zip(model.joints, model.link_names, strict=True)
    ]
    unit = "°" if degrees else "rad"
    words = (
        f"{unit}, {unit}/s and N m; m, m/s and N where a joint slides; friction per rad/s or m/s."
    )
    return table(words, head, rows, text_columns=4)


def _type(joint: Joint) -> str:
    if joint.follows is None:
        return joint.type
    offset = f" {float(joint.offset):+.4g}" if float(joint.offset) else ""
    return f"{joint.type}, {number(joint.scale)} × {joint.follows}{offset}"


def _axis(joint: Joint) -> str:
    if joint.screw is None:
        return "–"
    A = np.asarray(joint.screw, float)
    axis = A[3:] if joint.type == PRISMATIC else A[:3]
    return " ".join(number(x, 3) for x in np.where(np.abs(axis) < 1e-9, 0, axis))


def _limits(joint: Joint, degrees: bool) -> tuple[str, str, str, str]:
    if joint.follows is not None:
        return "", "", "", ""
    limits, angle = joint.limits, 180 / np.pi if degrees and joint.type != PRISMATIC else 1.0
    low, high = number(limits.lower * angle), number(limits.upper * angle)
    if joint.type not in SCREW_TYPES:
        low, high = "–", "–"
    return low, high, number(limits.velocity * angle), number(limits.effort)


def _pair(pair: tuple[object, object]) -> str:
    plus, minus = (number(x) for x in pair)
    return plus if plus == minus else f"+{plus} / −{minus}"


def link_table(model: Model) -> str:
    """Mass, centre and principal moments of every link, those of the base first."""
    head = ("link", "hangs on", "mass", "x", "y", "z", "I₁", "I₂", "I₃", "radius of gyration")
    names = {WORLD: model.base_name, **dict(enumerate(model.link_names))}
    bodies = [(model.base_name, "the world", *model.base)]
    parts = zip(model.link_names, model.parent, model.m, model.com, model.I_com, strict=True)
    bodies += [(name, names[p], *body) for name, p, *body in parts]
    rows = []
    for name, parent, m, com, I in bodies:
        moments = np.linalg.eigvalsh(np.asarray(I, float))
        gyration = np.sqrt(max(moments.sum(), 0) / 2 / float(m)) if float(m) > 0 else np.nan
        rows.append((name, parent, *map(number, (m, *com, *moments, gyration))))
    words = (
        "Mass in kg; centre of mass in the link's frame in m; principal moments about it in "
        "kg m². Links that were merged over fixed joints are part of the link they hang on."
    )
    return table(words, head, rows, text_columns=2)


def findings(title: str, notes: Sequence[Note], most: int = 40) -> str:
    """Notes or warnings as a list, with the file and line of each."""
    if not notes:
        return ""
    kind = ' class="warning"' if title == "Warnings" else ""
    lines = [f"<h3{kind}>{title} ({len(notes)})</h3>", '<ul class="findings">']
    for note in notes[:most]:
        where = f' <span class="where">{escape(note.where)}</span>' if note.where else ""
        lines.append(f"<li>{escape(note.text)}{where}</li>")
    if len(notes) > most:
        lines.append(f"<li>and {len(notes) - most} more</li>")
    return "\n".join([*lines, "</ul>"])
