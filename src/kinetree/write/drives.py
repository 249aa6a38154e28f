"""Friction and rotors as numbers of a file: what is symmetric is said, the rest is told."""

from typing import Any

from kinetree.model import Joint
from kinetree.write.losses import Losses
from kinetree.write.xml import Tag, number


def symmetric_friction(joint: Joint, losses: Losses) -> tuple[float, float, list[Tag]]:
    """Viscous and Coulomb friction, the mean of both directions, and comments on the rest."""
    found: list[Tag] = []
    values = {}
    for kind, pair in (("viscous", joint.friction.viscous), ("coulomb", joint.friction.coulomb)):
        values[kind] = float(pair[0] + pair[1]) / 2 if pair[0] != pair[1] else float(pair[0])
        if pair[0] != pair[1]:
            text = f"{kind} friction of joint {joint.name!r} differs by direction"
            found.append(
                losses.add(f"{text}, {number(pair[0])} and {number(pair[1])} (the mean is written)")
            )
    if joint.friction.function is not None:
        found.append(losses.add(f"the friction function of joint {joint.name!r}"))
    return values["viscous"], values["coulomb"], found


def has_friction(joint: Joint) -> bool:
    """Whether anything rubs."""
    friction = joint.friction
    return any((*friction.viscous, *friction.coulomb)) or friction.function is not None


def shown(**values: Any) -> str:
    """Numbers for a comment: 'lower -2, upper 2'."""
    return ", ".join(f"{key} {number(value)}" for key, value in values.items())
