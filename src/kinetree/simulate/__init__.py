"""Simulation of robots: motions over time, their events, and their derivatives.

`robot.simulate(q0, duration=...)` computes a motion. The names of this module are for laws, events,
signals and derivatives.
"""

from typing import TYPE_CHECKING

from kinetree.core.later import later
from kinetree.model.edit import payload_parameters
from kinetree.motion.trajectory import Trajectory
from kinetree.simulate.events import Event, Occurrence, event
from kinetree.simulate.functions import law, python
from kinetree.simulate.inputs import Signal, signal
from kinetree.simulate.limits import SimulationError, Violation

if TYPE_CHECKING:
    from kinetree.simulate.sensitivity.result import Sensitivities
    from kinetree.simulate.sensitivity.sensitivities import sensitivities

__all__ = [
    "Event",
    "Occurrence",
    "Sensitivities",
    "Signal",
    "SimulationError",
    "Trajectory",
    "Violation",
    "event",
    "law",
    "payload_parameters",
    "python",
    "sensitivities",
    "signal",
]


# a simulation without derivatives does not need them
__getattr__ = later(
    __name__, {"sensitivity.result": "Sensitivities", "sensitivity.sensitivities": "sensitivities"}
)
