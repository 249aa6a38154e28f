"""Joints: positions and tangents, friction, springs, armature and rotors, actuators, gains.

What inverse dynamics needs of them is imported when first used: a stored kernel needs none of it.
"""

from kinetree.core.later import later

__getattr__ = later(
    __name__,
    {
        "friction": "friction_forces",
        "rotors": "rotor_forces rotor_moments",
        "springs": "without_passive_forces",
    },
)
