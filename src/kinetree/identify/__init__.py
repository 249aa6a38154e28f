"""From measured motion to the robot: parameters with errors, and a physically possible robot."""

from kinetree.dynamics.base_parameters import BaseParameters, base_parameters
from kinetree.identify.base import Base, find_base
from kinetree.identify.diagnose import Cause
from kinetree.identify.excite import Excitation, excite
from kinetree.identify.gains import Gains
from kinetree.identify.identification import Identification, Verdict
from kinetree.identify.identify import identify
from kinetree.identify.loads import KnownLoad
from kinetree.identify.payload import Payload, identify_payload
from kinetree.identify.presliding import PreslidingFit, identify_presliding
from kinetree.identify.recording import (
    Recording,
    make_recording,
    read_recording,
    simulated_recording,
)
from kinetree.identify.report import plot_forces, plot_friction, plot_parameters, save_report
from kinetree.identify.select import Choice
from kinetree.identify.unknowns import Unknowns, unknowns

__all__ = [
    "Base",
    "BaseParameters",
    "Cause",
    "Choice",
    "Excitation",
    "Gains",
    "Identification",
    "KnownLoad",
    "Payload",
    "PreslidingFit",
    "Recording",
    "Unknowns",
    "Verdict",
    "base_parameters",
    "excite",
    "find_base",
    "identify",
    "identify_payload",
    "identify_presliding",
    "make_recording",
    "plot_forces",
    "plot_friction",
    "plot_parameters",
    "read_recording",
    "save_report",
    "simulated_recording",
    "unknowns",
]
