"""Descriptions of robots: records that are faithful to their source, before any maths."""

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
from kinetree.description.tables.dh import describe_dh
from kinetree.description.tables.points import describe_points
from kinetree.description.tables.screws import describe_screws, describe_transforms

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
