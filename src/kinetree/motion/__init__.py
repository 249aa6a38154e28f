"""Motions over time: planning, inverse kinematics, files, plots, joint limits, time scaling."""

from kinetree.motion.files import read, read_csv, read_npz
from kinetree.motion.inverse_kinematics import inverse_kinematics
from kinetree.motion.plan.points import cubic, quintic, spline, trapezoid
from kinetree.motion.plan.sinusoids import excitation, sinusoid
from kinetree.motion.plan.straight_line import straight_line
from kinetree.motion.plan.time_optimal import TimeOptimal, time_optimal
from kinetree.samples.animation import animate
from kinetree.samples.energy import EnergyBalance, energy_balance
from kinetree.samples.files import to_dataframe, write_csv, write_npz, write_parquet
from kinetree.samples.interpolation import resample
from kinetree.samples.limits.check import check_limits
from kinetree.samples.limits.report import JointLoad, LimitError, LimitReport, Violation
from kinetree.samples.limits.scaling import Overload, UniformScaling, scale_time
from kinetree.samples.plots import plot
from kinetree.trajectory import Trajectory

__all__ = [
    "EnergyBalance",
    "JointLoad",
    "LimitError",
    "LimitReport",
    "Overload",
    "TimeOptimal",
    "Trajectory",
    "UniformScaling",
    "Violation",
    "animate",
    "check_limits",
    "cubic",
    "energy_balance",
    "excitation",
    "inverse_kinematics",
    "plot",
    "quintic",
    "read",
    "read_csv",
    "read_npz",
    "resample",
    "scale_time",
    "sinusoid",
    "spline",
    "straight_line",
    "time_optimal",
    "to_dataframe",
    "trapezoid",
    "write_csv",
    "write_npz",
    "write_parquet",
]
