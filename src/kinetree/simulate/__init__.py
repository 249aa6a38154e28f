"""Simulation of robots: motions over time, their events, and their derivatives.

`robot.simulate(q0, duration=...)` computes a motion; `kt.simulate(robot, q0, duration=...)` is the
same. The names of this module are for events, signals and derivatives.
"""

import sys
from types import ModuleType
from typing import Unpack

from kinetree.base.arrays import StateLike
from kinetree.model import HasModel, Model, model_of
from kinetree.motion.trajectory import Trajectory
from kinetree.simulate.core.events import Event, Occurrence, event
from kinetree.simulate.core.limits import SimulationError, Violation
from kinetree.simulate.core.signals import Signal, signal
from kinetree.simulate.sensitivity.result import Sensitivities
from kinetree.simulate.sensitivity.sensitivities import sensitivities
from kinetree.simulate.simulation import SimulationOptions, simulate

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


class CallableModule(ModuleType):
    """The module itself, which can be called like `robot.simulate`."""

    def __call__(
        self,
        robot: Model | HasModel,
        q0: StateLike,
        dq0: StateLike | None = None,
        **options: Unpack[SimulationOptions],
    ) -> Trajectory:
        """Compute a motion of a robot.

        Args:
            robot: a Robot or a Model.
            q0: positions at the start, shape (..., nq), rad or m.
            dq0: rates at the start, shape (..., n), rad/s or m/s; None: at rest.
            options: `duration` and further options, as in `Robot.simulate`.
        """
        return simulate(model_of(robot), q0, dq0, **options)


sys.modules[__name__].__class__ = CallableModule
