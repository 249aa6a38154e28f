"""kinetree: robot dynamics, the Newton-Euler equations of chains and trees in textbook form."""

from kinetree import algorithms, controllers, motion, robots, simulate, spatial
from kinetree.backends.derivative import derivative
from kinetree.backends.kernel import Kernel
from kinetree.backends.threads import threads
from kinetree.description import Friction, Limits, Mimic, Rotor
from kinetree.errors import KinetreeError, KinetreeWarning
from kinetree.export.code import export
from kinetree.load import load
from kinetree.model import Builder, Model
from kinetree.robot import Robot
from kinetree.symbolic.front import symbolic

__version__ = "0.1.0"

__all__ = [
    "Builder",
    "Friction",
    "Kernel",
    "KinetreeError",
    "KinetreeWarning",
    "Limits",
    "Mimic",
    "Model",
    "Robot",
    "Rotor",
    "__version__",
    "algorithms",
    "controllers",
    "derivative",
    "export",
    "load",
    "motion",
    "robots",
    "simulate",
    "spatial",
    "symbolic",
    "threads",
]
