"""Robots and joint vectors in other forms: tables, URDF, MJCF, and the orders of other libraries.

robot = kt.convert.from_dh(table, m=m, com=com, I_com=I_com)
text = kt.convert.to_urdf(robot)
there = kt.convert.to_pinocchio(robot)
"""

from kinetree.files.convert import (
    Converter,
    from_drake,
    from_mujoco,
    from_pinocchio,
    to_drake,
    to_mujoco,
    to_pinocchio,
)
from kinetree.files.write import to_mjcf, to_urdf
from kinetree.robot.tables import from_dh, from_points, from_screws, from_transforms

__all__ = [
    "Converter",
    "from_dh",
    "from_drake",
    "from_mujoco",
    "from_pinocchio",
    "from_points",
    "from_screws",
    "from_transforms",
    "to_drake",
    "to_mjcf",
    "to_mujoco",
    "to_pinocchio",
    "to_urdf",
]
