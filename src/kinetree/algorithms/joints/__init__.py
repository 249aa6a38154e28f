"""Joints: positions and tangents, friction, springs, armature and rotors, actuators, gains."""
