"""Motion of robots over time: simulation and its result."""

from kinetree.simulate.trajectory import Trajectory

__all__ = ["Trajectory"]
