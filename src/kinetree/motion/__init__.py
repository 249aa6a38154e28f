"""Motions over time: trajectories, recordings in and out, plans, joint limits, plots.

`Trajectory` is the value that all of them make or take. `curve` is the motion between its samples,
`recordings` reads and writes files, `plan` makes motions, `limits` checks and slows them.
"""

import typing

from kinetree.core.later import later
from kinetree.motion.animation import animate
from kinetree.motion.curve.interpolation import resample
from kinetree.motion.energy import EnergyBalance, energy_balance
from kinetree.motion.limits.check import check_limits
from kinetree.motion.limits.report import JointLoad, LimitReport, Violation
from kinetree.motion.limits.scaling import Overload, UniformScaling, scale_time
from kinetree.motion.plots import plot
from kinetree.motion.recordings.write import to_dataframe, write_csv, write_npz, write_parquet
from kinetree.motion.trajectory import Trajectory

if typing.TYPE_CHECKING:
    from kinetree.motion.gear_losses import force_limits, motor_forces, without_load_friction
    from kinetree.motion.kinematics.follow import Followed, follow
    from kinetree.motion.kinematics.result import IKResult
    from kinetree.motion.kinematics.solve import inverse_kinematics
    from kinetree.motion.limits.motors import Motor, MotorLoad, motor_loads
    from kinetree.motion.limits.sizing import Sizing, read_motors, size
    from kinetree.motion.plan.points import cubic, quintic, spline, trapezoid
    from kinetree.motion.plan.sinusoids import excitation, sinusoid
    from kinetree.motion.plan.straight_line import straight_line
    from kinetree.motion.plan.time_optimal import TimeOptimal, time_optimal
    from kinetree.motion.plan.within_limits import within_limits
    from kinetree.motion.recordings.read import read

__all__ = [
    "EnergyBalance",
    "Followed",
    "IKResult",
    "JointLoad",
    "LimitReport",
    "Motor",
    "MotorLoad",
    "Overload",
    "Sizing",
    "TimeOptimal",
    "Trajectory",
    "UniformScaling",
    "Violation",
    "animate",
    "check_limits",
    "cubic",
    "energy_balance",
    "excitation",
    "follow",
    "force_limits",
    "inverse_kinematics",
    "motor_forces",
    "motor_loads",
    "plot",
    "quintic",
    "read",
    "read_motors",
    "resample",
    "scale_time",
    "sinusoid",
    "size",
    "spline",
    "straight_line",
    "time_optimal",
    "to_dataframe",
    "trapezoid",
    "within_limits",
    "without_load_friction",
    "write_csv",
    "write_npz",
    "write_parquet",
]

# modules whose names are imported when first used: a simulation needs neither planners nor readers
__getattr__ = later(
    __name__,
    {
        "gear_losses": "force_limits motor_forces without_load_friction",
        "limits.motors": "Motor MotorLoad motor_loads",
        "limits.sizing": "Sizing read_motors size",
        "kinematics.follow": "Followed follow",
        "kinematics.result": "IKResult",
        "kinematics.solve": "inverse_kinematics",
        "plan.points": "cubic quintic spline trapezoid",
        "plan.sinusoids": "excitation sinusoid",
        "plan.straight_line": "straight_line",
        "plan.time_optimal": "TimeOptimal time_optimal",
        "plan.within_limits": "within_limits",
        "recordings.read": "read",
    },
)


def __dir__() -> list[str]:
    return __all__
