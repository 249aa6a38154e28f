"""What a joint has beside its axis and friction: limits, motors, drives, springs and actuators."""

from kinetree.files.description import Actuator, Drive, Limits, Mimic, Motor, Rotor, Spring

__all__ = ["Actuator", "Drive", "Limits", "Mimic", "Motor", "Rotor", "Spring"]
