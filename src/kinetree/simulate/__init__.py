"""Simulation of robots: motions over time, their events, and their derivatives."""

from kinetree.simulate.core.events import Event, Occurrence, event
from kinetree.simulate.core.limits import SimulationError, Violation
from kinetree.simulate.core.signals import Signal, signal
from kinetree.simulate.sensitivity.result import Sensitivities
from kinetree.simulate.sensitivity.sensitivities import sensitivities
from kinetree.simulate.simulation import simulate
from kinetree.trajectory import Trajectory

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
