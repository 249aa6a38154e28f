"""What a joint has beside its axis and friction: limits, motors, drives, springs and actuators."""

from kinetree.files.description.actuators import Actuator
from kinetree.files.description.drive import Drive
from kinetree.files.description.records import Limits, Mimic, Motor, Rotor, Spring

__all__ = ["Actuator", "Drive", "Limits", "Mimic", "Motor", "Rotor", "Spring"]
