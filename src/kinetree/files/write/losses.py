"""Losses: data of a robot that a file format cannot represent.

They are written as comments in the file, and reported in one warning or error.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal, get_args

import numpy as np

from kinetree.core.arrays import known, strangest
from kinetree.core.options import is_one_of
from kinetree.core.records import named_numbers
from kinetree.core.text import exact_number as number
from kinetree.core.text import listing
from kinetree.errors import InputError, ModelError, warn
from kinetree.files.description.actuators import UNLIMITED
from kinetree.files.write.xml import Tag, check_names, comment
from kinetree.model import GearedMotor, Joint, Model
from kinetree.model.friction import law_texts

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
            raise ModelError(f"{text} losses='warn' writes the rest, with comments for these.")
        warn(f"{text} Comments in the file name these losses.")


def check_policy(policy: str) -> None:
    """Raise InputError if `losses` is not "warn", "error" or "allow"."""
    if not is_one_of(policy, get_args(Policy)):
        raise InputError(f"losses is {policy!r}; expected one of {', '.join(get_args(Policy))}.")


def in_floats(model: Model, format: str) -> Model:
    """Convert the model to floats; raise InputError if it has symbols."""
    for name, x in named_numbers(model):
        if known(np.asarray(x)) is None:
            text = f"{name} of {model.name!r} has symbols, such as {strangest(x)}"
            raise InputError(f"{text}; {format} needs numbers. Build the robot with values.")
    return model.astype(float)


def check_all_names(model: Model, format: str) -> None:
    """Raise ModelError for names that a format cannot have."""
    check_names([model.name], "robot", format)
    check_names(model.frames, "frame", format)
    for kind in ("joint", "spring", "motor", "actuator"):
        check_names((x.name for x in getattr(model, f"{kind}s")), kind, format)


def told(record: Any) -> str:
    """The values of a record that are not its defaults: 'stiffness 3, rest 0.5'."""
    values: dict[str, Any] = {x.name: (getattr(record, x.name), x.default) for x in fields(record)}
    given = {k: x for k, (x, default) in values.items() if not np.array_equal(x, default)}
    texts = {k.replace("_", " "): _text(x) for k, x in given.items() if x is not None}
    return ", ".join(f"{k} {text}" for k, text in texts.items() if text)


def _text(value: Any) -> str:
    if is_dataclass(value):
        return f"({told(value)})"
    if isinstance(value, Mapping):
        return " + ".join(f"{_text(c)} {name}" for name, c in value.items())
    if isinstance(value, list | tuple | np.ndarray):
        return " ".join(map(_text, value))
    return value if isinstance(value, str) else "a function" if callable(value) else number(value)


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
        more = "" if law == "function" else f": {text}"
        losses.add(f"{law} friction of {kind} {joint.name!r}{more}")


def lose_drive(joint: Joint, losses: Losses) -> None:
    """Lose the drive of a joint, if it differs from an ideal one."""
    if joint.drive is not None and (text := told(joint.drive)):
        losses.add(f"drive of joint {joint.name!r}: {text}")


def lose_limits(joint: Joint, losses: Losses) -> None:
    """Lose the limits of a joint of several coordinates."""
    if text := told(joint.limits):
        losses.add(f"limits of joint {joint.name!r} ({joint.type}): {text}")


def lose_elements(model: Model, losses: Losses, *kinds: str) -> None:
    """Lose all elements of some kinds: springs, motors, actuators."""
    for kind in kinds:
        for x in getattr(model, kind):
            losses.add(f"{kind[:-1]} {x.name!r}: {told(x.record)}")


def lose_contacts(model: Model, losses: Losses) -> None:
    """Lose the contacts of a robot, which only JSON has."""
    if model.contacts is not None and model.contacts.names:
        losses.add(f"contacts with the ground: {listing(model.contacts.names, 6)}")


def lose_tool(model: Model, expected: str | None, losses: Losses) -> None:
    """Lose the tool, if readers take another frame; expected: the one on the only tip."""
    if len(model.tips) > 1 or model.tool != expected:
        taken = "none" if len(model.tips) > 1 else repr(expected)
        losses.add(f"the tool is {model.tool!r} (readers take {taken})")


def is_written(limits: Iterable[float]) -> bool:
    """Return True for a range that limits anything and that MuJoCo takes: one of two numbers."""
    low, high = limits
    return (low, high) != UNLIMITED and low < high
