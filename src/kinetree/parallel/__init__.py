"""Studies of many samples on threads, processes, Ray or Dask, with the same bits from all."""

from kinetree.parallel.bootstrap_study import bootstrap
from kinetree.parallel.envelope_study import envelope
from kinetree.parallel.results import Results, read
from kinetree.parallel.rollout_study import rollouts
from kinetree.parallel.run import Options
from kinetree.parallel.sampling import (
    Anywhere,
    Choice,
    Grid,
    Noise,
    Normal,
    Spread,
    Uniform,
)
from kinetree.parallel.schedule import StudyError
from kinetree.parallel.sweep_study import sweep

__all__ = [
    "Anywhere",
    "Choice",
    "Grid",
    "Noise",
    "Normal",
    "Options",
    "Results",
    "Spread",
    "StudyError",
    "Uniform",
    "bootstrap",
    "envelope",
    "read",
    "rollouts",
    "sweep",
]
