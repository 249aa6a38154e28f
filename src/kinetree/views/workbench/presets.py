"""Presets of simulations that make sense for a robot, with gains from its mass matrix."""

from dataclasses import dataclass

from kinetree.base.arrays import Array
from kinetree.robot import Robot


@dataclass(frozen=True)
class Preset:
    """A kind of simulation: its name, words for the page, gains with ranges, duration in s."""

    name: str
    title: str
    about: str
    gains: dict[str, dict[str, float]] | None
    duration: float


def presets(robot: Robot, q: Array) -> list[Preset]:
    """The presets of a robot."""
    return [Preset("release", "Release", "No joint forces: the robot falls.", None, 2.0)]


def default_preset(robot: Robot) -> str:
    """Name of the preset that is chosen at first."""
    return "release"
