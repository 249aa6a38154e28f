"""Joints: positions and tangents, friction, springs, motors, actuators, gains.

What inverse dynamics needs of them is imported when first used: a stored kernel needs none of it.
"""

from kinetree.core.later import later

__getattr__ = later(__name__, {"friction": "friction_forces", "springs": "without_passive_forces"})
