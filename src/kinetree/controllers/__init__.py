"""Controllers: joint forces from the state of a robot, compiled into its simulation."""

from kinetree.controllers.adaptive import Adaptive
from kinetree.controllers.joint_space import PD, PID, ComputedTorque, GravityCompensation
from kinetree.controllers.stateful import Stateful
from kinetree.controllers.stepwise import Stepwise, step_by_step
from kinetree.controllers.task_space import Impedance, OperationalSpace, Posture
from kinetree.simulate.core.controller import Controller, Law

__all__ = [
    "PD",
    "PID",
    "Adaptive",
    "ComputedTorque",
    "Controller",
    "GravityCompensation",
    "Impedance",
    "Law",
    "OperationalSpace",
    "Posture",
    "Stateful",
    "Stepwise",
    "step_by_step",
]
