"""Losses: data of a robot that a file format cannot represent.

They are written as comments in the file, and reported in one warning or error.
"""

from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from kinetree.core.arrays import known, strangest
from kinetree.core.options import is_one_of
from kinetree.core.records import named_numbers
from kinetree.core.text import exact_number as number
from kinetree.core.text import listing
from kinetree.errors import InputError, ModelError, warn
from kinetree.files.description.drive import drive_parts
from kinetree.files.description.friction import Friction
from kinetree.files.write.xml import Tag, comment
from kinetree.model import WORLD, GearedMotor, Joint, JointSpring, Model
from kinetree.model.friction import has_more_laws, law_texts
from kinetree.scalars import Scalar

Policy = Literal["warn", "error", "allow"]


@dataclass
class Losses:
    """Data of one robot that one format cannot represent, in the order found."""

    format: str
    found: list[str] = field(default_factory=list)

    def add(self, text: str) -> Tag:
        """Record a loss; returns the comment for the place in the file."""
        self.found.append(text)
        return comment(f"not supported by {self.format}: {text}")

    def report(self, model: Model, policy: Policy) -> None:
        """Warn, raise or do nothing about the losses."""
        if not self.found or policy == "allow":
            return
        text = f"{self.format} cannot represent all of {model.name!r}: {'; '.join(self.found)}."
        if policy == "error":
            raise ModelError(
                f"{text} Pass losses='warn' to write the rest, with comments in these places."
            )
        warn(f"{text} Comments in the file name these losses.")


def check_policy(policy: str) -> None:
    """Raise InputError if `losses` is not "warn", "error" or "allow"."""
    if not is_one_of(policy, get_args(Policy)):
        raise InputError(f"losses is {policy!r}; expected one of {', '.join(get_args(Policy))}.")


def in_floats(model: Model, format: str) -> Model:
    """Convert the model to floats; raise InputError if it has symbols."""
    for name, x in named_numbers(model):
        if known(np.asarray(x)) is None:
            raise InputError(
                f"{name} of {model.name!r} has symbols, such as {strangest(x)}; {format} needs "
                "numbers. Build the robot with values in their place."
            )
    return model.astype(float)


def symmetric_friction(
    joint: Joint | GearedMotor, losses: Losses, kind: str = "joint"
) -> tuple[float, float, list[Tag]]:
    """Viscous and Coulomb friction, the mean of both directions, and comments on the losses."""
    comments: list[Tag] = []
    values: dict[str, float] = {}
    for law, pair in (("viscous", joint.friction.viscous), ("coulomb", joint.friction.coulomb)):
        values[law] = float(pair[0] + pair[1]) / 2 if pair[0] != pair[1] else float(pair[0])
        if pair[0] != pair[1]:
            text = f"{law} friction of {kind} {joint.name!r} differs by direction"
            comments.append(
                losses.add(f"{text}, {number(pair[0])} and {number(pair[1])} (the mean is written)")
            )
    comments += lost_laws(joint, losses, kind)
    return values["viscous"], values["coulomb"], comments


def lost_drive(joint: Joint, losses: Losses) -> list[Tag]:
    """A comment on the drive of a joint, if it differs from an ideal one."""
    parts = {} if joint.drive is None else drive_parts(joint.drive)
    text = "; ".join(f"{key} {value}" for key, value in parts.items())
    return [losses.add(f"drive of joint {joint.name!r}: {text}")] if text else []


def lost_laws(joint: Joint | GearedMotor, losses: Losses, kind: str = "joint") -> list[Tag]:
    """Comments on the friction besides viscous and Coulomb friction."""
    comments: list[Tag] = []
    for law, text in law_texts(joint.friction, number).items():
        if law == "function":
            comments.append(losses.add(f"the friction function of {kind} {joint.name!r}"))
        else:
            comments.append(losses.add(f"{law} friction of {kind} {joint.name!r}: {text}"))
    return comments


def lost_springs(model: Model, losses: Losses) -> list[Tag]:
    """Comments on the springs of a robot, for formats that have none."""
    return [losses.add(f"spring {x.name!r} {spring_place(model, x)}") for x in model.springs]


def lost_motors(model: Model, losses: Losses) -> list[Tag]:
    """Comments on the motors of coupled joints, for formats that have none."""
    return [losses.add(f"motor {x.name!r} {motor_place(model, x)}") for x in model.motors]


def lost_contacts(model: Model, losses: Losses) -> list[Tag]:
    """A comment on the contacts of a robot, which only JSON has."""
    contacts = model.contacts
    names = () if contacts is None else contacts.names
    return [losses.add(f"contacts with the ground: {listing(names, 6)}")] if names else []


def motor_place(model: Model, x: GearedMotor) -> str:
    """The joints of a motor, and its numbers."""
    more = ", with friction" if x.friction != Friction() else ""
    return f"on {_sum(model, x)}: {shown(inertia=x.inertia)}{more}"


def _sum(model: Model, x: JointSpring | GearedMotor) -> str:
    names = model.coordinate_names
    pairs = zip(x.coords, x.arms, strict=True)
    return " + ".join(names[k] if arm == 1 else f"{number(arm)} {names[k]}" for k, arm in pairs)


def spring_place(model: Model, x: JointSpring) -> str:
    """What a spring measures, and its numbers: 'on hip + 2 knee: stiffness 3, rest 0'."""
    links = {WORLD: model.base_name, **dict(enumerate(model.link_names))}
    where = f"on {_sum(model, x)}"
    if x.points:
        where = f"between {', '.join(links[point.link] for point in x.points)}"
    more = {"damping": x.damping} if x.damping else {}
    more |= {"play": x.play} if x.play else {}
    return f"{where}: {shown(stiffness=x.stiffness, rest=x.rest, **more)}"


def has_friction(joint: Joint) -> bool:
    """Return True if the joint has friction."""
    friction = joint.friction
    return any((*friction.viscous, *friction.coulomb)) or has_more_laws(friction)


def shown(**values: Scalar) -> str:
    """Numbers for a comment: 'lower -2, upper 2'."""
    return ", ".join(f"{key} {number(value)}" for key, value in values.items())
