"""Controllers: joint forces from the state of a robot, compiled into its simulation."""

from kinetree.controllers.contacts import Contact, ContactRules
from kinetree.controllers.joint_space import PD, PID, ComputedTorque, GravityCompensation
from kinetree.controllers.observer import MomentumObserver, Observed
from kinetree.controllers.stateful import Stateful
from kinetree.controllers.stepwise import Stepwise, step_by_step
from kinetree.controllers.task_space import Impedance, OperationalSpace, Posture
from kinetree.simulate.controller import Controller, Law, Sampled

__all__ = [
    "PD",
    "PID",
    "ComputedTorque",
    "Contact",
    "ContactRules",
    "Controller",
    "GravityCompensation",
    "Impedance",
    "Law",
    "MomentumObserver",
    "Observed",
    "OperationalSpace",
    "Posture",
    "Sampled",
    "Stateful",
    "Stepwise",
    "step_by_step",
]
