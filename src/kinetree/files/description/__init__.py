"""Descriptions of robots: records that are faithful to their source, before any maths."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from kinetree.files.description.actuators import Actuator
from kinetree.files.description.drive import Drive
from kinetree.files.description.friction import Friction, Sigmoid, Stribeck
from kinetree.files.description.joints import (
    FIXED,
    FREE,
    HELICAL,
    PLANAR,
    PRISMATIC,
    REVOLUTE,
    SCREW_TYPES,
    SPHERICAL,
    joint_screw,
)
from kinetree.files.description.records import (
    Body,
    FrameDescription,
    JointDescription,
    Limits,
    LinkDescription,
    Mesh,
    Mimic,
    Motor,
    Note,
    RobotDescription,
    Rotor,
    Spring,
)

if TYPE_CHECKING:
    from kinetree.files.description.tables.dh import describe_dh
    from kinetree.files.description.tables.points import describe_points
    from kinetree.files.description.tables.screws import describe_screws, describe_transforms

__all__ = [
    "FIXED",
    "FREE",
    "HELICAL",
    "PLANAR",
    "PRISMATIC",
    "REVOLUTE",
    "SCREW_TYPES",
    "SPHERICAL",
    "Actuator",
    "Body",
    "Drive",
    "FrameDescription",
    "Friction",
    "JointDescription",
    "Limits",
    "LinkDescription",
    "Mesh",
    "Mimic",
    "Motor",
    "Note",
    "RobotDescription",
    "Rotor",
    "Sigmoid",
    "Spring",
    "Stribeck",
    "describe_dh",
    "describe_points",
    "describe_screws",
    "describe_transforms",
    "joint_screw",
]

# readers of tables are imported when they are used, so that programs start quickly
_TABLES = {
    "describe_dh": "kinetree.files.description.tables.dh",
    "describe_points": "kinetree.files.description.tables.points",
    "describe_screws": "kinetree.files.description.tables.screws",
    "describe_transforms": "kinetree.files.description.tables.screws",
}


def __getattr__(name: str) -> Callable[..., RobotDescription]:
    if name not in _TABLES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_TABLES[name]), name)
