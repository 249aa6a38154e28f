"""Planned motions: trajectories, their files and pictures, actuator limits and time scaling."""

from kinetree.motion.animation import animate
from kinetree.motion.cartesian import straight_line
from kinetree.motion.csv_files import read_csv, write_csv
from kinetree.motion.dataframe import to_dataframe
from kinetree.motion.energy import EnergyBalance, energy_balance
from kinetree.motion.excitation import excitation, sinusoid
from kinetree.motion.interpolation import resample
from kinetree.motion.inverse_kinematics import inverse_kinematics
from kinetree.motion.limit_report import JointLoad, LimitError, LimitReport, Violation
from kinetree.motion.limits import check_limits
from kinetree.motion.npz_files import read_npz, write_npz
from kinetree.motion.plots import plot
from kinetree.motion.polynomials import cubic, quintic
from kinetree.motion.scaling import Overload, UniformScaling, scale_time
from kinetree.motion.splines import spline
from kinetree.motion.time_optimal import TimeOptimal, time_optimal
from kinetree.motion.trapezoid import trapezoid
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
]
