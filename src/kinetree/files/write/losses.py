"""Losses: data of a robot that a file format cannot represent.

They are written as comments in the file, and reported in one warning or error.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf
from typing import Literal, get_args

import numpy as np

from kinetree.core.arrays import known, strangest
from kinetree.core.options import is_one_of
from kinetree.core.records import named_numbers
from kinetree.core.text import exact_number as number
from kinetree.core.text import listing
from kinetree.errors import InputError, ModelError, warn
from kinetree.files.description.actuators import UNLIMITED, Range
from kinetree.files.description.drive import drive_parts
from kinetree.files.description.friction import Friction
from kinetree.files.write.xml import Tag, comment, numbers
from kinetree.model import WORLD, GearedMotor, Joint, JointSpring, Model
from kinetree.model.friction import has_more_laws, law_texts
from kinetree.scalars import Scalar

Policy = Literal["warn", "error", "allow"]


@dataclass
class Losses:
    """Data of one robot that one format cannot represent, in the order found.

    pending: comments that are to be written before the next element.
    """

    format: str
    found: list[str] = field(default_factory=list[str])
    pending: list[Tag] = field(default_factory=list[Tag])

    def add(self, text: str) -> None:
        """Record a loss, with a comment at the place that is being written."""
        self.found.append(text)
        self.pending.append(comment(f"not supported by {self.format}: {text}"))

    def into(self, tag: Tag, *children: Tag | None) -> Tag:
        """Append the comments that are pending, then children, and return the element itself."""
        comments, self.pending = self.pending, []
        return tag.add(*comments, *children)

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


# what a format that has none of it loses


def symmetric_friction(
    joint: Joint | GearedMotor, losses: Losses, kind: str = "joint"
) -> tuple[float, float]:
    """Viscous and Coulomb friction, the mean of both directions; all else is a loss."""
    means: list[float] = []
    for law in ("viscous", "coulomb"):
        forward, backward = getattr(joint.friction, law)
        means.append(float(forward if forward == backward else (forward + backward) / 2))
        if forward != backward:
            text = f"{law} friction of {kind} {joint.name!r} differs by direction"
            losses.add(f"{text}, {number(forward)} and {number(backward)} (the mean is written)")
    lose_laws(joint, losses, kind)
    return means[0], means[1]


def lose_laws(joint: Joint | GearedMotor, losses: Losses, kind: str = "joint") -> None:
    """Lose the friction besides viscous and Coulomb friction."""
    for law, text in law_texts(joint.friction, number).items():
        is_function = law == "function"
        what = f"the friction function of {kind}" if is_function else f"{law} friction of {kind}"
        losses.add(f"{what} {joint.name!r}" + ("" if is_function else f": {text}"))


def lose_drive(joint: Joint, losses: Losses) -> None:
    """Lose the drive of a joint, if it differs from an ideal one."""
    parts = {} if joint.drive is None else drive_parts(joint.drive)
    if parts:
        text = "; ".join(f"{key} {value}" for key, value in parts.items())
        losses.add(f"drive of joint {joint.name!r}: {text}")


def lose_limits(joint: Joint, losses: Losses) -> None:
    """Lose the limits of a joint of several coordinates."""
    limits = {key: x for key, x in vars(joint.limits).items() if abs(x) != inf}
    if limits:
        losses.add(f"limits of joint {joint.name!r} ({joint.type}): {shown(**limits)}")


def lose_springs(model: Model, losses: Losses) -> None:
    """Lose the springs of a robot."""
    for x in model.springs:
        losses.add(f"spring {x.name!r} {spring_place(model, x)}")


def lose_motors(model: Model, losses: Losses) -> None:
    """Lose the motors of coupled joints."""
    for x in model.motors:
        more = ", with friction" if x.friction != Friction() else ""
        place = f"on {_sum(model, x)}: {shown(inertia=x.inertia)}{more}"
        losses.add(f"motor {x.name!r} {place}")


def lose_contacts(model: Model, losses: Losses) -> None:
    """Lose the contacts of a robot, which only JSON has."""
    if model.contacts is not None and model.contacts.names:
        losses.add(f"contacts with the ground: {listing(model.contacts.names, 6)}")


def lose_actuators(model: Model, losses: Losses) -> None:
    """Lose the actuators of a robot."""
    for own in model.actuators:
        x = own.record
        joints = " + ".join(k if c == 1 else f"{number(c)} {k}" for k, c in x.joints.items())
        joints = joints or f"a path {' - '.join(link for link, _ in x.points or ())}"
        parts = [f"gain {numbers(x.gain)}", f"bias {numbers(x.bias)}"]
        parts += [f"dynamics {x.dynamics}"] if x.dynamics != "none" else []
        parts += [f"time constant {number(x.time_constant)} s"] if x.time_constant else []
        parts += [f"delay {number(x.delay)} s"] if x.delay else []
        ranges = {"control": x.control_range, "force": x.force_range}
        ranges |= {"activation": x.activation_range}
        parts += [f"{word} range {_range(r)}" for word, r in ranges.items() if r != UNLIMITED]
        losses.add(f"actuator {own.name!r} on {joints}: {', '.join(parts)}")


def lose_tool(model: Model, expected: str | None, losses: Losses) -> None:
    """Lose the tool, if readers take another frame; expected: the one on the only tip."""
    if len(model.tips) <= 1 and model.tool == expected:
        return
    taken = "none" if len(model.tips) > 1 else repr(expected)
    losses.add(f"the tool is {model.tool!r} (readers take {taken})")


def _range(limits: Range) -> str:
    return f"{limits[0]:g} to {limits[1]:g}"


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


def is_written(limits: Iterable[float]) -> bool:
    """Return True for a range that limits anything and that MuJoCo takes: one of two numbers."""
    low, high = limits
    return (low, high) != UNLIMITED and low < high
