"""The robot that a function was given: a Robot, or its Model alone."""

from typing import Protocol

from kinetree.errors import InputError
from kinetree.model.model import Model


class HasModel(Protocol):
    """What carries a model, as `kinetree.Robot` does."""

    @property
    def model(self) -> Model:
        """The frozen data."""
        ...


def model_of(robot: Model | HasModel) -> Model:
    """The model of a robot, or the model itself; nothing else is a robot."""
    model = getattr(robot, "model", robot)
    if not isinstance(model, Model):
        raise InputError(
            f"robot is {robot!r:.60}; expected a Robot or a Model. kt.load(path) reads one from a "
            "file, kt.robots has built-in ones."
        )
    return model
