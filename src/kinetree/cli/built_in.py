"""Built-in robots as the options say: on a free joint, without mimic joints or friction."""

from dataclasses import replace

from kinetree.cli.arguments import BasicReading
from kinetree.errors import InputError
from kinetree.loading import float_base, without_friction
from kinetree.model import build_model
from kinetree.model.describe import describe_model
from kinetree.robot import Robot


def as_read(robot: Robot, reading: BasicReading) -> Robot:
    """The robot as `kinetree.load` would give it from a file; there is nothing odd in it."""
    if reading.arguments:
        raise InputError(
            f"{robot.name} is a built-in robot and has no arguments, found --arg "
            f"{reading.arguments[0]}; expected them for .xacro files. Leave --arg out."
        )
    friction = getattr(reading, "friction", "file")
    if reading.mimic and not reading.floating and friction == "file":
        return robot
    description = describe_model(robot.model)
    if friction == "none":
        description = without_friction(description)
    if not reading.mimic:
        joints = tuple(replace(x, mimic=None) for x in description.joints)
        description = replace(description, joints=joints)
    if reading.floating:
        description = float_base(description)
    return Robot(build_model(description, unphysical="allow"))
