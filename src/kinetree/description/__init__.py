"""Descriptions of robots: records that say what the source says, before any maths."""

from kinetree.description.dh import describe_dh
from kinetree.description.points import describe_points
from kinetree.description.records import (
    Body,
    FrameDescription,
    Friction,
    JointDescription,
    Limits,
    LinkDescription,
    Mesh,
    Mimic,
    Note,
    RobotDescription,
    Rotor,
)
from kinetree.description.screws import describe_screws, describe_transforms

__all__ = [
    "Body",
    "FrameDescription",
    "Friction",
    "JointDescription",
    "Limits",
    "LinkDescription",
    "Mesh",
    "Mimic",
    "Note",
    "RobotDescription",
    "Rotor",
    "describe_dh",
    "describe_points",
    "describe_screws",
    "describe_transforms",
]
