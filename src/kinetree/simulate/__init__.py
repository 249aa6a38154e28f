"""Motion of robots over time: simulation and its result."""

from kinetree.simulate.events import Event, Occurrence, event
from kinetree.simulate.sensitivity import sensitivities
from kinetree.simulate.sensitivity_record import Sensitivities
from kinetree.simulate.signal import Signal, signal
from kinetree.simulate.simulate import simulate
from kinetree.simulate.trajectory import Trajectory
from kinetree.simulate.watch import SimulationError, Violation

__all__ = [
    "Event",
    "Occurrence",
    "Sensitivities",
    "Signal",
    "SimulationError",
    "Trajectory",
    "Violation",
    "event",
    "sensitivities",
    "signal",
    "simulate",
]
