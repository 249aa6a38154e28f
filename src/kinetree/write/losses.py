"""What a file format cannot say: written as comments, and told in one warning or error."""

from dataclasses import dataclass, field

import numpy as np

from kinetree.base.arrays import known
from kinetree.errors import InputError, ModelError, warn
from kinetree.model import Model
from kinetree.model.model import numbers_of, strangest
from kinetree.write.xml import Tag, comment

POLICIES = ("warn", "error", "allow")


@dataclass
class Losses:
    """Everything about one robot that one format has no words for, in the order found."""

    format: str
    found: list[str] = field(default_factory=list)

    def add(self, text: str) -> Tag:
        """The comment that stands in the file where the loss is."""
        self.found.append(text)
        return comment(f"not said by {self.format}: {text}")

    def tell(self, model: Model, policy: str) -> None:
        """Warn, raise or keep still about what was found."""
        if not self.found or policy == "allow":
            return
        text = f"{self.format} cannot say everything about {model.name!r}: {'; '.join(self.found)}."
        if policy == "error":
            raise ModelError(
                f"{text} Pass losses='warn' to write the rest, with comments where these belong."
            )
        warn(f"{text} It stands in comments of the file.")


def check_policy(policy: str) -> None:
    """What to do about losses is one of the words for it."""
    if policy not in POLICIES:
        raise InputError(f"losses is {policy!r}; expected one of {', '.join(POLICIES)}.")


def in_floats(model: Model, format: str) -> Model:
    """The model in floats; one with symbols is refused."""
    for name, x in numbers_of(model):
        if known(np.asarray(x)) is None:
            raise InputError(
                f"{name} of {model.name!r} holds symbols, such as {strangest(x)}; {format} needs "
                "numbers. Build the robot with values in their place."
            )
    return model.astype(float)
