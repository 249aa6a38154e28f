"""Built-in robots as the options say: on a free joint, with every joint independent."""

from dataclasses import replace

from kinetree.cli.arguments import Reading
from kinetree.loading import float_base
from kinetree.model import build_model
from kinetree.model.describe import describe_model
from kinetree.robot import Robot


def as_read(robot: Robot, reading: Reading) -> Robot:
    """The robot as `kinetree.load` would give it from a file; there is nothing odd in it."""
    if reading.mimic and not reading.floating:
        return robot
    description = describe_model(robot.model)
    if not reading.mimic:
        joints = tuple(replace(x, mimic=None) for x in description.joints)
        description = replace(description, joints=joints)
    if reading.floating:
        description = float_base(description)
    return Robot(build_model(description, unphysical="allow"))
