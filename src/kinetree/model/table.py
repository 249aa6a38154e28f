"""A model as a table: its joints, what they move and how far."""

from typing import Any

from kinetree.base.tables import counted, number, table
from kinetree.model.joint import Joint
from kinetree.model.model import Model


def model_table(model: Model) -> str:
    """HTML of the joints in the order of q, with the masses of the links they move."""
    head = ("joint", "type", "moves", "mass, kg", "lower", "upper", "speed", "effort")
    parts = zip(model.joints, model.link_names, model.m, strict=True)
    rows = [(joint.name, _type(joint), link, m, *_limits(joint)) for joint, link, m in parts]
    size, warnings = counted(model.n, "degree", "of freedom"), len(model.warnings)
    title = f"{model.name}: {size}, base {model.base_name}, tool {model.tool}"
    notes = [f"{counted(warnings, 'warning')}: see model.warnings."] if warnings else []
    return table(title, head, rows, text=3, notes=notes)


def _type(joint: Joint) -> str:
    if joint.follows is None:
        return joint.type
    return f"{joint.type}, {number(joint.scale)} x {joint.follows} + {number(joint.offset)}"


def _limits(joint: Joint) -> tuple[Any, ...]:
    limits = joint.limits
    return tuple(
        "" if abs(x) == float("inf") else x
        for x in (limits.lower, limits.upper, limits.velocity, limits.effort)
    )
